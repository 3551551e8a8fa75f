"""What concerns an owner and no single run: its turns, its answer, its end."""

from __future__ import annotations

from collections.abc import Sequence

from headcount import configuration, frame, wire
from headcount.guard import guarded, nothing
from headcount.interval import Interval
from headcount.run import Run


@guarded(Interval)
def owner_turn(*, owner: str | None = None, session: str | None = None) -> Interval:
    """Return a turn of the owner, in which it cannot take delivery: `with headcount.owner_turn(): …`."""
    return Interval("owner_turn", _about(owner, session))


@guarded(nothing)
def owner_final(
    owed: Sequence[str | Run] | None = None,
    final: bool = False,
    *,
    owner: str | None = None,
    session: str | None = None,
) -> None:
    """Tell that the owner gave its answer or ended its turn, and which runs it believes are still owed.

    `final`: it will answer no more.
    """
    believed = None if owed is None else [run.id if isinstance(run, Run) else run for run in owed]
    _emit("owner_final", {**_about(owner, session), wire.OWED: believed, wire.OWNER_FINAL: final})


@guarded(nothing)
def owner_gone(reason: str, *, owner: str | None = None, session: str | None = None) -> None:
    """Tell that nobody is left to deliver to (`user_exit`, `crash`, …)."""
    _emit("owner_gone", {**_about(owner, session), wire.GONE_REASON: reason})


def _about(owner: str | None, session: str | None) -> dict[str, wire.Value]:
    here = frame.current()
    return {
        wire.SESSION_ID: session or here.session,
        wire.OWNER_ID: (here.owner if owner is None else owner) or None,
    }


def _emit(event: str, attributes: dict[str, wire.Value]) -> None:
    pipeline = configuration.current()
    if pipeline is not None:
        pipeline.event(event, attributes)
