"""The owner's side of Claude Code: dispatches, launches, receipts, hand-overs, turns, the end of a session."""

from __future__ import annotations

import re

from . import wire
from .claude_code_body import AGENT_TOOLS, Attributes, Hook, name_at, table_at, teammate_run, text_at
from .claude_code_result import (
    Notice,
    answered_nothing,
    content_text,
    measured,
    notices,
    outcome_of,
)
from .digest import normalised_digest
from .record import Record

DESCRIPTION_LIMIT = 200
_OWED_LIMIT = 200
_DIGESTED_PROMPT = 900
"""A task list shows a teammate's prompt cut to 1,000 characters: its beginning is what can be compared."""

_RESULT_TRAILER = re.compile(r"agentId: ?\S.*<usage>", re.DOTALL)
_NAMES_AGENT = re.compile(r"agent_?id", re.IGNORECASE)
_USER_EXITS = frozenset({"prompt_input_exit", "logout", "clear", "resume"})


def dispatched(hook: Hook) -> list[Record]:
    """PreToolUse of a dispatching call: the obligation exists, the child has no id yet."""
    return [_dispatch(hook)]


def answered(hook: Hook) -> list[Record]:
    """PostToolUse of a dispatching call: it was launched, or it is over and its result is the call's answer."""
    status = text_at(hook.response, "status")
    if status == "completed":
        return _returned(hook)
    if status in ("async_launched", "remote_launched"):
        return _launched(hook)
    if status == "teammate_spawned":
        return _spawned(hook)
    return [_dispatch(hook, at_ns=hook.began_ns)]


def failed(hook: Hook) -> list[Record]:
    """PostToolUseFailure of a dispatching call: the owner is told that it failed, or was interrupted by the user."""
    interrupted = hook.body.get("is_interrupt") is True
    outcome = "cancelled" if interrupted else "error"
    told: Attributes = {wire.OUTCOME: outcome, wire.RESULT_SIZE: 0}
    found = [_dispatch(hook, at_ns=hook.began_ns)]
    if interrupted:
        attributes: Attributes = {wire.KILL_ACTOR: "user", wire.KILL_RULE: "interrupt", wire.RESULT_SIZE: 0}
        found.append(hook.record("kill", hook.call, attributes))
    return found + _delivered(hook, hook.call, "tool_result", told)


def denied(hook: Hook) -> list[Record]:
    """PermissionDenied of a dispatching call: no launch, and the owner is told so in the call's answer."""
    return [
        _dispatch(hook),
        hook.record("launch", hook.call, {**_owner(hook), wire.LAUNCH_STATE: "rejected"}),
        *_delivered(hook, hook.call, "tool_result", {wire.OUTCOME: "error", wire.RESULT_SIZE: 0}),
    ]


def about_to_see(hook: Hook) -> list[Record]:
    """PostToolBatch: what the owner's next model request will contain.

    Only answers that end a run count, known by the trailer that the harness adds to a child's answer, or by being
    a bare text, which says why there is none. An acknowledgement of a launch, which always names the agent, is no
    result: taken for one it would hide a run that is only beginning.
    """
    calls = hook.body.get("tool_calls")
    found: list[Record] = []
    for call in calls if isinstance(calls, list) else ():
        if not isinstance(call, dict) or text_at(call, "tool_name") not in AGENT_TOOLS:
            continue
        run = name_at(call, "tool_use_id")
        if run is not None and _ends_run(call.get("tool_response")):
            found.append(hook.record("completion_consumed", run, _owner(hook)))
    return found


def _ends_run(answer: object) -> bool:
    if isinstance(answer, str):
        return bool(answer) and _NAMES_AGENT.search(answer) is None
    blocks = answer if isinstance(answer, list) else []
    last = blocks[-1] if len(blocks) > 1 else None
    text = text_at(last, "text") if isinstance(last, dict) else None
    return text is not None and _RESULT_TRAILER.match(text) is not None


def prompted(hook: Hook) -> list[Record]:
    """UserPromptSubmit: a turn begins; a prompt made of task notifications hands results to the model."""
    found = [hook.record("owner_turn", None, _owner(hook), phase=wire.PENDING)]
    for notice in notices(text_at(hook.body, "prompt")):
        found += notified(hook, notice, hook.received_ns)
    return found


def notified(hook: Hook, notice: Notice, at_ns: int) -> list[Record]:
    """Return the receipt and the hand-over that a notification proves, to the agent that this hook speaks for."""
    told = {
        wire.ALIAS: (notice.task,) if notice.task else None,
        wire.OUTCOME: notice.outcome,
        wire.RECEIVER: hook.agent_id or "",
        **notice.result,
    }
    return _delivered(hook, notice.run, "notification", told, at_ns=at_ns)


