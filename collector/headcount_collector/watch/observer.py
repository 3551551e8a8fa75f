"""What the observer knows of its own blindness: outages, sleep of the host, and the warm-up after them."""

from __future__ import annotations

from headcount_collector.judge.policy import SECOND

OUTAGE_AFTER = 10 * SECOND
"""A gap between two ticks from which the collector counts as having been away."""
LONGEST_STRETCH = 300 * SECOND
"""The observer is degraded for no longer than this at a stretch."""

ABSENCE_RULES = frozenset({"2b", "3", "4", "6", "7", "8"})
"""Rules that rest on what was not seen."""


class Observer:
    """Keeps when the collector was blind, and until when it must not trust silence."""

    def __init__(self, warm_up_ns: int) -> None:
        self._warm_up_ns = warm_up_ns
        self._degraded_from = 0
        self.warm_at = 0
        """From this moment on silence counts again."""
        self.sleeps: list[tuple[int, int]] = []

    def was_blind(self, since: int, until: int, *, asleep: bool = False) -> None:
        """Note an outage that ended at `until`; `asleep` where the whole host stood still."""
        if asleep:
            self.sleeps.append((since, until))
            del self.sleeps[:-100]
        if until > self.warm_at:
            self._degraded_from = until
        self.warm_at = min(until + self._warm_up_ns, self._degraded_from + LONGEST_STRETCH)

    def degraded(self, now: int) -> bool:
        """Tell whether a change that rests on absence must wait."""
        return now < self.warm_at

    def state(self, now: int) -> str:
        """Return "degraded" or "ok"."""
        return "degraded" if self.degraded(now) else "ok"
