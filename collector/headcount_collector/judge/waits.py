"""Declared waits: which are open, how far they move the deadline, and who can end them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .facts import Wait
from .timeline import Timeline

PERSON = frozenset({"approval", "human_input"})
RESOURCE = frozenset({"queue", "rate_limit", "provider_retry"})
EXCUSING = PERSON | RESOURCE
"""Waits of these reasons move the deadline."""


@dataclass(slots=True)
class Moments:
    """Compares thresholds with now, and keeps the nearest that is still to come."""

    now: int
    next_due: int | None = None

    def reached(self, moment: int) -> bool:
        if moment <= self.now:
            return True
        if self.next_due is None or moment < self.next_due:
            self.next_due = moment
        return False


def waits_until(line: Timeline, t: int) -> tuple[Wait, ...]:
    """Return the waits that began by t, the time in a queue before registration among them; `closed` None: open at t."""
    found = line.waits_at.get(t)
    if found is None:
        found = line.waits_at[t] = _waits_until(line, t)
    return found


def _waits_until(line: Timeline, t: int) -> tuple[Wait, ...]:
    waits = [_as_of(line, wait, t) for wait in line.facts.waits if wait.at <= t]
    queued = _queue_wait(line, t)
    if queued is not None:
        waits.append(queued)
    return tuple(sorted(waits, key=lambda wait: wait.at))


def _as_of(line: Timeline, wait: Wait, t: int) -> Wait:
    closed = wait.closed
    if wait.waker is not None:
        call_ended = line.facts.closed_calls.get(wait.waker)
        waker = line.facts.neighbours.wakers.get(wait.waker)
        for moment in (call_ended, waker.delivered_at if waker is not None else None):
            if moment is not None and (closed is None or moment < closed):
                closed = max(moment, wait.at)
    if closed is not None and closed > t:
        closed = None
    return replace(wait, closed=closed)


def _queue_wait(line: Timeline, t: int) -> Wait | None:
    opened: int | None = None
    for launch in line.facts.launches:
        if launch.at > t or launch.state is None:
            continue
        if launch.state in ("queued", "reserved"):
            opened = launch.at if opened is None else opened
        elif opened is not None:
            return Wait(opened, "queue", closed=launch.at)
    if opened is None:
        return None
    started = next((start.at for start in line.facts.starts if opened <= start.at <= t), None)
    return Wait(opened, "queue", closed=started)


def base_deadline(line: Timeline, t: int) -> tuple[int, int] | None:
    """Return (since, allotted) of the run's deadline before any wait, both in nanoseconds; None without a dispatch."""
    dispatch = line.facts.dispatch
    if dispatch is None:
        return None
    if dispatch.expected_ns is not None:
        return dispatch.at, dispatch.expected_ns
    started = line.started(t)
    if dispatch.max_runtime_ns is not None and started is not None:
        return started, dispatch.max_runtime_ns
    return dispatch.at, line.times.expected


def deadline(line: Timeline, waits: Sequence[Wait], t: int) -> int | None:
    """Return the deadline, moved by the waits that began before it; an open wait moves it as far as it may go."""
    base = base_deadline(line, t)
    if base is None:
        return None
    moment = base[0] + base[1]
    spent: dict[str, int] = {}
    covered = 0
    for wait in waits:
        if wait.reason not in EXCUSING:
            continue
        if wait.at >= moment:
            break
        begin = max(wait.at, covered)
        allowed = line.times.wait_max - spent.get(wait.reason, 0)
        length = allowed if wait.closed is None else min(max(wait.closed - begin, 0), allowed)
        spent[wait.reason] = spent.get(wait.reason, 0) + length
        covered = max(covered, begin + length)
        moment += length
    return moment
