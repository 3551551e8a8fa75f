"""Recorded hook calls of a real Claude Code become the records of what happened in that session."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount_collector.evidence import HOOK_EVENTS, Record, export_request, records_from_hook, wire
from headcount_collector.evidence.digest import normalised_digest

CAPTURES = Path(__file__).parents[1] / "captures" / "claude-code"
CASES = sorted(path.name for path in CAPTURES.iterdir())
T0 = 1_796_040_000_000_000_000
RESULT = "CHILD RESULT: the answer is 42."
RESULT_DIGEST = sha256(RESULT.encode()).hexdigest()

Body = dict[str, object]


def hooks(case: str) -> Iterator[tuple[int, Body]]:
    last = 0
    for line in (CAPTURES / case / "hooks.jsonl").read_text().splitlines():
        call = json.loads(line)
        last = max(last + 1, T0 + round(call["at"] * 1e9))
        yield last, call["body"]


@cache
def story(case: str) -> tuple[Record, ...]:
    return tuple(record for at_ns, body in hooks(case) for record in records_from_hook(body, at_ns))


def of(case: str, *runs: str | None) -> list[Record]:
    return [record for record in story(case) if record.run in runs]


def names(records: Sequence[Record]) -> list[str]:
    return [f"{r.event}.{r.phase}" if r.phase else r.event for r in records]


def only(records: Sequence[Record], event: str) -> Record:
    (found,) = [record for record in records if record.event == event]
    return found


def bodies(case: str, event: str) -> list[Body]:
    return [body for _, body in hooks(case) if body["hook_event_name"] == event]


@pytest.mark.parametrize("case", CASES)
def test_a_recording_is_translated_without_losing_or_doubling_an_event(case: str) -> None:
    records = story(case)
    spans = [s for rs in export_request(records).resource_spans for sc in rs.scope_spans for s in sc.spans]
    assert len({span.span_id for span in spans}) == len(records)
    assert {record.service for record in records} == {"claude-code"}
    for record in records:
        assert record.attributes[wire.PRODUCER] in (
            f"claude-code:{record.session}",
            f"claude-code:{record.session}/finder",
        )
        assert (record.run is None) == (record.event in wire.OWNER_EVENTS)


@pytest.mark.parametrize("case", CASES)
def test_no_prompt_result_or_tool_input_leaves_the_translation(case: str) -> None:
    wire_bytes = export_request(story(case)).SerializeToString()
    for secret in (b"CHILDTASK", b"CHILDPROMPT", b"CHILD RESULT", b"echo", b"say hello", b"find answer",
                   b"PARENT FINAL", b"DISPATCH", b"API Error", b"Request interrupted"):  # fmt: skip
        assert secret not in wire_bytes


def test_a_description_travels_with_content_capture_and_nothing_else_does() -> None:
    (body,) = bodies("plain", "PreToolUse")[:1]
    (record,) = records_from_hook(body, T0, capture_content=True)
    assert record.attributes[wire.DESCRIPTION] == "find answer"
    assert b"CHILDPROMPT" not in export_request([record]).SerializeToString()


def test_plain_a_foreground_run_is_dispatched_answered_handed_over_and_consumed() -> None:
    run, agent = "toolu_3c3f2566c34946268e05", "a4e9b8ee9009aabb6"
    owner_side = of("plain", run)
    assert names(owner_side) == [
        "dispatch",
        "dispatch",
        "completion_received",
        "completion_forwarded",
        "completion_consumed",
        "completion_consumed",
    ]
    first, second = owner_side[:2]
    assert first.at_ns < second.at_ns < owner_side[2].at_ns
    assert first.attributes[wire.AGENT] == "general-purpose"
    assert first.attributes[wire.MODE] == second.attributes[wire.MODE] == "foreground"
    assert first.attributes[wire.PROMPT_DIGEST] == normalised_digest("childprompt find the answer")
    assert first.attributes[wire.DESCRIPTION_DIGEST] == normalised_digest("find answer")
    received = only(owner_side, "completion_received")
    assert received.attributes[wire.ALIAS] == (agent,)
    assert received.attributes[wire.RESULT_SOURCE] == "tool_result"
    assert received.attributes[wire.OUTCOME] == "ok"
    child_side = of("plain", agent)
    assert names(child_side) == [
        "start",
        *["tool_call.pending", "tool_call.ended", "heartbeat"] * 2,
        "child_done",
    ]
    done = child_side[-1]
    assert str(done.attributes[wire.RESULT_LOCATION]).endswith(f"/subagents/agent-{agent}.jsonl")
    for told in (done, received):
        assert told.attributes[wire.RESULT_SIZE] == len(RESULT)
        assert told.attributes[wire.RESULT_DIGEST] == RESULT_DIGEST
    assert [r.attributes[wire.CALL] for r in child_side if r.event == "tool_call"] == [
        call for call in ("toolu_68636c3228ca4e939db8", "toolu_d69cb4d9c4e9422ca5e1") for _ in (1, 2)
    ]
    ended = [r for r in child_side if r.phase == wire.ENDED]
    assert [r.at_ns - (r.start_ns or 0) for r in ended] == [47_000_000, 10_000_000]


def test_plain_the_root_owner_has_one_turn_a_final_and_an_end() -> None:
    root = [r for r in of("plain", None) if wire.OWNER not in r.attributes]
    assert names(root) == [
        "owner_turn.pending",
        "owner_turn.ended",
        "owner_final",
        "owner_turn.ended",
        "owner_gone",
    ]
    assert root[2].attributes[wire.OWED] == ()
    assert root[4].attributes[wire.GONE_REASON] == "other"


def test_background_a_launch_is_no_delivery_and_the_notification_is() -> None:
    run, agent = "toolu_aa813ef3b5ab4207a870", "a1dfb2fc8fe7663fa"
    told = of("background", run)
    assert names(told) == [
        "dispatch",
        "dispatch",
        "launch",
        "completion_received",
        "completion_forwarded",
        "completion_consumed",
    ]
    launch = only(told, "launch")
    assert launch.attributes[wire.LAUNCH_STATE] == "registered"
    assert launch.attributes[wire.MODE] == "background"
    assert launch.attributes[wire.ALIAS] == (agent,)
    received, done = only(told, "completion_received"), only(of("background", agent), "child_done")
    assert received.at_ns > done.at_ns
    assert received.attributes[wire.RESULT_SOURCE] == "notification"
    assert received.attributes[wire.RECEIVER] == ""
    assert received.attributes[wire.RESULT_DIGEST] == done.attributes[wire.RESULT_DIGEST] == RESULT_DIGEST


def test_background_the_first_final_lists_the_child_as_owed_and_the_second_lists_nothing() -> None:
    finals = [r for r in story("background") if r.event == "owner_final"]
    assert [r.attributes[wire.OWED] for r in finals] == [("a1dfb2fc8fe7663fa",), ()]


def test_parallel_two_alike_children_stay_two_runs_and_each_is_joined_to_its_own_call() -> None:
    joins = {
        "toolu_a03ee81bfcdb489185f0": "a722cca8724ff2712",
        "toolu_e5097fc86a114c929115": "a5d6d2c3661386b08",
    }
    for run, agent in joins.items():
        told = of("parallel", run)
        assert names(told).count("completion_received") == names(told).count("completion_forwarded") == 1
        assert only(told, "completion_received").attributes[wire.ALIAS] == (agent,)
        child = of("parallel", agent)
        assert names(child).count("tool_call.ended") == 2
        assert only(child, "child_done").at_ns < only(told, "completion_received").at_ns
    assert {r.run for r in story("parallel")} == {None, *joins, *joins.values()}


def test_background_two_each_notification_reaches_its_own_run() -> None:
    joins = {
        "toolu_5813ed84c2b84049a49d": "a4be19e6b2986be69",
        "toolu_1ef9930580c04f76ab57": "a3e56563eed5a519e",
    }
    for run, agent in joins.items():
        told = of("background-two", run)
        assert only(told, "launch").attributes[wire.ALIAS] == (agent,)
        assert only(told, "completion_received").attributes[wire.ALIAS] == (agent,)
        assert only(told, "completion_forwarded").attributes[wire.FORWARDED] is True
        assert names(of("background-two", agent)).count("child_done") == 1
    digests = {only(of("background-two", run), "launch").session for run in joins}
    assert len(digests) == 1


def test_background_two_the_owner_stays_owed_what_has_not_come() -> None:
    finals = [r.attributes[wire.OWED] for r in story("background-two") if r.event == "owner_final"]
    assert sorted(finals[0]) == ["a3e56563eed5a519e", "a4be19e6b2986be69"]  # type: ignore[arg-type]
    assert finals[-1] == ()


def test_child_error_the_childs_own_word_wins_and_the_answer_says_the_same() -> None:
    run, agent = "toolu_cd7f34dadf6d4a228814", "ad1c9591e64c804a3"
    done = only(of("child-error", agent), "child_done")
    assert done.attributes[wire.OUTCOME] == "error"
    assert done.attributes[wire.ERROR] == "unknown"
    told = of("child-error", run)
    received = only(told, "completion_received")
    assert received.attributes[wire.OUTCOME] == "error"
    assert done.attributes[wire.RESULT_SIZE] == received.attributes[wire.RESULT_SIZE] == 0
    assert only(told, "completion_forwarded").attributes[wire.FORWARDED] is True


MUTE, FINDER = "toolu_9106fea11ef1427aa9b2", "afinder-0b72ac5d84b2e0c5"


def test_teammate_mute_the_teammate_is_one_run_under_its_name() -> None:
    launch = only(of("teammate-mute", MUTE), "launch")
    assert launch.attributes[wire.MODE] == "teammate"
    assert {"@finder", "finder@session-edc7006a"} < set(launch.attributes[wire.ALIAS])  # type: ignore[arg-type]
    witness = of("teammate-mute", MUTE)[1]
    assert (witness.event, witness.attributes[wire.CHANNEL]) == ("dispatch", "message")
    start = only(of("teammate-mute", "@finder"), "start")
    assert start.attributes[wire.ALIAS] == (FINDER,)
    assert wire.AGENT not in start.attributes
    assert FINDER not in {r.run for r in story("teammate-mute")}


def test_teammate_mute_it_goes_idle_after_its_work_and_nothing_was_ever_received() -> None:
    child = of("teammate-mute", "@finder")
    assert names(child) == [
        "start",
        "tool_call.pending",
        "tool_call.ended",
        "heartbeat",
        "first_token",
        "idle",
        "idle",
    ]
    own, harness = child[-2:]
    assert own.attributes[wire.TURN_ENDED] is harness.attributes[wire.TURN_ENDED] is True
    assert own.attributes[wire.PRODUCER] != harness.attributes[wire.PRODUCER]
    assert own.attributes[wire.RESULT_SIZE] == len(RESULT)
    assert str(own.attributes[wire.RESULT_LOCATION]).endswith(f"agent-{FINDER}.jsonl")
    received = {"completion_received", "completion_forwarded", "completion_consumed", "child_done"}
    assert not received & set(names(of("teammate-mute", MUTE, "@finder")))


def test_teammate_mute_the_owner_lists_it_as_owed_by_what_the_run_is_also_called() -> None:
    launch = only(of("teammate-mute", MUTE), "launch")
    finals = [r for r in story("teammate-mute") if r.event == "owner_final"]
    assert len(finals) == 2
    for final in finals:
        assert set(final.attributes[wire.OWED]) & set(launch.attributes[wire.ALIAS])  # type: ignore[arg-type]


def test_teammate_mute_the_interrupted_call_of_the_second_session_is_cancelled_by_the_user() -> None:
    run = "toolu_71a611046a144bb9b96f"
    told = of("teammate-mute", run)
    assert {r.session for r in told} == {"928e5d03-2b14-457f-a68b-7158a0d1bfea"}
    dispatch, kill = only(told, "dispatch"), only(told, "kill")
    assert kill.at_ns - dispatch.at_ns == 59_246_000_000
    assert kill.attributes[wire.KILL_ACTOR] == "user"
    assert only(told, "completion_received").attributes[wire.OUTCOME] == "cancelled"
    assert only(told, "completion_forwarded").attributes[wire.FORWARDED] is True


def call(event: str, **fields: object) -> list[Record]:
    return records_from_hook({"hook_event_name": event, "session_id": "s1", **fields}, T0)


AGENT_CALL = {"tool_name": "Agent", "tool_use_id": "toolu_1", "tool_input": {"prompt": "p"}}
CHILD = {"agent_id": "a0123456789abcdef", "agent_type": "worker"}


def test_a_call_asked_for_in_the_background_and_answered_at_once_is_foreground() -> None:
    asked = AGENT_CALL | {"tool_input": {"run_in_background": True}}
    content = [{"type": "text", "text": "done"}]
    response = {"status": "completed", "agentId": "a1", "content": content, "totalTokens": 5}
    told = call("PostToolUse", **asked, tool_response=response)
    assert only(told, "launch").attributes[wire.MODE] == "foreground"
    assert only(told, "completion_received").attributes[wire.OUTCOME] == "ok"


def test_a_nested_dispatch_names_its_owner_and_parent_run() -> None:
    tool, dispatch = call("PreToolUse", **AGENT_CALL, **CHILD)
    assert (tool.event, tool.run) == ("tool_call", CHILD["agent_id"])
    assert (dispatch.event, dispatch.run) == ("dispatch", "toolu_1")
    assert dispatch.attributes[wire.OWNER] == dispatch.attributes[wire.PARENT_RUN] == CHILD["agent_id"]


@pytest.mark.parametrize(
    ("answer", "ends"),
    [
        ("[Request interrupted by user for tool use]", True),
        ("Async agent launched successfully.\nagentId: a1", False),
        ("", False),
        ([{"type": "text", "text": "Async agent launched successfully.\nagentId: a1"}], False),
        ([{"type": "text", "text": "x"}, {"type": "text", "text": "agentId: a1 (…)\n<usage>…"}], True),
        ([{"type": "text", "text": "agentId: a1\n<usage>"}], False),
        ({"status": "completed"}, False),
        (None, False),
    ],
)
def test_a_batch_proves_consumption_only_where_an_answer_ends_a_run(answer: object, ends: bool) -> None:
    told = call(
        "PostToolBatch", tool_calls=[AGENT_CALL | {"tool_response": answer}, 7, {"tool_name": "Bash"}]
    )
    assert names(told) == (["completion_consumed"] if ends else [])


NOTICE = "<task-notification>\n<task-id>{task}</task-id>\n<tool-use-id>{use}</tool-use-id>\n" \
    "<output-file>/tmp/x.output</output-file>\n<status>{status}</status>\n<summary>{summary}</summary>\n" \
    "{rest}</task-notification>"  # fmt: skip


def notice(**fields: str) -> str:
    plain = {
        "task": "a1",
        "use": "toolu_1",
        "status": "completed",
        "summary": 'Agent "x" finished',
        "rest": "",
    }
    return NOTICE.format(**(plain | fields))


@pytest.mark.parametrize(
    ("status", "rest", "outcome", "size"),
    [
        ("completed", "<result>abc</result>\n", "ok", 3),
        ("completed", "<result></result>\n", "ok", 0),
        ("completed", "<result>has </result> in it</result>", "ok", len("has </result> in it")),
        ("completed", "", "ok", None),
        ("failed", "", "error", 0),
        ("killed", "<result>half</result>", "killed", 4),
        ("stopped", "", "cancelled", 0),
    ],
)
def test_a_notification_tells_outcome_and_size(
    status: str, rest: str, outcome: str, size: int | None
) -> None:
    told = call("UserPromptSubmit", prompt=notice(status=status, rest=rest))
    received = only(told, "completion_received")
    assert received.run == "toolu_1"
    assert received.attributes[wire.OUTCOME] == outcome
    assert received.attributes.get(wire.RESULT_SIZE) == size
    assert received.attributes[wire.RESULT_LOCATION] == "file:///tmp/x.output"


def test_several_notifications_in_one_prompt_are_several_deliveries() -> None:
    prompt = notice(use="toolu_1", rest="<result>a</result>") + "\n" + notice(use="toolu_2", task="a2")
    told = call("UserPromptSubmit", prompt=prompt)
    assert [r.run for r in told if r.event == "completion_forwarded"] == ["toolu_1", "toolu_2"]


@pytest.mark.parametrize(
    "prompt",
    [
        "please explain " + notice(),
        notice(summary="Background command &quot;make&quot; completed (exit code 0)"),
        notice(status="running"),
        notice(use="", task=""),
        "<task-notification>",
    ],
    ids=["quoted", "shell", "running", "nameless", "cut"],
)
def test_what_is_no_end_of_an_agent_delivers_nothing(prompt: str) -> None:
    assert names(call("UserPromptSubmit", prompt=prompt)) == ["owner_turn.pending"]


def test_a_teammate_that_sends_its_answer_to_the_lead_has_delivered() -> None:
    mate = {"agent_id": FINDER, "agent_type": "finder"}
    sent = {
        "tool_name": "SendMessage",
        "tool_use_id": "t",
        "tool_input": {"to": "team-lead", "message": "42!"},
    }
    told = call("PostToolUse", **mate, **sent, tool_response={"success": True})
    assert {r.run for r in told} == {"@finder"}
    assert only(told, "completion_received").attributes[wire.RESULT_SIZE] == 3
    assert only(told, "completion_forwarded").attributes[wire.FORWARDED] is True
    to_another = sent | {"tool_input": {"to": "writer", "message": "42!"}}
    assert names(call("PostToolUse", **mate, **to_another)) == ["tool_call.ended"]
    refused = call("PostToolUse", **mate, **sent, tool_response={"success": False})
    assert names(refused) == ["tool_call.ended"]


def test_a_message_of_the_root_to_an_agent_is_no_word_of_that_agent() -> None:
    told = call("PostToolUse", tool_name="SendMessage", tool_input={"to": "finder", "message": "hurry"})
    assert [(r.event, r.run, r.attributes[wire.MESSAGE_FROM]) for r in told] == [
        ("message", "@finder", "owner")
    ]


def test_a_failing_tool_of_a_child_says_so_by_type_and_digest() -> None:
    (told,) = call(
        "PostToolUseFailure", **CHILD, tool_name="Bash", tool_use_id="t", error="Exit  1", duration_ms=5
    )
    assert told.attributes[wire.ERROR] == "tool_error"
    assert told.attributes[wire.ERROR_DIGEST] == normalised_digest("exit 1")
    assert told.start_ns == T0 - 5_000_000


def test_a_denied_dispatch_was_rejected_and_the_owner_knows() -> None:
    told = call("PermissionDenied", **AGENT_CALL)
    assert only(told, "launch").attributes[wire.LAUNCH_STATE] == "rejected"
    assert only(told, "completion_forwarded").attributes[wire.FORWARDED] is True


def test_an_owner_that_stops_or_fetches_an_agent_says_so() -> None:
    stopped = call(
        "PostToolUse", tool_name="TaskStop", tool_response={"task_id": "a1", "task_type": "local_agent"}
    )
    assert [(r.event, r.run, r.attributes[wire.KILL_ACTOR]) for r in stopped] == [("kill", "a1", "owner")]
    task = {"task_id": "a1", "task_type": "local_agent", "status": "completed", "output": "abc"}
    fetched = call("PostToolUse", tool_name="TaskOutput", tool_response={"task": task})
    assert only(fetched, "completion_received").attributes[wire.RESULT_SOURCE] == "polled"
    shell = task | {"task_type": "local_bash"}
    assert call("PostToolUse", tool_name="TaskOutput", tool_response={"task": shell}) == []


def test_a_turn_of_the_root_that_failed_is_closed_and_is_no_final() -> None:
    (told,) = call("StopFailure", error="rate_limit")
    assert (told.event, told.phase, told.attributes[wire.ERROR]) == ("owner_turn", "ended", "rate_limit")


def test_an_agent_of_the_harness_itself_is_nobodys_run() -> None:
    assert call("SubagentStop", agent_id="a1", agent_type="", last_assistant_message="x") == []


def test_an_ordinary_child_whose_type_has_a_dash_is_no_teammate() -> None:
    told = call(
        "SubagentStop", agent_id="a0123456789abcdef", agent_type="code-review", last_assistant_message="x"
    )
    assert only(told, "child_done").run == "a0123456789abcdef"


@pytest.mark.parametrize("event", ["SessionStart", "MessageDisplay", "ConfigChange", "Unheard", "", None, 3])
def test_an_unknown_hook_says_nothing(event: object) -> None:
    assert records_from_hook({"hook_event_name": event, "session_id": "s1"}, T0) == []


@pytest.mark.parametrize("session", [None, "", 5, "s" * 513])
def test_a_hook_without_a_usable_session_says_nothing(session: object) -> None:
    assert records_from_hook({"hook_event_name": "Stop", "session_id": session}, T0) == []


KEYS = """hook_event_name session_id agent_id agent_type tool_name tool_use_id tool_input tool_response status
    agentId content text type prompt description duration_ms background_tasks tool_calls last_assistant_message
    agent_transcript_path transcript_path error reason teammate_name name task_id task_type task totalTokens to
    message run_in_background id output""".split()
WORDS = st.sampled_from(
    [*HOOK_EVENTS, "Agent", "SendMessage", "TaskOutput", "TaskStop", "completed", "async_launched", "s1", "x",
     "teammate_spawned", "teammate", "subagent", "a0123456789abcdef", FINDER, "finder", "team-lead", "local_agent",
     "\ud800", "a\0b", "/tmp/\0", notice(), notice(rest="<result>" * 3)]
)  # fmt: skip
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(max_size=8)
JSON = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=3), inner, max_size=6)
    ),
    max_leaves=12,
)
LIKELY = st.fixed_dictionaries(
    {"hook_event_name": st.sampled_from(HOOK_EVENTS), "session_id": st.just("s1")},
    optional=dict.fromkeys(KEYS[2:], JSON),
)


@given(JSON | LIKELY, st.booleans())
def test_no_json_makes_it_raise_and_all_it_says_can_be_sent(body: object, capture_content: bool) -> None:
    records = records_from_hook(body, T0, capture_content=capture_content)
    export_request(records).SerializeToString()
    for record in records:
        assert record.event in wire.EVENTS
        assert record.session
        assert (record.run is None) == (record.event in wire.OWNER_EVENTS)
        assert record.run != ""
