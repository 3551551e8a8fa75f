"""Turns hook calls of Qwen Code into lifecycle records: its words are put in those of Claude Code, from which they came.

What differs, as recordings of version 0.24.4 show. Each hook has a time of its own, which holds: the commands that hand
hooks over overtake each other. A call is named by `tool_call_id`; `tool_use_id` is another number in every hook but
PostToolBatch. An agent's id is its type and that call, so its start names the run that it works in; all else is told
under the agent's id, since an agent that has ended can be asked again: the message is the call of a new run, while the
agent's notices name the first call for ever. Its tool hooks name no type. Tools are named `agent`, `task_stop`, `task_output`, `send_message`; a tool's answer is `llmContent` beside a
`returnDisplay`, whose status says whether the agent runs on in the background. A notice to the model fires no hook: it
is read from the session's transcript, and where that does not lie on the collector's machine, a task that is over when
a turn ends counts as handed over, since the harness empties its queue of notices before it rests. Its notices say how
many are `<remaining>` and whether all are terminal, which is not evidence of a run: the groups count for themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from . import wire
from .claude_code import records_from_hook
from .claude_code_body import Absorbed, Disk, Join, name_at, table_at, text_at
from .claude_code_result import content_text, outcome_of
from .moment import moment_ns
from .qwen_code_disk import Notes
from .record import Record

SERVICE = "qwen-code"
HOOK_EVENTS = (
    "Notification",
    "PermissionDenied",
    "PermissionRequest",
    "PostCompact",
    "PostToolBatch",
    "PostToolUse",
    "PostToolUseFailure",
    "PreCompact",
    "PreToolUse",
    "SessionEnd",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "UserPromptSubmit",
)
"""The hooks that say something; those of teammates and to-do items this harness does not have."""

_TOOLS = {
    "agent": "Agent",
    "task": "Agent",
    "task_stop": "TaskStop",
    "task_output": "TaskOutput",
    "send_message": "SendMessage",
}
_AGENT = "Agent"
_MESSAGE = "SendMessage"
_STOP = "TaskStop"
_ASKED_AGAIN = re.compile(r"(Continued|Revived|Resumed) ")
"""How the answer to a message begins that set an agent to work again; one that is still at work takes it in passing."""
_RUNNING = frozenset({"background", "running", "async_launched"})
_PREFIX = "claude-code:"
_DAY_NS = 86_400 * 1_000_000_000


def records_from_qwen_hook(
    body: object, received_ns: int, *, capture_content: bool = False, disk: Disk | None = None
) -> list[Record]:
    """Return what one hook call of Qwen Code proves; nothing for what is unknown or malformed. Never raises."""
    if not isinstance(body, Mapping) or _goes_on(body):
        return []
    at_ns = _time_of(body, received_ns)
    said = _in_claudes_words(body)
    notes = Notes() if disk is not None else None
    found = records_from_hook(said, at_ns, capture_content=capture_content, disk=_OwnNotes(notes))
    found += _joined(said, at_ns)
    found += _messaged(said, at_ns)
    path = text_at(body, "transcript_path") or ""
    if not (notes and notes.readable(path)):
        found += _handed_over(said, at_ns)
    return [_as_qwens(record) for record in found]


def _goes_on(body: Mapping[str, object]) -> bool:
    """Tell whether a hook says that a turn began which goes on: it comes with every round of tools, without a prompt."""
    return name_at(body, "hook_event_name") == "UserPromptSubmit" and not text_at(body, "prompt")


class _OwnNotes:
    """What lies on this harness's disk: the notices in its transcript; which call an agent works for does not."""

    def __init__(self, notes: Notes | None) -> None:
        self._notes = notes

    def join_of_agent(self, transcript_path: str, session: str, agent_id: str) -> Join | None:
        return None

    def resumed(self, session: str, agent_id: str, call: str) -> None:
        """Take no note: the two runs of an agent are told apart by time."""

    def absorbed(self, transcript_path: str, received_ns: int) -> Sequence[Absorbed]:
        return self._notes.absorbed(transcript_path, received_ns) if self._notes is not None else []


def _time_of(body: Mapping[str, object], received_ns: int) -> int:
    """Return the hook's own time; that of its receipt where it has none that can be believed."""
    try:
        at_ns = moment_ns(text_at(body, "timestamp") or "")
    except ValueError:
        return received_ns
    return at_ns if abs(at_ns - received_ns) < _DAY_NS else received_ns


def _joined(body: Mapping[str, object], at_ns: int) -> Iterator[Record]:
    """Yield, at an agent's start, whose agent it is: its id ends with the call that dispatched it."""
    session, agent = name_at(body, "session_id"), name_at(body, "agent_id")
    if name_at(body, "hook_event_name") != "SubagentStart" or session is None or agent is None:
        return
    call = agent.removeprefix(f"{name_at(body, 'agent_type')}-")
    if call and call != agent:
        about = {wire.PRODUCER: f"{_PREFIX}{session}", wire.ALIAS: (agent,), wire.CHILD_SESSION: agent}
        yield Record("heartbeat", at_ns, call, session, about, service=SERVICE)


