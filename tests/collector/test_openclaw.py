"""OpenClaw's ledger, judged: what completes, what fails, what hangs, what is not handed back, what is silent on purpose."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount_collector.evidence import export_request, wire
from headcount_collector.evidence.openclaw import records_from_ledger
from headcount_collector.judge.policy import SECOND, Policy
from headcount_collector.judge.verdict import Verdict
from headcount_collector.store.client import Store
from headcount_collector.store.migrate import migrate
from headcount_collector.watch.tick import Tick

T0_MS = 1_796_040_000_000
DATABASES = count(1)
MAIN = "agent:main:main"
CAPTURES = Path(__file__).parents[1] / "captures" / "openclaw"


def task(number: int = 1, **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "taskId": f"t{number}",
        "runtime": "subagent",
        "runId": f"r{number}",
        "requesterSessionKey": MAIN,
        "ownerKey": MAIN,
        "scopeKind": "session",
        "childSessionKey": f"agent:main:subagent:{number}",
        "agentId": "researcher",
        "task": "find it",
        "status": "running",
        "deliveryStatus": "pending",
        "notifyPolicy": "done_only",
        "createdAt": T0_MS,
        "startedAt": T0_MS + 1_000,
        "lastEventAt": T0_MS + 1_000,
    }
    return made | more


def done(number: int = 1, **more: Any) -> dict[str, Any]:
    over = {
        "status": "succeeded",
        "endedAt": T0_MS + 60_000,
        "lastEventAt": T0_MS + 61_000,
        "terminalSummary": "it",
    }
    return task(number, **{**over, **more})


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = Store.open(tmp_path_factory.mktemp("store"))
    yield store
    store.close()


def judged(engine: Store, at_s: float, *tasks: dict[str, Any]) -> dict[str, Verdict]:
    return judged_at(engine, T0_MS * 1_000_000 + int(at_s * SECOND), {"tasks": list(tasks)})


def judged_at(engine: Store, moment: int, *documents: object) -> dict[str, Verdict]:
    """Read documents one after the other, and judge at a moment."""
    store = engine.with_database(f"openclaw_{next(DATABASES)}")
    migrate(store, retention_days=20000)
    store.commit(
        [export_request(records_from_ledger(each, moment)).SerializeToString() for each in documents], moment
    )
    verdicts = Tick(store, Policy.from_mapping({})).evaluate(moment, moment).verdicts
    store.command(f"DROP DATABASE `{store.database}`")
    store.close()
    return {run: verdict for (_, run), verdict in verdicts.items()}


def recorded(case: str) -> tuple[list[Any], int]:
    """Return a recorded ledger as it was read again and again, and the moment of the last reading."""
    readings = [json.loads(file.read_text()) for file in sorted((CAPTURES / case).glob("ledger-*.json"))]
    return [reading["ledger"] for reading in readings], int(readings[-1]["at"] * SECOND)


@pytest.mark.parametrize(
    ("case", "runs", "outcome", "tools"),
    [
        ("one", 1, "ok", 1),
        ("two", 2, "ok", 1),
        ("error", 1, "error", 0),
        ("timed_out", 1, "timeout", 0),
        ("cancelled", 1, "cancelled", 0),
        ("skip", 1, "ok", 1),
        ("parent", 1, "ok", 1),
        ("forget", 1, "ok", 1),
    ],
)
def test_recorded_runs_that_came_back_or_owe_nothing_are_completed(
    engine: Store, case: str, runs: int, outcome: str, tools: int
) -> None:
    readings, last = recorded(case)
    verdicts = judged_at(engine, last + 7200 * SECOND, *readings).values()
    assert [(v.status, v.outcome, v.tool_calls, v.session) for v in verdicts] == [
        ("completed", outcome, tools, MAIN)
    ] * runs
    assert [s.name for v in verdicts for s in v.signals if s.severity != "info"] == []


def test_a_recorded_child_that_hangs_is_found_at_its_second(engine: Store) -> None:
    readings, _ = recorded("hang")
    (asked,) = (
        task["createdAt"] * 1_000_000 for task in readings[0]["tasks"] if task["runtime"] == "subagent"
    )
    (before,) = judged_at(engine, asked + 899 * SECOND, *readings).values()
    (after,) = judged_at(engine, asked + 900 * SECOND, *readings).values()
    assert (before.status, after.status) == ("active", "suspect_delivery_failure")


def test_a_recorded_result_that_its_owner_could_not_take_is_found(engine: Store) -> None:
    readings, last = recorded("deaf")
    (verdict,) = judged_at(engine, last + 31 * SECOND, *readings).values()
    assert (verdict.status, verdict.failure_class) == ("done_but_not_forwarded", "done_but_not_forwarded")


def test_a_spawn_receipt_alone_is_a_dispatch_and_the_ledger_says_the_rest(engine: Store) -> None:
    receipt = json.loads((CAPTURES / "one" / "receipt.json").read_text())
    readings, last = recorded("one")
    (alone,) = judged_at(engine, last, receipt).values()
    assert (alone.run, alone.status, alone.session, alone.mode) == (
        receipt["runId"],
        "active",
        MAIN,
        "background",
    )
    (both,) = judged_at(engine, last + 7200 * SECOND, receipt, *readings).values()
    assert (both.status, both.outcome) == ("completed", "ok")


def test_what_a_turn_prints_lists_its_spawn_receipts(engine: Store) -> None:
    printed = json.loads((CAPTURES / "two" / "agent.json").read_text())
    _, last = recorded("two")
    verdicts = judged_at(engine, last, printed)
    spawned = {spawn["runId"] for spawn in printed["result"]["acceptedSessionSpawns"]}
    assert set(verdicts) == spawned
    assert {(v.session, v.owner) for v in verdicts.values()} == {(MAIN, "")}


def test_a_receipt_that_expects_no_message_owes_none() -> None:
    receipt = {"status": "accepted", "runId": "r", "childSessionKey": "agent:main:subagent:1", "at": T0_MS}
    channels = [
        records_from_ledger({**receipt, "expectsCompletionMessage": expects})[0].attributes[wire.CHANNEL]
        for expects in (True, False)
    ]
    assert channels == ["notification", "none"]


def test_two_at_once_that_were_delivered_are_completed(engine: Store) -> None:
    tasks = [done(number, deliveryStatus="delivered") for number in (1, 2)]
    assert {run: v.status for run, v in judged(engine, 7200, *tasks).items()} == {
        "r1": "completed",
        "r2": "completed",
    }


@pytest.mark.parametrize(("status", "outcome"), [("failed", "error"), ("timed_out", "timeout")])
def test_a_failure_that_was_announced_is_told(engine: Store, status: str, outcome: str) -> None:
    (verdict,) = judged(
        engine, 7200, done(status=status, deliveryStatus="delivered", terminalSummary=None)
    ).values()
    assert (verdict.status, verdict.outcome) == ("completed", outcome)


def test_one_that_hangs_is_found_at_its_second(engine: Store) -> None:
    (before,) = judged(engine, 899, task()).values()
    (after,) = judged(engine, 900, task()).values()
    assert (before.status, after.status) == ("active", "suspect_delivery_failure")


@pytest.mark.parametrize(
    "told",
    [
        {"deliveryStatus": "pending"},
        {"deliveryStatus": "session_queued"},
        {"deliveryStatus": "failed"},
    ],
)
def test_a_result_that_was_not_handed_over_is_found(engine: Store, told: dict[str, Any]) -> None:
    (verdict,) = judged(engine, 120, done(**told)).values()
    assert verdict.status == "done_but_not_forwarded"


@pytest.mark.parametrize(
    "told",
    [{"deliveryStatus": "parent_missing"}, {"deliveryStatus": "failed", "terminalOutcome": "blocked"}],
)
def test_what_will_never_be_handed_back_is_blocked(engine: Store, told: dict[str, Any]) -> None:
    (verdict,) = judged(engine, 120, done(**told)).values()
    assert verdict.status == "blocked"


def test_what_is_silent_on_purpose_is_no_alarm(engine: Store) -> None:
    (verdict,) = judged(engine, 7200, done(deliveryStatus="not_applicable")).values()
    assert verdict.status == "completed"


def test_a_cancelled_task_is_void_and_a_lost_one_blocked(engine: Store) -> None:
    tasks = [done(1, status="cancelled"), done(2, status="lost")]
    assert {run: v.status for run, v in judged(engine, 7200, *tasks).items()} == {
        "r1": "completed",
        "r2": "blocked",
    }


def test_a_recorded_task_that_its_gateway_lost_is_blocked(engine: Store) -> None:
    """Recorded: the gateway was killed, and what it kept of the run was gone when it came back."""
    readings, last = recorded("lost")
    (verdict,) = judged_at(engine, last + 31 * SECOND, *readings).values()
    assert (verdict.status, verdict.failure_class) == ("blocked", "child_failed_unreported")


def test_a_recorded_result_that_could_not_be_handed_back_is_blocked(engine: Store) -> None:
    """Recorded: half an hour in which the owner took no turn to its end, and the ledger gave up."""
    readings, last = recorded("blocked")
    (verdict,) = judged_at(engine, last + 31 * SECOND, *readings).values()
    assert (verdict.status, verdict.failure_class) == ("blocked", "done_but_not_forwarded")


def test_who_cancelled_a_task_is_told_where_the_ledger_says_so() -> None:
    readings, _ = recorded("cancelled")
    by_operator = [r for r in records_from_ledger(readings[-1]) if r.event == "kill"]
    by_owner = [r for r in records_from_ledger([done(status="cancelled")]) if r.event == "kill"]
    assert [r.attributes[wire.KILL_ACTOR] for r in (*by_operator, *by_owner)] == ["user", "owner"]


def test_a_note_of_progress_counts_and_a_queue_waits(engine: Store) -> None:
    working = task(1, lastEventAt=T0_MS + 800_000, progressSummary="half way")
    queued = task(2, status="queued", startedAt=None)
    verdicts = judged(engine, 901, working, queued)
    assert verdicts["r1"].leaning == "slow"
    assert "zero_progress" not in {signal.name for signal in verdicts["r1"].signals}
    assert "queue_wait" in {signal.name for signal in verdicts["r2"].signals}


def test_a_nested_task_belongs_to_the_session_of_the_outermost(engine: Store) -> None:
    nested = task(2, requesterSessionKey="agent:main:subagent:1")
    verdicts = judged(engine, 10, task(1), nested)
    assert {v.session for v in verdicts.values()} == {MAIN}
    assert verdicts["r2"].owner == "agent:main:subagent:1"


def test_tasks_of_the_shell_and_the_clock_are_nobodys() -> None:
    assert records_from_ledger([task(runtime="cron"), task(runtime="cli")]) == []


@settings(max_examples=50, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(sorted(task())), inner, max_size=8)
        ),
        max_leaves=20,
    )
)
def test_no_ledger_raises(document: object) -> None:
    export_request(records_from_ledger(document))
    export_request(records_from_ledger([document]))
