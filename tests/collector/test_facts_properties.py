"""Properties of the facts on the real engine: order, repetition and batches of arrival change nothing; nothing throws."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from headcount_collector.derive.loader import FactsLoader, RunKey
from headcount_collector.evidence import wire
from headcount_collector.evidence.record import AttributeValue, Record, export_request
from headcount_collector.store import Store, migrate

from .evidence_log import SECOND, Log, at, span

RUNS = ("r1", "r2", "a1")
ARRIVALS = (100, 200, 300)
"""Seconds at which something may arrive: the records of all examples that arrive together are committed together."""
_examples = itertools.count(1)


@dataclass(frozen=True)
class Arrival:
    record: Record
    when: int


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    opened = Store.open(tmp_path_factory.mktemp("facts"))
    migrate(opened, retention_days=20000)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def twin(store: Store) -> Iterator[Store]:
    opened = store.with_database("other_order")
    migrate(opened, retention_days=20000)
    yield opened
    opened.close()


ATTRIBUTES: dict[str, tuple[AttributeValue, ...]] = {
    wire.TURN: ("t1", "t2"),
    wire.TOOL: ("Bash", "Read"),
    wire.CALL: ("c1", "c2"),
    wire.ERROR: ("x", "y"),
    wire.OUTPUT_TOKENS: (0, 1, 50, 90),
    wire.OUTCOME: ("ok", "crashed"),
    wire.RESULT_SIZE: (0, 3),
    wire.FORWARDED: (True, False),
    wire.WAIT_ID: ("w1", "w2"),
    wire.WAIT_REASON: ("queue", "child", "tool"),
    wire.WAIT_WAKER: ("r2", "c1", "k1"),
    wire.ATTEMPT: (1, 2),
    wire.MODE: ("foreground", "background"),
    wire.OWNER: ("lead", "k1"),
    wire.CHILD_SESSION: ("k1", "k2"),
    wire.AGENT: ("worker",),
    wire.PROMPT_DIGEST: ("p",),
    wire.TRIGGER: ("task", "nudge"),
}


def arrivals(seed: int) -> list[Arrival]:
    """Make up what arrives of one session: any events, clocks that run ahead and behind, names that two runs claim.

    Seeds and no strategies: hypothesis would take minutes to draw what the engine reads in seconds.
    """
    chance = Random(seed)
    numbers = {"p": itertools.count(1), "c": itertools.count(1)}
    found = []
    for _ in range(chance.randint(1, 16)):
        event = chance.choice([*sorted(wire.EVENTS), "dispatch", "tool_call", "tool_call", "output"])
        run = None if event in wire.OWNER_EVENTS else chance.choice(RUNS)
        attributes = {
            name: chance.choice(values) for name, values in ATTRIBUTES.items() if chance.random() < 0.5
        }
        producer = chance.choice([None, "p", "c"])
        if producer is not None:
            attributes[wire.PRODUCER] = producer
            if chance.random() < 0.5:
                attributes[wire.SEQ] = next(numbers[producer])
        if chance.random() < 0.2:
            attributes[wire.ALIAS] = [chance.choice(["a1", "a2", "r2"])]
        phase = chance.choice(["pending", "ended"]) if event in wire.PHASED_EVENTS else None
        happened = at(chance.choice([0, 1, 2.5, 20, 60, 99, 130, 250]))
        lasted = phase == "ended" and chance.random() < 0.5
        started = happened - 5 * SECOND if lasted else None
        record = Record(event, happened, run, None, attributes, started, phase)
        found.append(Arrival(record, chance.choice(ARRIVALS)))
    return found


def of_session(arrival: Arrival, session: str) -> Record:
    """Move a record to a session of its own; producers are known everywhere, so they move too."""
    record = arrival.record
    attributes = dict(record.attributes)
    if wire.PRODUCER in attributes:
        attributes[wire.PRODUCER] = f"{session}/{attributes[wire.PRODUCER]}"
    if wire.AGENT in attributes:
        attributes[wire.AGENT] = f"{session}/{attributes[wire.AGENT]}"
    return replace(record, session=session, attributes=attributes)


def commit(store: Store, records: list[Record], when: int) -> None:
    if records:
        store.commit([export_request(records).SerializeToString()], at(when))


@settings(deadline=None, max_examples=4, suppress_health_check=[*HealthCheck], phases=[Phase.generate])
@given(
    seeds=st.lists(st.integers(0, 2**32), min_size=40, max_size=40, unique=True), order=st.integers(0, 2**32)
)
def test_order_repetition_and_batches_of_arrival_change_nothing(
    store: Store, twin: Store, seeds: list[int], order: int
) -> None:
    once: dict[int, list[Record]] = defaultdict(list)
    keys = []
    for seed in seeds:
        session = f"s{next(_examples)}-{seed}"
        keys += [RunKey(session, run) for run in RUNS]
        for arrival in arrivals(seed):
            once[arrival.when].append(of_session(arrival, session))
    for when in ARRIVALS:
        commit(store, once[when], when)
    chance = Random(order)
    for when in chance.sample(ARRIVALS, len(ARRIVALS)):
        shuffled = chance.sample(once[when], len(once[when]))
        cut = chance.randint(0, len(shuffled))
        again = chance.sample(shuffled, len(shuffled) // 2)
        for batch, late in ((shuffled[:cut], 0), (again, chance.randint(1, 500)), (shuffled[cut:], 0)):
            commit(twin, batch, when + late)
    there, here = FactsLoader(twin).load(keys), FactsLoader(store).load(keys)
    assert there.keys() == here.keys()
    for key, facts in here.items():
        assert there[key] == facts


@settings(deadline=None, max_examples=3, suppress_health_check=[*HealthCheck], phases=[Phase.generate])
@given(seeds=st.lists(st.integers(0, 2**32), min_size=40, max_size=40, unique=True))
def test_a_loader_that_follows_every_commit_knows_what_a_new_one_reads(twin: Store, seeds: list[int]) -> None:
    batches: list[list[Record]] = [[] for _ in range(6)]
    keys = []
    for seed in seeds:
        session, chance = f"f{next(_examples)}-{seed}", Random(seed)
        keys += [RunKey(session, run) for run in RUNS]
        for arrival in arrivals(seed):
            batches[chance.randrange(len(batches))].append(of_session(arrival, session))
    follower, until = FactsLoader(twin, teaches=True, ahead_from=1), at(ARRIVALS[0])
    for number, batch in enumerate(batches):
        commit(twin, batch, ARRIVALS[-1] + next(_examples))
        after, until = until, at(ARRIVALS[-1] + next(_examples))
        follower.changed(after, until)
        there, here = FactsLoader(twin).load(keys), follower.load(keys)
        assert there.keys() == here.keys()
        for key, facts in there.items():
            assert here[key] == facts, f"after commit {number}"


JUNK = st.sampled_from(
    ["", "true", "[]", '["x"]', "[[", "nan", "-1", "1e999", "9" * 40, "\0", "é" * 300, "2026-11-30"]
)
KEYS = (
    wire.ALIAS, wire.PHASE, wire.PRODUCER, wire.SEQ, wire.KEEPALIVE_MS, wire.EXPORT_INTERVAL_MS, wire.EXPECTED_BY,
    wire.MAX_RUNTIME_MS, wire.SUPERSEDES, wire.ATTEMPT, wire.OUTPUT_TOKENS, wire.RESULT_SIZE, wire.FORWARDED,
    wire.OWED, wire.FINAL, wire.CALL, wire.TOOL, wire.ERROR, wire.WAIT_ID, wire.CHILD_SESSION, wire.OWNER,
    "gen_ai.operation.name", "gen_ai.response.time_to_first_chunk", "ttft_ms", "output_tokens", "agent_id",
)  # fmt: skip


@settings(
    deadline=None,
    max_examples=3,
    suppress_health_check=[*HealthCheck],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(
    spans=st.lists(
        st.tuples(
            st.sampled_from(["x", "invoke_agent y", "claude_code.tool", "claude_code.llm_request"]),
            st.sampled_from([*sorted(wire.EVENTS), "", "no such event"]),
            st.dictionaries(st.sampled_from(KEYS), JUNK),
            st.sampled_from([0, 3, 10**9]),
        ),
        min_size=60,
        max_size=60,
    )
)
def test_no_attribute_value_harms_a_neighbour(
    store: Store, spans: list[tuple[str, str, dict[str, str], float]]
) -> None:
    log = Log(store)
    stamp = {"session.id": log.session, "subagent.run.id": "r1"}
    log.arrive(1, {"event": "dispatch", "run": "healthy", "time": 0})
    log.arrive_spans(
        2,
        *(
            span(name, 1, 1 + length, {**junk, **stamp, "subagent.event": event})
            for name, event, junk, length in spans
        ),
        span("subagent.idle", 2, 2, {**stamp, "subagent.event": "idle", "subagent.run.id": "healthy"}),
    )
    log.facts("r1")
    assert [idle.at for idle in log.facts("healthy").idles] == [at(2)]
