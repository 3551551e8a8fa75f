"""No owner, a null owner and the empty owner are one: a property over everything that names an owner."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from headcount_collector.evidence.record import export_request
from headcount_collector.evidence.short_form import record_of
from headcount_collector.judge.groups import groups_of
from headcount_collector.judge.policy import SECOND, Policy
from headcount_collector.judge.verdict import Verdict
from headcount_collector.store import Store, migrate
from headcount_collector.watch.tick import Tick

T0 = 1_796_000_000 * SECOND
_sessions = itertools.count()
Line = dict[str, Any]

LINES: tuple[Line, ...] = (
    {"event": "dispatch", "run": "a", "at": 0, "agent": "worker", "prompt": "same"},
    {"event": "dispatch", "run": "b", "at": 1, "agent": "worker", "prompt": "same"},
    {"event": "dispatch", "run": "c", "at": 2, "agent": "worker", "mode": "foreground"},
    {"event": "dispatch", "run": "d", "at": 2, "agent": "worker", "owner": "lead"},
    {"event": "owner_turn", "at": 3, "phase": "pending"},
    {"event": "start", "run": "a", "at": 4, "child": "k"},
    {"event": "child_done", "run": "a", "at": 9, "outcome": "ok", "size": 3},
    {"event": "completion_received", "run": "a", "at": 10, "source": "notification", "receiver": ""},
    {"event": "completion_forwarded", "run": "a", "at": 11, "forwarded": True, "receiver": ""},
    {"event": "completion_consumed", "run": "a", "at": 12},
    {"event": "dispatch", "run": "e", "at": 13, "agent": "worker", "supersedes": ["b"]},
    {"event": "owner_turn", "at": 20, "phase": "ended"},
    {"event": "owner_final", "at": 21, "owed": ["e"]},
    {"event": "owner_gone", "at": 30, "reason": "crash"},
)
"""Of the root owner, in the words that name it nowhere but as a receiver: an absent receiver is whoever the owner is."""


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with contextlib.closing(Store.open(":memory:")) as opened:
        migrate(opened, retention_days=3650)
        yield opened


def spelled(line: Mapping[str, Any], chance: Random) -> Line:
    """Write the root owner as nothing, as null or as the empty text."""
    if line.get("owner"):
        return dict(line)
    return {**line, **chance.choice([{}, {"owner": None}, {"owner": ""}])}


def told(verdict: Verdict) -> tuple[object, ...]:
    return (
        verdict.run,
        verdict.status,
        verdict.rule,
        verdict.failure_class,
        verdict.severity,
        verdict.owner,
        verdict.owner_gone,
        verdict.remaining,
        verdict.undelivered,
        verdict.next_due and verdict.next_due - verdict.at,
        sorted((signal.name, signal.since, signal.severity) for signal in verdict.signals),
    )


@settings(deadline=None, max_examples=6, suppress_health_check=[*HealthCheck], phases=[Phase.generate])
@given(seeds=st.lists(st.integers(0, 2**32), min_size=5, max_size=5), until=st.integers(1, len(LINES)))
def test_nothing_null_and_the_empty_text_are_the_same_owner(
    store: Store, seeds: list[int], until: int
) -> None:
    tick = Tick(store, Policy())
    moment = T0 + next(_sessions) * 3600 * SECOND
    sessions = [f"plain{next(_sessions)}", *(f"s{next(_sessions)}" for _ in seeds)]
    records = [record_of({**line, "session": sessions[0]}, moment) for line in LINES[:until]]
    for seed, session in zip(seeds, sessions[1:], strict=True):
        chance = Random(seed)
        records += [
            record_of({**spelled(line, chance), "session": session}, moment) for line in LINES[:until]
        ]
    received = moment + 40 * SECOND
    tick._read_until = received - 1
    store.commit([export_request(records).SerializeToString()], received)
    for at in (received, received + 900 * SECOND):
        verdicts = tick.evaluate(at, received).verdicts
        found = {
            session: sorted((told(v) for (where, _), v in verdicts.items() if where == session), key=str)
            for session in sessions
        }
        assert found[sessions[0]]
        for session in sessions:
            assert found[session] == found[sessions[0]]
    expected = groups_of("", tick.verdicts.members(sessions[0]))
    for session in sessions[1:]:
        groups = groups_of("", tick.verdicts.members(session))
        assert groups == expected
    assert {group.owner for group in expected} <= {"", "lead"}
