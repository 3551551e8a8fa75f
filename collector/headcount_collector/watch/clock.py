"""What happened to the host's clock between two looks at it: a sleep, a step, or nothing but time."""

from __future__ import annotations

from dataclasses import dataclass

from headcount_collector.judge.policy import SECOND
from headcount_collector.watch.observer import ASLEEP, AWAY, OUTAGE_AFTER, SET_FORWARD

_SLEPT_AFTER = SECOND
_SET_BACK_AFTER = SECOND
"""Smaller differences are how a clock is kept right."""


@dataclass(frozen=True, slots=True)
class Passed:
    """The time between two looks, all in nanoseconds."""

    set_back: int = 0
    """By how much the wall clock was set back."""
    blind: tuple[int, int] | None = None
    """(from, until) in which nothing was seen, by the wall clock as it is now."""
    why: str = ""
    """AWAY where the collector was kept from looking; ASLEEP or SET_FORWARD where nobody on this host lived that time."""


class HostClock:
    """Compares the wall clock with one that is never set."""

    def __init__(self, wall: int, steady: int, slept: int) -> None:
        """`steady` stands still while the host sleeps; `slept` counts its sleep."""
        self._wall, self._steady, self._slept = wall, steady, slept

    def look(self, wall: int, steady: int, slept: int, *, late_after: int) -> Passed:
        """Return what passed since the last look; more than `late_after` without one is an outage."""
        lived, sleep = steady - self._steady, slept - self._slept
        step = wall - self._wall - lived - sleep
        before, self._wall, self._steady, self._slept = self._wall, wall, steady, slept
        back = -step if step < -_SET_BACK_AFTER else 0
        before -= back
        if sleep > _SLEPT_AFTER or step > OUTAGE_AFTER:
            return Passed(back, (before, wall), ASLEEP if sleep > _SLEPT_AFTER else SET_FORWARD)
        if lived > late_after or back > OUTAGE_AFTER:
            return Passed(back, (before, wall), AWAY)
        return Passed(back)