def _messaged(body: Mapping[str, object], at_ns: int) -> Iterator[Record]:
    """Yield a message to an agent that is at work: a word of its owner, and no run of its own."""
    session, agent = name_at(body, "session_id"), name_at(table_at(body, "tool_input"), "task_id")
    answer = table_at(body, "tool_response")
    if session is None or agent is None or name_at(body, "hook_event_name") != "PostToolUse":
        return
    if name_at(body, "tool_name") == _MESSAGE and not answer.get("error") and "resumedAgentId" not in answer:
        about = {wire.PRODUCER: f"{_PREFIX}{session}", wire.MESSAGE_FROM: "owner"}
        yield Record("message", at_ns, agent, session, about, service=SERVICE)


def _over(body: Mapping[str, object], at_ns: int) -> Iterator[tuple[str, str, int]]:
    """Yield the tasks whose notices a hook proves to be out, with their outcomes and the moment.

    Those that are over when a turn ends, and one that is asked again after it was done.
    """
    event, tasks = name_at(body, "hook_event_name"), body.get("background_tasks")
    for task in tasks if event == "Stop" and isinstance(tasks, list) else ():
        if isinstance(task, dict):
            run, outcome = name_at(task, "id"), outcome_of(text_at(task, "status"))
            if run is not None and outcome is not None:
                yield run, outcome, at_ns
    again = name_at(table_at(body, "tool_response"), "resumedAgentId")
    length = body.get("duration_ms")
    if event == "PostToolUse" and again is not None and isinstance(length, int):
        yield again, "ok", at_ns - length * 1_000_000 - 1


def _handed_over(body: Mapping[str, object], at_ns: int) -> Iterator[Record]:
    """Yield receipt and hand-over of the tasks whose notices are out, where no transcript tells."""
    session = name_at(body, "session_id")
    for run, outcome, over_ns in _over(body, at_ns) if session is not None else ():
        about = {wire.PRODUCER: f"{_PREFIX}{session}"}
        told = {**about, wire.RESULT_SOURCE: "notification", wire.OUTCOME: outcome}
        yield Record("completion_received", over_ns, run, session, told, service=SERVICE)
        yield Record(
            "completion_forwarded", over_ns, run, session, {**about, wire.FORWARDED: True}, service=SERVICE
        )
        yield Record("completion_consumed", over_ns, run, session, about, service=SERVICE)


def _as_qwens(record: Record) -> Record:
    producer = str(record.attributes.get(wire.PRODUCER, ""))
    own = f"{SERVICE}:{producer.removeprefix(_PREFIX)}"
    return replace(record, service=SERVICE, attributes={**record.attributes, wire.PRODUCER: own})


def _in_claudes_words(body: Mapping[str, object]) -> dict[str, object]:
    said = dict(body)
    agent, call = name_at(body, "agent_id"), name_at(body, "tool_call_id")
    if call is not None:
        said["tool_use_id"] = call
    if agent is not None and name_at(body, "agent_type") is None:
        said["agent_type"] = agent
    tool = _TOOLS.get(name_at(body, "tool_name") or "")
    if tool is not None:
        said["tool_name"] = tool
        if tool == _MESSAGE:
            said |= _woken(body)
        if tool == _STOP:
            said |= _stopped(body)
        if tool == _AGENT and "tool_response" in body:
            said["tool_response"] = _answer(table_at(body, "tool_response"), call)
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
    """Return one answer of a batch; whether it ends a run is told by its status, in the words of the answer itself."""
    if not isinstance(call, dict):
        return call
    tool = _TOOLS.get(name_at(call, "tool_name") or "", call.get("tool_name"))
    shown = table_at(table_at(call, "tool_response"), "result_display")
    over = tool == _AGENT and outcome_of(text_at(shown, "status")) is not None
    return {**call, "tool_name": tool, "tool_response": "ended" if over else None}


def _woken(body: Mapping[str, object]) -> dict[str, object]:
    """Return the answer to a message that set an agent to work again, as Claude Code would give it."""
    shown = text_at(table_at(body, "tool_response"), "returnDisplay") or ""
    agent = name_at(table_at(body, "tool_input"), "task_id")
    return {"tool_response": {"resumedAgentId": agent}} if agent and _ASKED_AGAIN.match(shown) else {}


def _stopped(body: Mapping[str, object]) -> dict[str, object]:
    """Return the answer to the call that stopped an agent (shells are stopped by it too), as Claude Code would give it."""
    said = text_at(table_at(body, "tool_response"), "llmContent") or ""
    agent = name_at(table_at(body, "tool_input"), "task_id")
    stopped = agent is not None and "background agent" in said and not said.startswith("Error")
    return {"tool_response": {"task_type": "agent", "task_id": agent}} if stopped else {}


def _answer(response: Mapping[str, object], call: str | None) -> dict[str, object]:
    """Return the answer to a dispatching call as Claude Code would give it."""
    if text_at(response, "status"):
        return dict(response)
    shown = table_at(response, "returnDisplay")
    status = (text_at(shown, "status") or "").lower()
    names = {key: shown[key] for key in ("agentId", "taskId") if key in shown}
    agent = name_at(shown, "subagentName")
    if not names and agent is not None and call is not None:
        names = {"agentId": f"{agent}-{call}"}
    if status in _RUNNING:
        return {"status": "async_launched", **names}
    content = content_text(response.get("llmContent"))
    failed = status in ("failed", "cancelled", "error") or response.get("error")
    answer: dict[str, object] = {"status": "completed", "content": content or "", **names}
    return {**answer, "totalTokens": 0} if failed else answer
