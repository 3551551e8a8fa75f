"""The judge's clock: a thread that evaluates once a tick, after the commits it was told of."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from headcount_collector.judge.policy import SECOND, Policy
from headcount_collector.judge.words import span
from headcount_collector.store.client import Store
from headcount_collector.store.errors import StoreError
from headcount_collector.watch.clock import HostClock
from headcount_collector.watch.documents import rfc3339
from headcount_collector.watch.index import WatchIndex
from headcount_collector.watch.listener import TickListener
from headcount_collector.watch.observer import OUTAGE_AFTER
from headcount_collector.watch.tick import Tick, TickReport

log = logging.getLogger(__name__)


class Duty(Protocol):
    """What comes with judging, and ends with it."""

    def begin(self, watched: Tick) -> None:
        """Take up where the last judge stopped, before the first tick."""

    def rest(self) -> None:
        """Stop: another process judges now."""

    def failed(self, at: int) -> None:
        """Hear that an evaluation failed."""


class Watch:
    """Runs the tick against the wall clock. `notice` may be called from any thread, after each commit."""

    def __init__(
        self,
        store: Store,
        policy: Policy | None = None,
        *,
        tick_s: float = 1.0,
        listeners: Sequence[TickListener] = (),
        leads: Callable[[], bool] = lambda: True,
        overlap_s: float = 0.0,
        duty: Duty | None = None,
    ) -> None:
        """`leads` is asked each tick whether this process may judge. `overlap_s`: others write into the store, too;
        each tick reads what came within so many seconds once more, since it may have become visible late."""
        self.tick = Tick(store, policy or Policy(), overlap_ns=round(overlap_s * SECOND))
        self._leads = leads
        self._duty = duty
        self._shared = overlap_s > 0
        self._leading = False
        self.verdicts = self.tick.verdicts
        self._listeners = tuple(listeners)
        self._tick_ns = round(tick_s * SECOND)
        self._committed = 0
        self._noticed = 0
        self._clock = HostClock(*_clocks())
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headcount-watch", daemon=True)
        self._last: TickReport | None = None
        self._failures = 0
        self._failure: str | None = None

    def add_listener(self, listener: TickListener) -> None:
        """Tell one more of every tick from now on."""
        self._listeners = (*self._listeners, listener)

    def start(self) -> None:
        """Take up what was open, or do so as soon as this process may judge, and begin to tick."""
        self._may_judge()
        self._thread.start()

    def close(self) -> None:
        """Stop after the evaluation that is under way."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=30)
        try:
            self.tick.flush()
        except StoreError as error:
            self._failed(error)

    def notice(self, received_ns: int) -> None:
        """Tell that everything received up to this moment is committed."""
        if received_ns > time.time_ns() + SECOND:
            return  # begun before the clock was set back: the tick finds it by its former time
        self._noticed = received_ns
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
            "judges": self._leading,
            "failures": self._failures,
            "failure": self._failure,
        }

    def _run(self) -> None:
        due = time.monotonic_ns()
        self._clock = HostClock(*_clocks())
        while not self._stop.is_set():
            late = max(0, time.monotonic_ns() - due)
            self._look_at_the_clock()
            if self._may_judge():
                self._evaluate(time.time_ns(), late)
            due += self._tick_ns
            wait = due - time.monotonic_ns()
            if wait < 0:
                due -= wait
                wait = 0
            self._stop.wait(wait / SECOND)

    def _look_at_the_clock(self) -> None:
        now, steady, slept = _clocks()
        passed = self._clock.look(now, steady, slept, late_after=OUTAGE_AFTER + self._tick_ns)
        if passed.set_back:
            log.warning("the clock was set back by %s", span(passed.set_back))
            self.tick.set_back(passed.set_back, now)
            self._committed = self._noticed if self._noticed <= now else self._committed - passed.set_back
        if passed.blind:
            log.warning("nothing was seen for %s: %s", span(passed.blind[1] - passed.blind[0]), passed.why)
            self.tick.observer.was_blind(*passed.blind, passed.why)
            if passed.set_back:
                self.tick.observer.doubt(now - passed.set_back)

    def _may_judge(self) -> bool:
        if not self._leads():
            if self._leading and self._duty is not None:
                self._duty.rest()
            self._leading = False
            return False
        if not self._leading:
            try:
                now = time.time_ns()
                if (
                    self._last is not None
                ):  # what was known when it judged before is no longer how things stand
                    self.tick.index = WatchIndex()
                self.tick.resume(now)
                self._committed = max(self._committed, now)
                if self._duty is not None:
                    self._duty.begin(self.tick)
                self._leading = True
            except Exception as error:  # noqa: BLE001  # the store may be away when it begins
                self._failed(error)
        return self._leading

    def _evaluate(self, now: int, late_ns: int) -> None:
        if self._shared:
            self._committed = max(self._committed, now)
        try:
            self._last = self.tick.evaluate(now, self._committed, late_ns=late_ns)
            for listener in self._listeners:
                listener.after_tick(self._last)
            self._failure = None
        except Exception as error:  # noqa: BLE001  # it must outlive a store that is away; what was not judged stays due
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        self._failures += 1
        self._failure = f"{type(error).__name__}: {error}"
        if self._duty is not None:
            self._duty.failed(time.time_ns())
        log.error("evaluation failed; it is tried again in the next tick", exc_info=error)


def _clocks() -> tuple[int, int, int]:
    """Return the wall clock, a clock that is never set, and how long this host has slept, where the system tells."""
    steady = time.monotonic_ns()
    boottime = getattr(time, "CLOCK_BOOTTIME", None)
    slept = 0 if boottime is None else time.clock_gettime_ns(boottime) - steady
    return time.time_ns(), steady, slept
