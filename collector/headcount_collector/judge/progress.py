"""When a run made progress: tool ends, first tokens and growth of output, without what a nudge stirred up."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from .facts import Facts, Failure, Request, Turn

NUDGED = frozenset({"nudge", "message", "notice"})
"""What opened a turn whose tokens alone prove nothing (domain contract, section 2, `output`)."""


def own_progress(facts: Facts) -> tuple[int, ...]:
    """Return the sorted moments at which the run itself made progress."""
    found: set[int] = set()
    for turn in facts.turns:
        found.update(turn.tools)
    if facts.failures:
        found.update(first_of_their_row(facts.failures, found))
    talk = _talk(facts)
    if facts.requests and any(request.trigger in NUDGED for request in facts.requests):
        talk = _without_nudged(facts, talk)
    found.update([moment for moment, _ in talk])
    return tuple(sorted(found))


def first_of_their_row(failures: Iterable[Failure], successes: Iterable[int]) -> list[int]:
    """Return the failed tool ends that are progress: those unlike the tool end just before them."""
    failures = sorted(failures, key=lambda failure: failure.at)
    if not failures:
        return []
    ends = sorted(successes)
    fresh: list[int] = []
    before: Failure | None = None
    for failure in failures:
        if (
            before is None
            or (before.tool, before.error) != (failure.tool, failure.error)
            or bisect_right(ends, failure.at) > bisect_right(ends, before.at)
        ):
            fresh.append(failure.at)
        before = failure
    return fresh


def _talk(facts: Facts) -> list[tuple[int, str | None]]:
    """First tokens and growth of the cumulative output, each with its turn."""
    talk = [(moment, turn.id) for turn in facts.turns for moment in turn.tokens]
    outputs = sorted((moment, tokens, turn.id) for turn in facts.turns for moment, tokens in turn.outputs)
    highest = 0
    for moment, tokens, turn_id in outputs:
        if tokens > highest:
            highest = tokens
            talk.append((moment, turn_id))
    return talk


def _without_nudged(facts: Facts, talk: list[tuple[int, str | None]]) -> list[tuple[int, str | None]]:
    openers = sorted((r for r in facts.requests if r.trigger is not None), key=lambda request: request.at)
    starts = [request.at for request in openers]
    by_turn = {request.turn: request for request in reversed(openers) if request.turn is not None}
    tools_of = {turn.id: turn.tools for turn in facts.turns}
    every_tool = sorted(moment for turn in facts.turns for moment in turn.tools)

    def counts(moment: int, turn_id: str | None) -> bool:
        if turn_id is not None and turn_id in by_turn:
            if by_turn[turn_id].trigger not in NUDGED:
                return True
            return any(tool <= moment for tool in tools_of.get(turn_id, ()))
        place = bisect_right(starts, moment) - 1
        if place < 0 or openers[place].trigger not in NUDGED:
            return True
        return bisect_right(every_tool, moment) > bisect_right(every_tool, starts[place])

    return [(moment, turn_id) for moment, turn_id in talk if counts(moment, turn_id)]


def is_nudged(request: Request, turns: Iterable[Turn]) -> bool:
    """Tell whether a request belongs to a turn that a nudge, message or notice opened and no tool has redeemed."""
    if request.trigger not in NUDGED:
        return False
    for turn in turns:
        same = turn.id == request.turn if request.turn is not None else True
        if same and any(moment >= request.at for moment in turn.tools):
            return False
    return True
