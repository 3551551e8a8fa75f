"""Tells whoever looks at a page which runs each tick judged, so that what they see can follow."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from headcount_collector.watch.tick import TickReport

_REMEMBERED = 256


@dataclass(frozen=True, slots=True)
class Beat:
    """One tick: its number from 1, its moment in nanoseconds, and the (session, run) it judged."""

    number: int
    at_ns: int
    judged: frozenset[tuple[str, str]]


class Pulse:
    """Listens to the tick and remembers the last beats. Written by the tick's thread, read by any."""

    next_due: int | None = None

    def __init__(self) -> None:
        self._beats: deque[Beat] = deque(maxlen=_REMEMBERED)
        self.number = 0

    def after_tick(self, report: TickReport) -> None:
        """Take in one tick."""
        judged = frozenset((*report.verdicts, *report.forgotten))
        self._beats.append(Beat(self.number + 1, report.evaluation.at, judged))
        self.number += 1

    def since(self, number: int) -> list[Beat]:
        """Return the beats after this one, oldest first, as far as they are remembered."""
        return [beat for beat in tuple(self._beats) if beat.number > number]