def absorbed(hook: Hook, transcript_path: str | None) -> list[Record]:
    """Return the hand-overs in the middle of a turn, which no hook tells, from the agent's transcript."""
    if hook.disk is None or transcript_path is None:
        return []
    return [
        record
        for taken in hook.disk.absorbed(transcript_path, hook.received_ns)
        for notice in notices(taken.text)
        for record in notified(hook, notice, taken.at_ns)
    ]


def turn_ended(hook: Hook) -> list[Record]:
    """Stop: the owner's turn is over, and this is what it believes it is owed."""
    owed: list[str] = []
    tasks = hook.body.get("background_tasks")
    for task in tasks[:_OWED_LIMIT] if isinstance(tasks, list) else ():
        if isinstance(task, dict) and text_at(task, "type") in ("subagent", "teammate", "cloud session"):
            owed += _names_of_task(task)
    return [
        *absorbed(hook, text_at(hook.body, "transcript_path")),
        hook.record("owner_turn", None, _owner(hook), phase=wire.ENDED),
        hook.record("owner_final", None, {**_owner(hook), wire.OWED: tuple(owed)}),
    ]


def turn_failed(hook: Hook) -> list[Record]:
    """StopFailure of the root: its turn ended in an API error. It says nothing of what is owed, so it is no final."""
    attributes = {**_owner(hook), wire.ERROR: name_at(hook.body, "error") or "unknown"}
    return [hook.record("owner_turn", None, attributes, phase=wire.ENDED)]


def session_ended(hook: Hook) -> list[Record]:
    """SessionEnd: nobody is left to deliver to."""
    reason = name_at(hook.body, "reason") or "other"
    gone = {wire.GONE_REASON: "user_exit" if reason in _USER_EXITS else reason}
    return [
        *absorbed(hook, text_at(hook.body, "transcript_path")),
        hook.record("owner_turn", None, _owner(hook), phase=wire.ENDED),
        hook.record("owner_gone", None, {**_owner(hook), **gone}),
    ]


def resumed(hook: Hook) -> list[Record]:
    """PostToolUse of SendMessage to an agent that had ended: it is asked again, which is a run of its own.

    Its id is that of this call, which the notice of its end names. What the agent says from now on belongs to it.
    """
    agent, call = name_at(hook.response, "resumedAgentId"), hook.call
    if agent is None or call is None:
        return []
    if hook.disk is not None:
        hook.disk.resumed(hook.session, agent, call)
    message = text_at(hook.input, "message")
    names: Attributes = {wire.ALIAS: (agent,), wire.CHILD_SESSION: agent, wire.CHANNEL: "notification"}
    told: Attributes = {
        **_owner(hook),
        **names,
        wire.PARENT_RUN: hook.speaker.run if hook.speaker is not None else None,
        wire.MODE: "background",
        wire.PROMPT_DIGEST: normalised_digest(message) if message else None,
    }
    launch: Attributes = {**_owner(hook), **names, wire.LAUNCH_STATE: "registered", wire.MODE: "background"}
    return [
        hook.record("dispatch", call, told, at_ns=hook.began_ns),
        hook.record("launch", call, launch),
    ]


def stopped_task(hook: Hook) -> list[Record]:
    """PostToolUse of TaskStop on an agent: its owner ended it."""
    kind = text_at(hook.response, "task_type") or ""
    run = name_at(hook.response, "task_id") or name_at(hook.input, "task_id")
    if "agent" not in kind or run is None:
        return []
    return [hook.record("kill", run, {wire.KILL_ACTOR: "owner", wire.KILL_RULE: "TaskStop"})]


def polled_task(hook: Hook) -> list[Record]:
    """PostToolUse of TaskOutput on an agent that ended: the owner fetched the result itself."""
    task = table_at(hook.response, "task")
    outcome = outcome_of(text_at(task, "status"))
    run = name_at(task, "task_id")
    if "agent" not in (text_at(task, "task_type") or "") or run is None or outcome is None:
        return []
    result = content_text(task.get("result")) or content_text(task.get("output"))
    told = {wire.OUTCOME: outcome, **(measured(result) if outcome == "ok" else {wire.RESULT_SIZE: 0})}
    return _delivered(hook, run, "polled", told)


def _dispatch(hook: Hook, *, at_ns: int | None = None, told: Attributes | None = None) -> Record:
    """The dispatch, at the hook's time or when the call began: the answer to a call proves it as well.

    The second witness keeps the obligation where the first hook was lost; harnesses do not retry. Which of the two is
    dated first is a matter of milliseconds, so both say the mode that was asked for; what came of it, the launch says.
    """
    description, prompt = text_at(hook.input, "description"), text_at(hook.input, "prompt")
    attributes: Attributes = {
        **_owner(hook),
        wire.PARENT_RUN: hook.speaker.run if hook.speaker is not None else None,
        wire.AGENT: name_at(hook.input, "subagent_type"),
        wire.MODE: "background" if _asked_background(hook) else "foreground",
        wire.DESCRIPTION: description[:DESCRIPTION_LIMIT] if description and hook.capture_content else None,
        wire.DESCRIPTION_DIGEST: normalised_digest(description) if description else None,
        wire.PROMPT_DIGEST: normalised_digest(prompt) if prompt else None,
        wire.REQUEST_MODEL: name_at(hook.input, "model"),
        **(told or {}),
    }
    return hook.record("dispatch", hook.call, attributes, at_ns=at_ns)


