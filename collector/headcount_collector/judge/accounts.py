"""Where a run's time went: working, waiting by reason, idle, and on the way back (domain contract, section 9)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import field

from headcount_collector.values import value

from .timeline import Timeline
from .waits import waits_until

Interval = tuple[int, int]


@value(frozen=True, slots=True)
class Account:
    """A run's time in nanoseconds; the parts add up to `total`.

    `idle` is silence that nothing explains: between two signs of progress lie more than `zero_progress` in which neither
    a wait nor a call was open. Shorter silences are work.
    """

    total: int = 0
    working: int = 0
    waiting: dict[str, int] = field(default_factory=dict)
    idle: int = 0
    delivery: int = 0


def account_of(line: Timeline, ended_at: int | None, settled_at: int | None, now: int) -> Account:
    """Return the account of a dispatched run until it was delivered or void, or until now."""
    begin = line.dispatched_at
    until = max(begin, settled_at if settled_at is not None else now)
    ended = min(max(ended_at, begin), until) if ended_at is not None else until
    waiting, explained = _waiting(line, begin, ended, now)
    calls = [(tool.at, tool.ended if tool.ended is not None else now) for tool in line.facts.open_tools]
    calls += [
        (request.at, request.ended if request.ended is not None else now) for request in line.facts.requests
    ]
    quiet = _joined([*explained, *calls])
    idle = _idle(line, begin, ended, quiet)
    spent = sum(waiting.values())
    return Account(
        total=until - begin,
        working=ended - begin - spent - idle,
        waiting=waiting,
        idle=idle,
        delivery=until - ended,
    )


def _waiting(line: Timeline, begin: int, end: int, now: int) -> tuple[dict[str, int], list[Interval]]:
    """Return how long the run waited for each reason, overlaps counted once for the wait that began first."""
    found: dict[str, int] = {}
    covered = begin
    intervals: list[Interval] = []
    for wait in waits_until(line, now):
        closed = min(wait.closed if wait.closed is not None else now, end)
        opened = max(wait.at, covered)
        if closed > opened:
            found[wait.reason] = found.get(wait.reason, 0) + closed - opened
            intervals.append((opened, closed))
            covered = closed
    return found, intervals


def _idle(line: Timeline, begin: int, end: int, explained: list[Interval]) -> int:
    progress = line.any_progress
    inside = progress[bisect_left(progress, begin) : bisect_right(progress, end)]
    idle, before = 0, begin
    for moment in (*inside, end):
        if moment - before > line.times.zero_progress:
            silent = moment - before - _overlap(explained, before, moment)
            if silent > line.times.zero_progress:
                idle += silent
        before = moment
    return idle


def _joined(intervals: Iterable[Interval]) -> list[Interval]:
    joined: list[Interval] = []
    for begin, end in sorted(intervals):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((begin, end))
    return joined


def _overlap(intervals: list[Interval], begin: int, end: int) -> int:
    return sum(max(0, min(end, closed) - max(begin, opened)) for opened, closed in intervals)
