"""Who wants to know what each tick came to: the seam at which the alerts, a package of their own, are let in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Any, Protocol

from headcount_collector.judge.policy import Policy
from headcount_collector.store.client import Store
from headcount_collector.watch.tick import TickReport

GROUP = "headcount.tick_listeners"
"""Entry points: `replay` gives a ReplayListener, any other name a ServingListener."""


class TickListener(Protocol):
    """Is told of every tick, from the thread of the tick, after the verdicts are stored."""

    @property
    def next_due(self) -> int | None:
        """Return when it wants a tick though nothing may have changed; nanoseconds."""

    def after_tick(self, report: TickReport) -> None:
        """Take in one tick."""


class ReplayListener(TickListener, Protocol):
    """A listener over a replayed world."""

    def control(self, kind: str, body: Mapping[str, object], at_ns: int) -> None:
        """Take an `ack` or a `silence` of the replay file."""

    def incident(self, session: str, owner: str) -> Mapping[str, Any] | None:
        """Return state, level, severity, runs and unmet of an owner's latest incident."""


ReplayFactory = Callable[[Store, Policy], ReplayListener]


def replay_factory() -> ReplayFactory | None:
    """Return what makes the listener of a replay; None where the alerts are not installed."""
    found = entry_points(group=GROUP, name="replay")
    for entry in found:
        factory: ReplayFactory = entry.load()
        return factory
    return None
