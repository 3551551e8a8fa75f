"""Takes the sleep of the collector's host out of a run's elapsed times, by moving what happened before it forward."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from headcount_collector.judge.facts import Facts
from headcount_collector.judge.progress import own_progress
from headcount_collector.judge.verdict import Verdict

Sleep = tuple[int, int]
"""(asleep from, awake again), nanoseconds since the epoch."""

_MOMENTS = frozenset(
    "at closed ended first_at heard_at last_activity_at last_traffic_at hole_after last_at dispatched_at closed_at"
    " settled_at delivered_at void_at ended_at abnormal_since gone_at consumes_since kind_heard_at since deadline"
    " first_abnormal_at last_progress_at dispatch_at expected_by completion_received_at".split()
)
_LISTS = frozenset("tools tokens consumptions progress gone shown requests".split())
_PAIRS = frozenset("outputs turns gone collisions".split())
_TABLES = frozenset({"closed_calls"})


def without_sleep(facts: Facts, sleeps: Sequence[Sleep]) -> tuple[Facts, list[Sleep]]:
    """Return the facts with every sleep in which the run was silent taken out, and those sleeps."""
    slept = [sleep for sleep in sleeps if facts.first_at <= sleep[0] and not _heard_in(facts, sleep)]
    for begin, end in slept:

        def forward(moment: int, begin: int = begin, end: int = end) -> int:
            return moment + end - begin if moment <= begin else moment

        facts = _moved(facts, forward)
    return facts, slept


def with_sleep(verdict: Verdict, slept: Sequence[Sleep]) -> Verdict:
    """Return the verdict with its moments put back to the clock."""
    for begin, end in reversed(slept):

        def back(moment: int, begin: int = begin, end: int = end) -> int:
            return moment - (end - begin) if moment <= end else moment

        verdict = replace(_moved(verdict, back), at=verdict.at, deadline=verdict.deadline)
    return verdict


def _heard_in(facts: Facts, sleep: Sleep) -> bool:
    begin, end = sleep
    moments = [*own_progress(facts), *(end.at for end in facts.ends), *(idle.at for idle in facts.idles)]
    moments += [wait.at for wait in facts.waits] + [start.at for start in facts.starts]
    moments += [moment for moment in (facts.last_activity_at, facts.last_traffic_at) if moment is not None]
    return any(begin < moment < end for moment in moments)


def _moved(value: Any, move: Callable[[int], int]) -> Any:
    changes: dict[str, Any] = {}
    for field in fields(value):
        held = getattr(value, field.name)
        if isinstance(held, int) and field.name in _MOMENTS:
            changes[field.name] = move(held)
        elif isinstance(held, tuple) and held:
            changes[field.name] = tuple(_moved_item(field.name, item, move) for item in held)
        elif isinstance(held, dict) and held:
            changes[field.name] = {key: _moved_entry(field.name, item, move) for key, item in held.items()}
        elif is_dataclass(held):
            changes[field.name] = _moved(held, move)
    return replace(value, **changes) if changes else value


def _moved_entry(name: str, item: Any, move: Callable[[int], int]) -> Any:
    if is_dataclass(item):
        return _moved(item, move)
    # Other numbers by name are lengths, as the parts of an account.
    return move(item) if name in _TABLES else item


def _moved_item(name: str, item: Any, move: Callable[[int], int]) -> Any:
    if is_dataclass(item):
        return _moved(item, move)
    if isinstance(item, int) and name in _LISTS:
        return move(item)
    if isinstance(item, tuple) and name in _PAIRS:
        first, second = item
        closed = move(second) if name == "turns" and isinstance(second, int) else second
        return move(first), closed
    return item
