"""The child's side of Claude Code: its start, its tools, its words to others, its idleness, its end."""

from __future__ import annotations

from . import wire
from .claude_code_body import SERVICE, Attributes, Hook, name_at, teammate_run, text_at
from .claude_code_owner import absorbed
from .claude_code_result import located, measured
from .digest import normalised_digest
from .record import Record

_LEADS = frozenset({"team-lead", "lead", "leader", "main", "parent"})
"""Names by which a teammate addresses the agent that spawned it."""


def started(hook: Hook) -> list[Record]:
    """SubagentStart: the child session exists, and with it an owner that can be busy."""
    agent = hook.speaker.agent_type if hook.speaker is not None and _teammate(hook) is None else None
    return [
        hook.of_child("start", {wire.ATTEMPT: 1, wire.AGENT: agent}),
        hook.record("owner_turn", None, {wire.OWNER: hook.agent_id}, phase=wire.PENDING),
    ]


def tool_began(hook: Hook) -> list[Record]:
    """PreToolUse inside a child: a tool is in flight."""
    return [hook.of_child("tool_call", _tool(hook), phase=wire.PENDING)]


def tool_ended(hook: Hook) -> list[Record]:
    """PostToolUse inside a child: its tool came back."""
    found = [hook.of_child("tool_call", _tool(hook), phase=wire.ENDED, start_ns=hook.began_ns)]
    if hook.tool == "SendMessage":
        found += _sent(hook)
    return found


def tool_failed(hook: Hook, error_type: str) -> list[Record]:
    """PostToolUseFailure or PermissionDenied inside a child: its tool came back with an error, or not at all."""
    error = text_at(hook.body, "error") or text_at(hook.body, "reason") or error_type
    told = {**_tool(hook), wire.ERROR: error_type, wire.ERROR_DIGEST: normalised_digest(error)}
    return [hook.of_child("tool_call", told, phase=wire.ENDED, start_ns=hook.began_ns)]


def stopped(hook: Hook) -> list[Record]:
    """SubagentStop: the child gave its answer. A teammate only ended a turn: it lives on, and owes a message."""
    answer = text_at(hook.body, "last_assistant_message")
    path = text_at(hook.body, "agent_transcript_path")
    result: Attributes = {**measured(answer), **located(path)}
    found = absorbed(hook, path)
    found.append(hook.record("owner_turn", None, {wire.OWNER: hook.agent_id}, phase=wire.ENDED))
    teammate = _teammate(hook)
    if teammate is None:
        return [*found, hook.of_child("child_done", {wire.OUTCOME: "ok", **result})]
    if answer:
        # An answer is proof that the model spoke, also in a turn without tools.
        found.append(hook.of_child("first_token"))
    # The harness says the same a moment later (TeammateIdle): a witness of its own, not a second idleness.
    producer = f"{SERVICE}:{hook.session}/{teammate}"
    return [*found, hook.of_child("idle", {wire.TURN_ENDED: True, **result}, producer=producer)]


def broke_off(hook: Hook) -> list[Record]:
    """StopFailure inside a child: its model request failed for good. No SubagentStop follows."""
    error = name_at(hook.body, "error") or "unknown"
    told: Attributes = {wire.OUTCOME: "error", wire.ERROR: error, wire.RESULT_SIZE: 0}
    return [
        hook.record("owner_turn", None, {wire.OWNER: hook.agent_id}, phase=wire.ENDED),
        hook.of_child("child_done", told),
    ]


def teammate_idle(hook: Hook) -> list[Record]:
    """TeammateIdle: the harness says that a teammate ended its turn; it knows nothing but the name."""
    name = name_at(hook.body, "teammate_name")
    if name is None:
        return []
    return [hook.record("idle", teammate_run(name), {wire.TURN_ENDED: True})]


def alive(hook: Hook) -> list[Record]:
    """Any other word of a child: its session is there, and that is all it proves."""
    return [hook.of_child("heartbeat")]


def messaged(hook: Hook) -> list[Record]:
    """PostToolUse of SendMessage by the root: a word to one of its agents, which is no progress of that agent."""
    to = name_at(hook.input, "to") or name_at(hook.input, "recipient")
    if to is None or to == "*" or to.lower() in _LEADS or hook.response.get("success") is False:
        return []
    run = to if _looks_like_id(to) else teammate_run(to.partition("@")[0])
    return [hook.record("message", run, {wire.MESSAGE_FROM: "owner"})]


def _sent(hook: Hook) -> list[Record]:
    """A message of the speaking child to whom it works for: a teammate's only way to return its result.

    No hook tells when the lead reads its mailbox, so the hand-over is stated when the mailbox has the message.
    """
    to = name_at(hook.input, "to") or name_at(hook.input, "recipient")
    if to is None or to.lower() not in _LEADS or hook.response.get("success") is False:
        return []
    content = text_at(hook.input, "message") or text_at(hook.input, "content")
    found = [hook.of_child("message", {wire.MESSAGE_FROM: "child"})]
    if _teammate(hook) is None or not content:
        return found
    result = measured(content)
    received: Attributes = {wire.OUTCOME: "ok", wire.RESULT_SOURCE: "completion_push", **result}
    return [
        *found,
        hook.of_child("completion_received", received),
        hook.of_child("completion_forwarded", {wire.FORWARDED: True, **result}),
        hook.of_child("completion_consumed"),
    ]


def _teammate(hook: Hook) -> str | None:
    return hook.speaker.teammate if hook.speaker is not None else None


def _tool(hook: Hook) -> Attributes:
    return {wire.TOOL: hook.tool or None, wire.CALL: hook.call}


def _looks_like_id(name: str) -> bool:
    """An agent id is `a` and sixteen hexadecimal digits, with a name between them or not."""
    return len(name) >= 17 and name[0] == "a" and all(digit in "0123456789abcdef" for digit in name[-16:])
