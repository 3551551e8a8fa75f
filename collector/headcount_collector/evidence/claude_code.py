"""Turns hook calls of Claude Code into lifecycle records: pure, stateless, and deaf to what it does not know.

How the hooks are read, and why. Every claim was checked against recordings of version 2.1.197.

*Identity.* A run's id is the `tool_use_id` of the call that dispatched it: it exists before the child and names
owner-side events to the end, in a task notification too. The child speaks under `agent_id`. The answer to the call
joins the two: at once for a background child, at the very end for a foreground one. Two children of one type
that start together cannot be told apart before (their starts name nothing else), so guessing is left out; where the
harness's notes lie on this machine (`claude_code_disk`), they join the child from its start on. A teammate has four
names; its child-side events are filed under `@name`, which the answer to its dispatch lists.

*Time.* Hooks carry no time, number or process: event time is receipt, identity includes it. A dispatch is
stated twice, by the call and by its answer (dated back by the measured duration), so that a lost hook does not
lose an obligation; the earliest holds.

*Owner turns are stated*, since a result waits for a busy owner and only an idle one is late. Therefore consumption
must be stated too, else every delivery would look unread. Hooks show that a result is handed to the model (the
answer of the call, the prompt made of a notification), never that the model answered, and the hook that ends
the turn names no run. So consumption is stated at the hand-over: a model request that fails after it goes unseen,
and in exchange nothing healthy is ever called unread. PostToolBatch says it again where it is certain that
an answer ends a run, for the case that the answer's own hook was lost.

*Ends.* `SubagentStop` is a child's end, except for a teammate: that one ended a turn, lives on and owes a message,
so it is idle. After an API error there is only `StopFailure`, while the call still answers `completed`: the
child's own word wins (outcome error), and the answer, which took no token, says error as well. `Stop` and
`SessionEnd` of the root are a final with what it believes to be owed, and the owner's end. A user's interrupt
fires no Stop; the next prompt continues the turn.

*Left out.* Permission dialogs: hooks tell when one opens, none tells when it is answered, and a long command after
a quick yes would look like a person who is waited for. They count as signs of life. Agents of the harness itself
(without a type) are nobody's obligation.

*Resumes.* A message to an agent that had ended wakes it; the answer to that call says so, and the call is a new run's id.

Prompts, results, messages and tool inputs never leave this module, only sizes, digests, names and places; a
description does with content capture on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from . import claude_code_child as child
from . import claude_code_owner as owner
from .claude_code_body import Disk, Hook, Speaker, name_at
from .record import Record


def records_from_hook(
    body: object, received_ns: int, *, capture_content: bool = False, disk: Disk | None = None
) -> list[Record]:
    """Return what one hook call proves, in order; nothing for what is unknown or malformed. Never raises.

    `body` is the JSON as posted, `received_ns` the collector's clock at its arrival; it must differ from one call to
    the next, since equal bodies at equal times are one event. With `disk`, the harness's notes are read, a few
    milliseconds at most: call it in a worker thread then.
    """
    hook = _hook(body, received_ns, capture_content, disk)
    if hook is None:
        return []
    event = name_at(hook.body, "hook_event_name") or ""
    read = _ROOT.get(event) if hook.speaker is None else _CHILD.get(event)
    return read(hook) if read is not None else []


def _hook(body: object, received_ns: int, capture_content: bool, disk: Disk | None) -> Hook | None:
    if not isinstance(body, Mapping):
        return None
    session = name_at(body, "session_id")
    if session is None:
        return None
    speaker = Speaker.of(body, session, disk)
    if speaker is None and body.get("agent_id") is not None:
        return None
    return Hook(body, received_ns, session, speaker, capture_content, disk)


def _before_tool(hook: Hook) -> list[Record]:
    return owner.dispatched(hook) if hook.dispatches else []


def _after_tool(hook: Hook) -> list[Record]:
    if hook.dispatches:
        return owner.answered(hook)
    if hook.tool == "SendMessage" and "resumedAgentId" in hook.response:
        return owner.resumed(hook)
    read = _ANSWERS.get(hook.tool)
    return read(hook) if read is not None else []


def _after_failure(hook: Hook) -> list[Record]:
    return owner.failed(hook) if hook.dispatches else []


def _after_denial(hook: Hook) -> list[Record]:
    return owner.denied(hook) if hook.dispatches else []


def _child_before_tool(hook: Hook) -> list[Record]:
    return child.tool_began(hook) + _before_tool(hook)


def _child_after_tool(hook: Hook) -> list[Record]:
    own_words = hook.tool == "SendMessage" and "resumedAgentId" not in hook.response
    return child.tool_ended(hook) + ([] if own_words else _after_tool(hook))


def _child_after_failure(hook: Hook) -> list[Record]:
    error = "interrupted" if hook.body.get("is_interrupt") is True else "tool_error"
    return child.tool_failed(hook, error) + _after_failure(hook)


def _child_after_denial(hook: Hook) -> list[Record]:
    return child.tool_failed(hook, "permission_denied") + _after_denial(hook)


def _child_after_batch(hook: Hook) -> list[Record]:
    return child.alive(hook) + owner.about_to_see(hook)


_Read = Callable[[Hook], list[Record]]

_ANSWERS: dict[str, _Read] = {
    "SendMessage": child.messaged,
    "TaskStop": owner.stopped_task,
    "TaskOutput": owner.polled_task,
}
"""Tools, besides the dispatching one, whose answers concern a run of the caller."""

_ROOT: dict[str, _Read] = {
    "PreToolUse": _before_tool,
    "PostToolUse": _after_tool,
    "PostToolUseFailure": _after_failure,
    "PermissionDenied": _after_denial,
    "PostToolBatch": owner.about_to_see,
    "UserPromptSubmit": owner.prompted,
    "Stop": owner.turn_ended,
    "StopFailure": owner.turn_failed,
    "SessionEnd": owner.session_ended,
    "TeammateIdle": child.teammate_idle,
}

_CHILD: dict[str, _Read] = {
    "SubagentStart": child.started,
    "PreToolUse": _child_before_tool,
    "PostToolUse": _child_after_tool,
    "PostToolUseFailure": _child_after_failure,
    "PermissionDenied": _child_after_denial,
    "PostToolBatch": _child_after_batch,
    "UserPromptSubmit": owner.prompted,
    "SubagentStop": child.stopped,
    "StopFailure": child.broke_off,
    "TeammateIdle": child.teammate_idle,
    "PermissionRequest": child.alive,
    "Notification": child.alive,
    "PreCompact": child.alive,
    "PostCompact": child.alive,
}

HOOK_EVENTS = tuple(sorted({*_ROOT, *_CHILD}))
"""The hooks that say something; a harness is set up to post these."""
