"""Who wants to know what each tick came to: the seam at which the alerts, a package of their own, are let in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Protocol

from headcount_collector.judge.policy import Policy
from headcount_collector.store.client import Store
from headcount_collector.watch.tick import Tick, TickReport

if TYPE_CHECKING:
    from fastapi import APIRouter

    from headcount_collector.metrics import Metric
    from headcount_collector.settings import Settings

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

    def incidents(self) -> list[dict[str, Any]]:
        """Return every incident in the order of opening, each with its `decisions` and the `steps` that were due."""


class ServingListener(TickListener, Protocol):
    """A listener of a running collector, with routes of its own."""

    routes: APIRouter

    def start(self, watched: Tick) -> None:
        """Take up where the last judge stopped, before the first tick; have runs judged anew with `look_again`.

        Called whenever this process begins to judge: once, or each time that it gets the lease.
        """

    def rest(self) -> None:
        """Do nothing more until the next `start`: another process judges now."""

    def failed(self, at: int) -> None:
        """Hear that an evaluation failed; nanoseconds."""

    def close(self) -> None:
        """Stop, after the last tick."""

    def metrics(self) -> Iterable[Metric]:
        """Return its own numbers."""


@dataclass(frozen=True, slots=True)
class Host:
    """What a running collector offers its listeners.

    `submit` takes evidence (an ExportTraceServiceRequest); `numbers` gives the collector's own, without the listeners'.
    """

    store: Store
    settings: Settings
    submit: Callable[[bytes], Future[int]]
    numbers: Callable[[], Iterable[Metric]] = tuple


ServingFactory = Callable[[Host], ServingListener]
ReplayFactory = Callable[[Store, Policy], ReplayListener]


def serving_factories() -> list[ServingFactory]:
    """Return what makes the listeners of a collector, in the order of their names."""
    found = sorted(entry_points(group=GROUP), key=lambda entry: entry.name)
    return [entry.load() for entry in found if entry.name != "replay"]


def replay_factory() -> ReplayFactory | None:
    """Return what makes the listener of a replay; None where the alerts are not installed."""
    found = entry_points(group=GROUP, name="replay")
    for entry in found:
        factory: ReplayFactory = entry.load()
        return factory
    return None