def _returned(hook: Hook) -> list[Record]:
    agent = name_at(hook.response, "agentId")
    names: Attributes = {wire.ALIAS: (agent,) if agent else None, wire.CHILD_SESSION: agent}
    model = name_at(hook.response, "resolvedModel")
    found = [
        _dispatch(
            hook,
            at_ns=hook.began_ns,
            told={**names, wire.CHANNEL: "tool_result", wire.RESPONSE_MODEL: model},
        )
    ]
    if _asked_background(hook):
        # Asked for in the background, answered in the foreground: else the answer would pass for a launch.
        found.append(hook.record("launch", hook.call, {**_owner(hook), wire.MODE: "foreground"}))
    if answered_nothing(hook.response):
        told: Attributes = {wire.OUTCOME: "error", wire.RESULT_SIZE: 0}
    else:
        told = {wire.OUTCOME: "ok", **measured(content_text(hook.response.get("content")))}
    return found + _delivered(hook, hook.call, "tool_result", {**names, **told})


def _launched(hook: Hook) -> list[Record]:
    ids = [name_at(hook.response, key) for key in ("agentId", "taskId")]
    names = tuple(name for name in ids if name is not None)
    return _registered(hook, "background", "notification", names, names[0] if names else None)


def _spawned(hook: Hook) -> list[Record]:
    name = name_at(hook.response, "name") or name_at(hook.input, "name")
    ids = [name_at(hook.response, key) for key in ("teammate_id", "agent_id")]
    names = [teammate_run(name)] if name else []
    names += [found for found in ids if found is not None and found not in names]
    prompt = text_at(hook.input, "prompt")
    if prompt:
        names.append(_owed_name(prompt))
    return _registered(hook, "teammate", "message", tuple(dict.fromkeys(names)), None)


def _registered(
    hook: Hook, mode: str, channel: str, names: tuple[str, ...], child: str | None
) -> list[Record]:
    model = name_at(hook.response, "resolvedModel") or name_at(hook.response, "model")
    known: Attributes = {wire.ALIAS: names or None, wire.CHILD_SESSION: child, wire.CHANNEL: channel}
    launch: Attributes = {**_owner(hook), **known, wire.LAUNCH_STATE: "registered", wire.MODE: mode}
    return [
        _dispatch(hook, at_ns=hook.began_ns, told={**known, wire.RESPONSE_MODEL: model}),
        hook.record("launch", hook.call, launch),
    ]


def _delivered(
    hook: Hook, run: str | None, source: str, told: Attributes, *, at_ns: int | None = None
) -> list[Record]:
    """Receipt, hand-over and consumption of one answer: to a hook they are one moment."""
    owner = _owner(hook)
    names = {key: told[key] for key in (wire.ALIAS, wire.CHILD_SESSION, wire.RECEIVER) if key in told}
    size = {key: told[key] for key in (wire.RESULT_SIZE, wire.RESULT_DIGEST, wire.RESULT_FORM) if key in told}
    received: Attributes = {**owner, **told, wire.RESULT_SOURCE: source}
    return [
        hook.record("completion_received", run, received, at_ns=at_ns),
        hook.record(
            "completion_forwarded", run, {**owner, **names, **size, wire.FORWARDED: True}, at_ns=at_ns
        ),
        hook.record("completion_consumed", run, owner, at_ns=at_ns),
    ]


def _names_of_task(task: dict[str, object]) -> list[str]:
    """The names under which a task in the owner's list may be known: its id, and for a teammate its name or prompt."""
    found = [name for key in ("id",) if (name := name_at(task, key)) is not None]
    if text_at(task, "type") == "teammate":
        name, description = name_at(task, "name"), text_at(task, "description")
        found += [teammate_run(name)] if name else []
        found += [_owed_name(description)] if description else []
    return found


def _owed_name(prompt: str) -> str:
    """Return a teammate's name by its prompt: in the owner's task list it has an id that nothing else mentions."""
    return f"owed:{normalised_digest(prompt[:_DIGESTED_PROMPT])}"


def _owner(hook: Hook) -> Attributes:
    return {wire.OWNER: hook.agent_id}


def _asked_background(hook: Hook) -> bool:
    return hook.input.get("run_in_background") is True
