"""Replay files are read strictly, and every complaint names file, line and the way out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount_collector.evidence import (
    Arrival,
    Control,
    Expectation,
    HookBody,
    OtlpBody,
    Record,
    ReplayFile,
    ReplayFileError,
    export_request,
    parse_replay,
    read_replay_file,
    wire,
)
from headcount_collector.evidence.digest import normalised_digest
from headcount_collector.evidence.moment import moment_ns, moment_text
from headcount_collector.evidence.short_form import KEYS

CASES = sorted((Path(__file__).parents[1] / "cases").glob("*.jsonl"))
HEADER = '{"replay": 1, "t0": "2026-11-30T12:00:00Z", "title": "t", "tick_s": 1, "until_s": 60}'
T0 = moment_ns("2026-11-30T12:00:00Z")


def read(*lines: object, capture_content: bool = False) -> ReplayFile:
    text = [HEADER, *(line if isinstance(line, str) else json.dumps(line) for line in lines)]
    return parse_replay(text, "f.jsonl", capture_content=capture_content)


def record(line: dict[str, object], *, capture_content: bool = False) -> Record:
    (item,) = read(line, capture_content=capture_content).items
    assert isinstance(item, Arrival)
    assert isinstance(item.evidence, Record)
    return item.evidence


def complaint(*lines: object) -> str:
    with pytest.raises(ReplayFileError) as caught:
        read(*lines)
    return str(caught.value)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_every_case_is_read_whole(path: Path) -> None:
    file = read_replay_file(path)
    lines = path.read_text().splitlines()
    assert len(file.items) == len(lines) - 1
    for item in file.items:
        given_line = json.loads(lines[item.line - 1])
        assert item.at_ns - file.header.t0_ns == pytest.approx(given_line["at"] * 1e9)
        kind = {"event": Arrival, "otlp": Arrival, "hook": Arrival, "expect": Expectation}.get(
            next((k for k in ("event", "otlp", "hook", "expect") if k in given_line), ""), Control
        )
        assert isinstance(item, kind)
    assert export_request(
        item.evidence
        for item in file.items
        if isinstance(item, Arrival) and isinstance(item.evidence, Record)
    )


def test_there_are_cases() -> None:
    assert len(CASES) >= 68


def test_the_header_is_read_in_nanoseconds() -> None:
    text = '{"replay": 1, "t0": "2026-11-30T13:00:00.5+01:00", "tick_s": 0.5, "until_s": 90, "policy": {"idle": "9m"}}'
    header = parse_replay([text], "f").header
    assert header.t0_ns == T0 + 500_000_000
    assert (header.tick_ns, header.until_ns) == (500_000_000, header.t0_ns + 90_000_000_000)
    assert header.policy == {"idle": "9m"}


def test_a_dispatch_maps_every_key_to_its_attribute() -> None:
    found = record(
        {
            "at": 4.2,
            "time": -1.5,
            "event": "dispatch",
            "run": "r1",
            "session": "s1",
            "alias": ["x"],
            "attended": True,
            "owner": "lead",
            "parent": "p",
            "child": "c",
            "agent": "reviewer",
            "mode": "background",
            "description": "Find IT",
            "prompt": "Look  everywhere",
            "replica": "1/3",
            "supersedes": ["r0"],
            "expected_s": 900.000000001,
            "max_runtime_s": 1.5,
            "channel": "message",
            "can_send": False,
            "model": "m",
            "producer": "h",
            "seq": 3,
            "keepalive_s": 30,
            "export_interval_s": 5,
        }
    )
    assert (found.event, found.run, found.session) == ("dispatch", "r1", "s1")
    assert found.at_ns == T0 - 1_500_000_000
    assert dict(found.attributes) == {
        "subagent.run.alias": ("x",),
        "subagent.session.attended": True,
        "subagent.owner.id": "lead",
        "subagent.parent.run.id": "p",
        "subagent.child_session.key": "c",
        "gen_ai.agent.name": "reviewer",
        "subagent.mode": "background",
        "subagent.description.digest": normalised_digest("find it"),
        "subagent.prompt.digest": normalised_digest("look everywhere"),
        "subagent.replica": "1/3",
        "subagent.supersedes": ("r0",),
        "subagent.expected_by": "2026-11-30T12:14:58.500000001Z",
        "subagent.max_runtime_ms": 1500,
        "subagent.return.channel": "message",
        "subagent.return.can_send": False,
        "gen_ai.request.model": "m",
        "subagent.producer.id": "h",
        "subagent.producer.seq": 3,
        "subagent.producer.keepalive_ms": 30_000,
        "subagent.producer.export_interval_ms": 5_000,
    }


RUN: dict[str, object] = {"at": 1, "run": "r1", "session": "s1"}


@pytest.mark.parametrize(
    ("line", "attributes"),
    [
        ({"event": "launch", "state": "queued", "cap": 4}, {wire.LAUNCH_STATE: "queued", wire.LAUNCH_CAP: 4}),
        ({"event": "start", "attempt": 2}, {wire.ATTEMPT: 2}),
        (
            {
                "event": "model_request",
                "phase": "pending",
                "stream": True,
                "trigger": "nudge",
                "turn": "t1",
                "resolved_model": "m2",
            },
            {wire.STREAM: True, wire.TRIGGER: "nudge", wire.TURN: "t1", wire.RESPONSE_MODEL: "m2"},
        ),
        (
            {"event": "tool_call", "phase": "ended", "tool": "Bash", "call": "c1", "error": "Exit 1"},
            {
                wire.TOOL: "Bash",
                wire.CALL: "c1",
                wire.ERROR: "Exit 1",
                wire.ERROR_DIGEST: normalised_digest("exit 1"),
            },
        ),
        ({"event": "output", "tokens": 12}, {wire.OUTPUT_TOKENS: 12}),
        (
            {"event": "wait", "phase": "pending", "wait": "w", "reason": "child", "waker": "r2"},
            {wire.WAIT_ID: "w", wire.WAIT_REASON: "child", wire.WAIT_WAKER: "r2"},
        ),
        (
            {"event": "idle", "has_summary": False, "turn_ended": True},
            {wire.HAS_SUMMARY: False, wire.TURN_ENDED: True},
        ),
        ({"event": "nudge", "from": "owner"}, {wire.MESSAGE_FROM: "owner"}),
        (
            {
                "event": "child_done",
                "outcome": "ok",
                "size": 3,
                "digest": "d",
                "form": "raw",
                "location": "file:///x",
                "partial": False,
            },
            {
                wire.OUTCOME: "ok",
                wire.RESULT_SIZE: 3,
                wire.RESULT_DIGEST: "d",
                wire.RESULT_FORM: "raw",
                wire.RESULT_LOCATION: "file:///x",
                wire.RESULT_PARTIAL: False,
            },
        ),
        (
            {"event": "completion_received", "source": "polled", "receiver": "", "receiver_session": "s2"},
            {wire.RESULT_SOURCE: "polled", wire.RECEIVER: "", wire.RECEIVER_SESSION: "s2"},
        ),
        (
            {"event": "completion_forwarded", "forwarded": False, "final": True, "error": "closed"},
            {wire.FORWARDED: False, wire.FORWARD_FINAL: True, wire.ERROR: "closed"},
        ),
        (
            {"event": "kill", "actor": "harness", "rule": "idle", "limit_s": 600},
            {wire.KILL_ACTOR: "harness", wire.KILL_RULE: "idle", wire.KILL_LIMIT_MS: 600_000},
        ),
        (
            {"event": "dismiss", "reason": "done by hand", "handed_to": "x"},
            {wire.DISMISS_REASON: "done by hand", wire.HANDED_TO: "x"},
        ),
        ({"event": "heartbeat", "owner": "", "parent": None, "agent": None}, {}),
    ],
)
def test_the_keys_of_each_event_map_to_their_attributes(
    line: dict[str, object], attributes: dict[str, object]
) -> None:
    assert dict(record(RUN | line).attributes) == attributes


def test_events_of_an_owner_name_no_run() -> None:
    final = record({"at": 1, "event": "owner_final", "session": "s1", "owed": ["r1"], "final": True})
    assert final.run is None
    assert dict(final.attributes) == {wire.OWED: ("r1",), wire.FINAL: True}
    gone = record({"at": 1, "event": "owner_gone", "session": "s1", "reason": "crash"})
    assert dict(gone.attributes) == {wire.GONE_REASON: "crash"}
    assert "'owner_final' concerns an owner" in complaint({"event": "owner_final", **RUN})


def test_a_dismissal_by_matchers_needs_one() -> None:
    found = record({"at": 1, "event": "dismiss", "agent": "x", "class": "owner_gone"})
    assert (found.run, dict(found.attributes)) == (
        None,
        {wire.AGENT: "x", wire.DISMISS_CLASS: "owner_gone"},
    )
    assert "needs 'run' or a matcher" in complaint({"at": 1, "event": "dismiss", "reason": "all"})


def test_a_child_that_is_gone_may_be_named_alone() -> None:
    assert record({"at": 1, "event": "child_gone", "session": "s1", "child": "c"}).run is None
    assert "'child_gone' needs the key 'child'" in complaint(
        {"at": 1, "event": "child_gone", "session": "s1"}
    )


def test_an_ended_span_reaches_back_by_its_length() -> None:
    found = record(RUN | {"event": "tool_call", "phase": "ended", "tool": "x", "dur_s": 0.25})
    assert (found.at_ns, found.start_ns) == (T0 + 1_000_000_000, T0 + 750_000_000)


def test_a_moment_named_in_the_file_wins_over_a_duration() -> None:
    line = RUN | {"event": "dispatch", "expected_s": 5, "expected_by": "2026-11-30T12:10:00Z"}
    assert record(line).attributes[wire.EXPECTED_BY] == "2026-11-30T12:10:00Z"


def test_a_description_travels_only_with_content_capture() -> None:
    line = RUN | {"event": "dispatch", "description": "d" * 300, "prompt": "secret"}
    assert wire.DESCRIPTION not in record(line).attributes
    captured = record(line, capture_content=True).attributes
    assert captured[wire.DESCRIPTION] == "d" * 200
    assert "secret" not in captured.values()


def test_doubled_lines_are_one_event_and_equal_events_at_two_times_are_two() -> None:
    line = RUN | {"event": "heartbeat"}
    spans = {
        span.span_id
        for late in (line, line, line | {"at": 2, "time": 1}, line | {"at": 2})
        for rs in export_request([record(late)]).resource_spans
        for scope in rs.scope_spans
        for span in scope.spans
    }
    assert len(spans) == 2


def test_bodies_of_otlp_and_hooks_are_kept_as_they_stand() -> None:
    file = read(
        {"at": 1, "otlp": {"resourceSpans": []}}, {"at": 2, "hook": "claude-code", "body": {"a": 0.1}}
    )
    assert [item.evidence for item in file.items if isinstance(item, Arrival)] == [
        OtlpBody({"resourceSpans": []}),
        HookBody("claude-code", {"a": 0.1}),
    ]


def test_controls_are_read() -> None:
    file = read(
        {"at": 60, "collector": "down"},
        {"at": 90, "collector": "up"},
        {"at": 100, "sleep_s": 500},
        {"at": 950, "ack": {"session": "s1", "by": "anna"}},
        {"at": 950, "silence": {"agent": "reviewer", "class": "owner_gone", "for_s": 3600}},
    )
    assert [(item.kind, dict(item.body)) for item in file.items if isinstance(item, Control)] == [
        ("collector", {"state": "down"}),
        ("collector", {"state": "up"}),
        ("sleep", {"length_ns": 500_000_000_000}),
        ("ack", {"owner": "", "session": "s1", "by": "anna"}),
        ("silence", {"agent": "reviewer", "class": "owner_gone", "length_ns": 3_600_000_000_000}),
    ]


def test_expectations_are_read() -> None:
    file = read(
        {"at": 1, "expect": {"run": "r1", "status": "active", "class": None, "signals": ["not_started"]}},
        {"at": 1, "expect": {"group": {"session": "s1", "owner": None, "remaining": 2}}},
        {"at": 1, "expect": {"incident": {"owner": "fleet", "state": "open", "runs": ["r1"]}}},
        {"at": 1, "expect": {"observer": "degraded"}},
    )
    assert [(item.kind, dict(item.body)) for item in file.items if isinstance(item, Expectation)] == [
        ("run", {"run": "r1", "status": "active", "class": None, "signals": ("not_started",)}),
        ("group", {"owner": "", "session": "s1", "remaining": 2}),
        ("incident", {"owner": "fleet", "state": "open", "runs": ("r1",)}),
        ("observer", {"state": "degraded"}),
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "is not JSON"),
        ("[1]", "must be a JSON object"),
        ('{"at": 1, "at": 2, "sleep_s": 1}', "'at' stands twice"),
        ({"event": "heartbeat"}, "'at' is missing"),
        ({"at": 1}, "says nothing that is known"),
        ({"at": 1, "sleep_s": 1, "collector": "up"}, "make it two lines"),
        ({"at": -1, "sleep_s": 1}, "from 0"),
        ({"at": True, "sleep_s": 1}, "must be a number of seconds"),
        ({"at": 1e12, "sleep_s": 1}, "within 30 years"),
        ('{"at": NaN, "sleep_s": 1}', "within 30 years"),
        (RUN | {"event": "dispatched"}, "must be one of abort"),
        (RUN | {"event": "heartbeat", "colour": "red"}, "unknown key 'colour'"),
        ({"at": 1, "event": "heartbeat", "run": "r1"}, "needs the key 'session'"),
        ({"at": 1, "event": "heartbeat", "session": "s1"}, "needs the key 'run'"),
        (RUN | {"event": "heartbeat", "run": ""}, "'run' is empty"),
        (RUN | {"event": "launch"}, "needs the key 'state'"),
        (RUN | {"event": "tool_call", "tool": "x"}, "needs the key 'phase'"),
        (RUN | {"event": "wait", "phase": None, "reason": "child"}, "needs the key 'phase'"),
        ({"at": 1, "event": "owner_turn", "session": "s1"}, "needs the key 'phase'"),
        (RUN | {"event": "child_done"}, "needs the key 'outcome'"),
        (RUN | {"event": "completion_forwarded"}, "needs the key 'forwarded'"),
        (RUN | {"event": "wait", "phase": "open"}, "must be one of ended, pending"),
        (RUN | {"event": "wait", "phase": "pending", "dur_s": 1}, "leave it out"),
        (RUN | {"event": "dispatch", "mode": "backgruond"}, "must be one of background"),
        (RUN | {"event": "dispatch", "alias": "x"}, "must be a list of strings"),
        (RUN | {"event": "dispatch", "can_send": "no"}, "must be true or false"),
        (RUN | {"event": "dispatch", "expected_by": "12:00"}, "with a zone"),
        (RUN | {"event": "output", "tokens": -1}, "whole number from 0"),
        (RUN | {"event": "output", "tokens": 2**63}, "whole number from 0"),
        (RUN | {"event": "start", "attempt": 0}, "whole number from 1"),
        (RUN | {"event": "output", "reason": "x"}, "'reason' means nothing"),
        (RUN | {"event": "output", "final": True}, "'final' means nothing"),
        ({"at": 1, "hook": "other", "body": {}}, "must be one of claude-code"),
        ({"at": 1, "hook": "claude-code"}, "needs the key 'body'"),
        ({"at": 1, "silence": {"for_s": 1}}, "give it a matcher"),
        ({"at": 1, "silence": {"agent": "x"}}, "'for_s'"),
        ({"at": 1, "silence": {"agnet": "x", "for_s": 1}}, "unknown key 'agnet'"),
        ({"at": 1, "expect": {"status": "active"}}, "needs 'run', 'group'"),
        ({"at": 1, "expect": {"run": "r1", "status": "fine"}}, "must be one of active"),
        ({"at": 1, "expect": {"run": "r1", "signals": ["zero"]}}, "must be one of activity"),
        ({"at": 1, "expect": {"group": {"owner": ""}}}, "needs the key 'session'"),
        ({"at": 1, "expect": {"incident": {"owner": ""}}}, "needs the key 'state'"),
        ({"at": 1, "expect": {"run": "r1"}, "note": "x"}, "unknown key 'note'"),
        ({"at": 1, "collector": "up"}, "the collector is up already"),
    ],
)
def test_what_is_wrong_is_refused_with_file_line_and_way_out(line: object, said: str) -> None:
    message = complaint({"at": 0, "sleep_s": 1}, line)
    assert message.startswith("f.jsonl:3: ")
    assert said in message


def test_time_of_arrival_never_goes_back() -> None:
    message = complaint({"at": 5, "sleep_s": 1}, {"at": 4.999, "sleep_s": 1})
    assert message.startswith("f.jsonl:3: 'at' is 4.999, earlier than the line before; sort")


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("", "is empty"),
        ('{"at": 0, "sleep_s": 1}', "must be the header"),
        ('{"replay": 2, "t0": "2026-11-30T12:00:00Z", "tick_s": 1, "until_s": 1}', "reads version 1"),
        ('{"replay": 1, "t0": "2026-11-30T12:00:00Z", "tick_s": 1}', "needs the key 'until_s'"),
        ('{"replay": 1, "t0": "2026-11-30 noon", "tick_s": 1, "until_s": 1}', "RFC 3339"),
        ('{"replay": 1, "t0": "2026-13-30T12:00:00Z", "tick_s": 1, "until_s": 1}', "'t0'"),
        ('{"replay": 1, "t0": "9999-11-30T12:00:00Z", "tick_s": 1, "until_s": 1}', "from 1971 to 2199"),
        ('{"replay": 1, "t0": "2026-11-30T12:00:00Z", "tick_s": 0, "until_s": 1}', "a tick has a length"),
        ('{"replay": 1, "t0": "2026-11-30T12:00:00Z", "tick": 1, "until_s": 1}', "unknown key 'tick'"),
    ],
)
def test_a_wrong_header_is_refused(header: str, said: str) -> None:
    with pytest.raises(ReplayFileError, match=r"^f:1: ") as caught:
        parse_replay([header], "f")
    assert said in caught.value.reason


def test_a_file_that_is_no_utf8_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    path.write_bytes(HEADER.encode() + b'\n{"at": 1, "x": "\xff"}\n')
    with pytest.raises(ReplayFileError, match=r"f\.jsonl:2: is not UTF-8"):
        read_replay_file(path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
lines = st.dictionaries(st.sampled_from([*sorted(KEYS), "expect", "otlp", "hook", "body"]), json_values)


@given(st.lists(lines | st.text(max_size=20), max_size=3))
def test_any_line_is_read_or_refused_with_our_error(found: list[object]) -> None:
    try:
        file = read(*found)
    except ReplayFileError:
        return
    export_request(
        item.evidence
        for item in file.items
        if isinstance(item, Arrival) and isinstance(item.evidence, Record)
    )


@given(st.integers(0, 2**62))
def test_a_moment_survives_its_text(at_ns: int) -> None:
    assert moment_ns(moment_text(at_ns)) == at_ns


def test_a_collector_that_is_down_goes_down_no_further() -> None:
    message = complaint({"at": 0, "collector": "down"}, {"at": 1, "collector": "down"})
    assert message == "f.jsonl:3: the collector is down already, since line 2"
