"""The judge's clock: a thread that evaluates once a tick, after the commits it was told of."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Any

from headcount_collector.judge.policy import SECOND, Policy
from headcount_collector.store.client import Store
from headcount_collector.watch.documents import rfc3339
from headcount_collector.watch.listener import TickListener
from headcount_collector.watch.observer import OUTAGE_AFTER
from headcount_collector.watch.tick import Tick, TickReport

log = logging.getLogger(__name__)


class Watch:
    """Runs the tick against the wall clock. `notice` may be called from any thread, after each commit."""

    def __init__(
        self,
        store: Store,
        policy: Policy | None = None,
        *,
        tick_s: float = 1.0,
        listeners: Sequence[TickListener] = (),
    ) -> None:
        self.tick = Tick(store, policy or Policy())
        self.verdicts = self.tick.verdicts
        self._listeners = tuple(listeners)
        self._tick_ns = round(tick_s * SECOND)
        self._committed = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headcount-watch", daemon=True)
        self._last: TickReport | None = None
        self._failures = 0
        self._failure: str | None = None

    def add_listener(self, listener: TickListener) -> None:
        """Tell one more of every tick from now on."""
        self._listeners = (*self._listeners, listener)

    def start(self) -> None:
        """Take up what was open, and begin to tick."""
        now = time.time_ns()
        self.tick.resume(now)
        self._committed = max(self._committed, now)
        self._thread.start()

    def close(self) -> None:
        """Stop after the evaluation that is under way."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=30)

    def notice(self, received_ns: int) -> None:
        """Tell that everything received up to this moment is committed."""
        self._committed = max(self._committed, received_ns)

    @property
    def health(self) -> dict[str, Any]:
        """Return the last evaluation and failures, for readiness and metrics."""
        last = self._last.evaluation if self._last is not None else None
        return {
            "observer": last.observer if last else "starting",
            "last_evaluation_at": rfc3339(last.at) if last else None,
            "last_evaluation_took_ms": round(last.took_ns / 1e6, 1) if last else None,
            "last_evaluation_late_ms": round(last.late_ns / 1e6, 1) if last else None,
            "judged": last.judged if last else 0,
            "open_runs": last.open_runs if last else 0,
            "failures": self._failures,
            "failure": self._failure,
        }

    def _run(self) -> None:
        due = time.monotonic_ns()
        slept = _asleep_ns()
        before = time.time_ns()
        while not self._stop.is_set():
            now = time.time_ns()
            late = max(0, time.monotonic_ns() - due)
            sleeping = _asleep_ns() - slept
            if sleeping > SECOND:
                self.tick.observer.was_blind(before, now, asleep=True)
            elif now - before > OUTAGE_AFTER + self._tick_ns:
                self.tick.observer.was_blind(before, now)
            slept, before = slept + sleeping, now
            self._evaluate(now, late)
            due += self._tick_ns
            wait = due - time.monotonic_ns()
            if wait < 0:
                due -= wait
                wait = 0
            self._stop.wait(wait / SECOND)

    def _evaluate(self, now: int, late_ns: int) -> None:
        try:
            self._last = self.tick.evaluate(now, self._committed, late_ns=late_ns)
            for listener in self._listeners:
                listener.after_tick(self._last)
            self._failure = None
        except (
            Exception
        ) as error:  # the watch must outlive a store that is away; what was not judged stays due
            self._failures += 1
            self._failure = f"{type(error).__name__}: {error}"
            log.exception("evaluation failed; it is tried again in the next tick")


def _asleep_ns() -> int:
    """Return how long this host has slept since it booted, where the system tells."""
    boottime = getattr(time, "CLOCK_BOOTTIME", None)
    if boottime is None:
        return 0
    return time.clock_gettime_ns(boottime) - time.monotonic_ns()
