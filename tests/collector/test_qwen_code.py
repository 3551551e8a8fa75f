"""Qwen Code's hooks, in its own words, judged as Claude Code's are."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headcount_collector.evidence.qwen_code import records_from_qwen_hook

SECOND = 1_000_000_000


def read(*bodies: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [
        (record.event, record.run)
        for number, body in enumerate(bodies)
        for record in records_from_qwen_hook({"session_id": "s1", **body}, (number + 1) * SECOND)
    ]


def hook(event: str, **more: Any) -> dict[str, Any]:
    return {"hook_event_name": event, **more}


CALL: dict[str, Any] = {
    "tool_name": "agent",
    "tool_use_id": "call-1",
    "tool_input": {"description": "find", "prompt": "find it"},
}


def test_a_foreground_agent_is_dispatched_and_returned() -> None:
    found = read(
        hook("PreToolUse", **CALL),
        hook("SubagentStart", agent_id="a1", agent_type="finder", permission_mode="default"),
        hook(
            "PreToolUse", agent_id="a1", agent_type="finder", tool_name="run_shell_command", tool_use_id="x"
        ),
        hook(
            "PostToolUse", agent_id="a1", agent_type="finder", tool_name="run_shell_command", tool_use_id="x"
        ),
        hook("SubagentStop", agent_id="a1", agent_type="finder", last_assistant_message="found", crons=[]),
        hook(
            "PostToolUse",
            **CALL,
            tool_response={"llmContent": [{"text": "found"}], "returnDisplay": {"status": "completed"}},
        ),
    )
    events = [event for event, _ in found]
    assert events[0] == "dispatch"
    assert "child_done" in events
    assert events[-3:] == ["completion_received", "completion_forwarded", "completion_consumed"]


def test_a_background_agent_is_launched_and_owed_at_the_end_of_the_turn() -> None:
    answer = {"llmContent": "started", "returnDisplay": {"status": "background", "agentId": "a1"}}
    bodies = (
        hook(
            "PostToolUse",
            **{**CALL, "tool_input": {**CALL["tool_input"], "run_in_background": True}},
            tool_response=answer,
        ),
        hook(
            "Stop",
            background_tasks=[{"id": "a1", "status": "running", "agent_type": "finder", "started_at": 1}],
        ),
    )
    assert ("launch", "call-1") in read(*bodies)
    (final,) = [
        record
        for record in records_from_qwen_hook({"session_id": "s1", **bodies[1]}, SECOND)
        if record.event == "owner_final"
    ]
    assert final.attributes["subagent.owed"] == ("a1",)
    assert final.service == "qwen-code"
    assert final.attributes["subagent.producer.id"] == "qwen-code:s1"


def test_a_notice_with_remaining_and_all_terminal_delivers() -> None:
    notice = (
        "<task-notification>\n<task-id>a1</task-id>\n<tool-use-id>call-1</tool-use-id>\n<status>completed</status>\n"
        '<remaining>0</remaining>\n<all-terminal>true</all-terminal>\n<summary>Agent "find" finished</summary>\n'
        "<result>found</result>\n</task-notification>"
    )
    found = read(hook("UserPromptSubmit", prompt=notice))
    assert ("completion_forwarded", "call-1") in found


@settings(max_examples=50, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=6),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "session_id",
                        "hook_event_name",
                        "tool_name",
                        "tool_response",
                        "returnDisplay",
                        "tool_calls",
                        "agent",
                        "status",
                    ]
                ),
                inner,
                max_size=5,
            )
        ),
        max_leaves=12,
    )
)
def test_no_body_raises(body: object) -> None:
    records_from_qwen_hook(body, SECOND)
