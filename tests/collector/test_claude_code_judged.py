"""Recorded sessions of Claude Code, through the real store and judge, come out as what happened in them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from random import Random

import pytest

from headcount_collector.evidence import TranscriptFolder, export_request, records_from_hook
from headcount_collector.evidence.claude_code_transcript import records_from_transcript
from headcount_collector.judge.policy import Policy
from headcount_collector.judge.verdict import Verdict
from headcount_collector.receive.otlp_json import request_from_json
from headcount_collector.store.client import Store
from headcount_collector.store.migrate import migrate
from headcount_collector.watch.tick import Tick

from .transcripts import lay_out

CAPTURES = Path(__file__).parents[1] / "captures" / "claude-code"
SECOND = 1_000_000_000
ENDLESS_DAYS = 100 * 365
DATABASES = count(1)

Calls = list[tuple[int, dict[str, object]]]


def calls(case: str) -> Calls:
    """The hook calls with the moments at which they were received when they were recorded."""
    lines = map(json.loads, (CAPTURES / case / "hooks.jsonl").read_text().splitlines())
    return [(line["received_unix_nano"], line["body"]) for line in lines]


class Judged:
    """A collector without its HTTP edge: evidence in, verdicts by run out."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.tick = Tick(store, Policy.from_mapping({}))
        self.read_until = 0

    def take(self, told: Calls) -> None:
        requests = [export_request(records_from_hook(body, received_ns)) for received_ns, body in told]
        self.commit([request.SerializeToString() for request in requests], told[-1][0])

    def commit(self, bodies: Sequence[bytes], received_ns: int) -> None:
        self.read_until = max(self.read_until + 1, received_ns)
        self.store.commit(bodies, self.read_until)

    def at(self, moment: int) -> dict[str, Verdict]:
        return {run: v for (_, run), v in self.tick.evaluate(moment, self.read_until).verdicts.items()}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = Store.open(tmp_path_factory.mktemp("store"))
    yield store
    store.close()


@pytest.fixture
def judged(engine: Store) -> Iterator[Judged]:
    store = engine.with_database(f"judged_{next(DATABASES)}")
    migrate(store, retention_days=ENDLESS_DAYS)
    yield Judged(store)
    store.command(f"DROP DATABASE `{store.database}`")
    store.close()


@pytest.mark.parametrize(
    ("case", "runs", "mode", "outcome", "tools"),
    [
        ("plain", 1, "foreground", "ok", 2),
        ("background", 1, "background", "ok", 2),
        ("parallel", 2, "foreground", "ok", 2),
        ("background-two", 2, "background", "ok", 1),
        ("child-error", 1, "foreground", "error", 0),
    ],
)
def test_a_session_in_which_every_result_came_back_ends_completed(
    judged: Judged, case: str, runs: int, mode: str, outcome: str, tools: int
) -> None:
    told = calls(case)
    judged.take(told)
    end = told[-1][0]
    for moment in (end, end + 3600 * SECOND):
        verdicts = judged.at(moment)
        judged.read_until += 1
        for verdict in verdicts.values():
            assert (verdict.status, verdict.failure_class) == ("completed", None)
            assert (verdict.mode, verdict.outcome, verdict.tool_calls) == (mode, outcome, tools)
            assert len(verdict.names) == 2
        if moment == end:
            assert len(verdicts) == runs


def test_the_mute_teammate_is_found_thirty_seconds_after_its_end(judged: Judged) -> None:
    told = calls("teammate-mute")
    (ended,) = [at for at, body in told if body["hook_event_name"] == "SubagentStop"]
    mute = "toolu_9106fea11ef1427aa9b2"
    judged.take([(at, body) for at, body in told if at < ended + 30 * SECOND])
    assert judged.at(ended + 30 * SECOND - 1)[mute].status == "active"
    found = judged.at(ended + 30 * SECOND)[mute]
    assert (found.status, found.failure_class) == ("done_but_not_forwarded", "done_but_not_forwarded")
    assert found.mode == "teammate"
    assert "afinder-0b72ac5d84b2e0c5" in found.names


def test_the_interrupted_call_in_the_mute_teammates_recording_was_cancelled_by_its_user(
    judged: Judged,
) -> None:
    told = calls("teammate-mute")
    judged.take(told)
    verdict = judged.at(told[-1][0])["toolu_71a611046a144bb9b96f"]
    assert (verdict.status, verdict.outcome) == ("completed", "cancelled")


