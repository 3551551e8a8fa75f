"""What the observer knows of its own blindness: outages, sleep of the host, and the warm-up after them."""

from __future__ import annotations

from collections.abc import Iterable

from headcount_collector.judge.policy import SECOND

OUTAGE_AFTER = 10 * SECOND
"""A gap between two ticks from which the collector counts as having been away."""
MISSED = 3
"""So many keep-alives must be missed before a producer counts as silent."""
LONGEST_STRETCH = 300 * SECOND
"""The observer is degraded for no longer than this at a stretch."""

AWAY = "away"
ASLEEP = "asleep"
SET_FORWARD = "clock set forward"
SET_BACK = "clock set back"
UNHEARD = "heard nobody"

_REMEMBERED = 100

ABSENCE_RULES = frozenset({"2b", "3", "4", "6", "7", "8"})
"""Rules that rest on what was not seen."""
ABSENCE_SIGNALS = frozenset(
    "not_started zero_progress first_token_timeout idle_stall activity_without_progress limit_overrun queue_wait"
    " hidden_wait delivered_not_consumed output_discarded orphaned unmatched telemetry_gap".split()
)
"""Signals that rest on it."""


class Observer:
    """Keeps when the collector was blind, and until when it must not trust silence."""

    def __init__(self, warm_up_ns: int) -> None:
        self._warm_up_ns = warm_up_ns
        self._degraded_from = 0
        self._silent_from: int | None = None
        self.blind_from = 0
        """Since when nothing is heard, or was not until a moment ago."""
        self.warm_at = 0
        """From this moment on silence counts again."""
        self._history: list[tuple[str, int, int | None]] = []
        self.sleeps: list[tuple[int, int]] = []
        self.outages: list[tuple[int, int]] = []
        """When the collector was away, but for its host's sleep; as many as are remembered of these."""

    def was_blind(self, since: int, until: int, why: str = AWAY) -> None:
        """Note that nothing was seen until `until`: the collector was AWAY, or nobody on this host lived that time."""
        noted = self.outages if why == AWAY else self.sleeps
        noted.append((since, until))
        del noted[:-_REMEMBERED]
        self._remember(why, since, until)
        if until > self.warm_at:
            self._degraded_from, self.blind_from = until, since
        self.warm_at = min(until + self._warm_up_ns, self._degraded_from + LONGEST_STRETCH)

    def history(self) -> list[tuple[str, int, int | None]]:
        """Return what kept the observer from seeing, the latest first: (why, from, until); until None while it lasts."""
        lasting = [] if self._silent_from is None else [(UNHEARD, self._silent_from, None)]
        return [*lasting, *reversed(self._history)]

    def _remember(self, why: str, since: int, until: int) -> None:
        self._history.append((why, since, until))
        del self._history[:-_REMEMBERED]

    def set_back(self, step_ns: int, now: int) -> None:
        """Hear that the clock was set back and is `now`: what was to last a minute lasts no longer for it."""
        self.sleeps = [sleep for sleep in self.sleeps if sleep[1] <= now]
        self.outages = [outage for outage in self.outages if outage[1] <= now]
        self._remember(SET_BACK, now + step_ns, now)
        self.warm_at -= step_ns
        self.blind_from -= step_ns
        self._degraded_from -= step_ns
        if self._silent_from is not None:
            self._silent_from -= step_ns

    def doubt(self, since: int) -> None:
        """Trust no silence since then before it is warm: what was heard meanwhile is dated later than now."""
        self.blind_from = min(self.blind_from, since)

    def listen(self, beats: Iterable[tuple[int, int]], now: int) -> None:
        """Take in the keep-alives of the producers with open runs, each (interval, last heard).

        Where there are several and every one has missed three, nothing is heard, which says more of the observer
        than of them; a lone one that falls silent is a finding.
        """
        lost = [last + MISSED * interval for interval, last in beats]
        # Who was lost long before the last one is a finding of its own, and no witness that nothing is heard.
        at_once = sum(moment > max(lost) - LONGEST_STRETCH for moment in lost)
        silent = at_once >= 2 and max(lost) <= now
        if silent and self._silent_from is None:
            self._silent_from = max(lost)
            if not self.degraded(now):
                self.blind_from = self._silent_from
            self.warm_at = max(self.warm_at, self._silent_from + LONGEST_STRETCH)
        elif not silent and self._silent_from is not None:
            self.warm_at = min(self.warm_at, max(now, self._silent_from) + self._warm_up_ns)
            self._remember(UNHEARD, self._silent_from, now)
            self._silent_from = None

    def degraded(self, now: int) -> bool:
        """Tell whether a change that rests on absence must wait."""
        return now < self.warm_at

    def state(self, now: int) -> str:
        """Return "degraded" or "ok"."""
        return "degraded" if self.degraded(now) else "ok"
