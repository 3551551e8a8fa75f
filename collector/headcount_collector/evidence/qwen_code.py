"""Turns hook calls of Qwen Code into lifecycle records: its words are put in those of Claude Code, from which they came.

What differs: tools are named `agent`, `task_stop`, `task_output`, `send_message`; a tool's answer is `llmContent` beside
a `returnDisplay`, whose status says whether the agent runs on in the background; tasks are listed without a type. Its
notices say how many are `<remaining>` and whether all are terminal, which is not evidence of a run: the groups count
for themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from . import wire
from .claude_code import records_from_hook
from .claude_code_body import Disk, name_at, table_at, text_at
from .claude_code_result import content_text
from .record import Record

SERVICE = "qwen-code"

_TOOLS = {
    "agent": "Agent",
    "task": "Agent",
    "task_stop": "TaskStop",
    "task_output": "TaskOutput",
    "send_message": "SendMessage",
}
_AGENT = "Agent"
_RUNNING = frozenset({"background", "running", "async_launched"})
_PREFIX = "claude-code:"


def records_from_qwen_hook(
    body: object, received_ns: int, *, capture_content: bool = False, disk: Disk | None = None
) -> list[Record]:
    """Return what one hook call of Qwen Code proves; nothing for what is unknown or malformed. Never raises."""
    if not isinstance(body, Mapping):
        return []
    found = records_from_hook(
        _in_claudes_words(body), received_ns, capture_content=capture_content, disk=disk
    )
    return [_as_qwens(record) for record in found]


def _as_qwens(record: Record) -> Record:
    producer = str(record.attributes.get(wire.PRODUCER, ""))
    own = f"{SERVICE}:{producer.removeprefix(_PREFIX)}"
    return replace(record, service=SERVICE, attributes={**record.attributes, wire.PRODUCER: own})


def _in_claudes_words(body: Mapping[str, object]) -> dict[str, object]:
    said = dict(body)
    tool = _TOOLS.get(name_at(body, "tool_name") or "")
    if tool is not None:
        said["tool_name"] = tool
        if tool == _AGENT and "tool_response" in body:
            said["tool_response"] = _answer(table_at(body, "tool_response"))
    calls = body.get("tool_calls")
    if isinstance(calls, list):
        said["tool_calls"] = [_call(call) for call in calls]
    tasks = body.get("background_tasks")
    if isinstance(tasks, list):
        said["background_tasks"] = [
            {"type": "subagent", **task} if isinstance(task, dict) and "agent_type" in task else task
            for task in tasks
        ]
    return said


def _call(call: object) -> object:
    if not isinstance(call, dict):
        return call
    return {**call, "tool_name": _TOOLS.get(name_at(call, "tool_name") or "", call.get("tool_name"))}


def _answer(response: Mapping[str, object]) -> dict[str, object]:
    """Return the answer to a dispatching call as Claude Code would give it."""
    if text_at(response, "status"):
        return dict(response)
    shown = table_at(response, "returnDisplay")
    status = (text_at(shown, "status") or "").lower()
    names = {key: shown[key] for key in ("agentId", "taskId") if key in shown}
    if status in _RUNNING:
        return {"status": "async_launched", **names}
    content = content_text(response.get("llmContent"))
    failed = status in ("failed", "cancelled", "error") or response.get("error")
    answer: dict[str, object] = {"status": "completed", "content": content or "", **names}
    return {**answer, "totalTokens": 0} if failed else answer