@pytest.mark.parametrize("told_by", ["hooks", "hooks and notes", "transcripts", "all"])
def test_an_agent_that_is_asked_again_works_in_a_run_of_its_own(
    judged: Judged, tmp_path: Path, told_by: str
) -> None:
    """Recorded: an agent's answer, a message that wakes it, a second answer that a notice brings."""
    main = lay_out("resume", tmp_path)
    told = [
        (at, {**body, "transcript_path": str(main)} if "transcript_path" in body else body)
        for at, body in calls("resume")
    ]
    disk = TranscriptFolder() if told_by in ("hooks and notes", "all") else None
    records = [record for at, body in told for record in records_from_hook(body, at, disk=disk)]
    if told_by == "transcripts":
        records = []
    if told_by in ("transcripts", "all"):
        records += records_from_transcript(main)
    judged.commit([export_request([record]).SerializeToString() for record in records], told[-1][0])
    verdicts = judged.at(told[-1][0] + 3600 * SECOND)
    first, second = "toolu_3d62097c10494971a49b", "toolu_83cd5bf1766f4ad2abb5"
    assert {run: (v.status, v.mode) for run, v in verdicts.items() if v.dispatched} == {
        first: ("completed", "foreground"),
        second: ("completed", "background"),
    }
    # Hooks alone name the agent, which both runs claim: the time of a call says whose it is.
    assert (verdicts[first].tool_calls, verdicts[second].tool_calls) == (1, 0)
    assert [s.name for v in verdicts.values() for s in v.signals if s.severity != "info"] == []


@pytest.mark.parametrize("case", ["plain", "background"])
def test_the_harnesss_own_spans_enrich_a_run_and_double_nothing(judged: Judged, case: str) -> None:
    told = calls(case)
    judged.take(told)
    (before,) = judged.at(told[-1][0]).values()
    for path in sorted((CAPTURES / case).glob("otlp-*-traces.json")):
        judged.commit([request_from_json(path.read_bytes()).SerializeToString()], told[-1][0] + SECOND)
    (after,) = judged.at(told[-1][0] + 2 * SECOND).values()
    assert (after.status, after.tool_calls, after.names) == (before.status, before.tool_calls, before.names)
    assert (before.output_tokens, after.output_tokens) == (0, 126)


@pytest.mark.parametrize("seed", range(3))
def test_order_of_arrival_and_doubled_hooks_change_no_verdict(judged: Judged, seed: int) -> None:
    told = [call for case in ("background-two", "parallel") for call in calls(case)]
    bodies = [
        export_request(records).SerializeToString()
        for at, body in told
        if (records := records_from_hook(body, at))
    ]
    bodies += bodies[::3]
    Random(seed).shuffle(bodies)
    latest = max(at for at, _ in told)
    judged.commit(bodies[: len(bodies) // 2], latest)
    judged.commit(bodies[len(bodies) // 2 :], latest)
    verdicts = judged.at(latest + SECOND)
    assert {run: (v.status, v.tool_calls, len(v.names)) for run, v in verdicts.items()} == {
        "toolu_5813ed84c2b84049a49d": ("completed", 1, 2),
        "toolu_1ef9930580c04f76ab57": ("completed", 1, 2),
        "toolu_a03ee81bfcdb489185f0": ("completed", 2, 2),
        "toolu_e5097fc86a114c929115": ("completed", 2, 2),
    }


def without(told: Calls, event: str, tool: str | None = None) -> Calls:
    return [
        (at, body)
        for at, body in told
        if body["hook_event_name"] != event or (tool is not None and body.get("tool_name") != tool)
    ]


@pytest.mark.parametrize(
    "lost", ["PreToolUse", "PostToolUse", "PostToolBatch", "SubagentStart", "SubagentStop"]
)
@pytest.mark.parametrize("case", ["plain", "background"])
def test_one_lost_kind_of_hook_neither_hides_a_run_nor_alarms(judged: Judged, case: str, lost: str) -> None:
    told = without(calls(case), lost, "Agent" if lost in ("PreToolUse", "PostToolUse") else None)
    judged.take(told)
    verdicts = judged.at(told[-1][0] + SECOND)
    dispatched = [verdict for verdict in verdicts.values() if verdict.dispatched]
    assert [verdict.status for verdict in dispatched] == ["completed"]


def test_a_lost_notification_is_found(judged: Judged) -> None:
    told = [call for call in calls("background") if "<task-notification>" not in str(call[1].get("prompt"))]
    told = without(told, "SessionEnd")
    judged.take(told)
    (ended,) = [at for at, body in told if body["hook_event_name"] == "SubagentStop"]
    (verdict,) = judged.at(ended + 30 * SECOND).values()
    assert verdict.status == "done_but_not_forwarded"
    assert verdict.result_location is not None


def test_a_result_waits_for_an_owner_that_is_still_busy(judged: Judged) -> None:
    told = [call for call in calls("background") if "<task-notification>" not in str(call[1].get("prompt"))]
    told = without(without(told, "SessionEnd"), "Stop")
    judged.take(told)
    (verdict,) = judged.at(told[-1][0] + 120 * SECOND).values()
    assert verdict.status == "active"
