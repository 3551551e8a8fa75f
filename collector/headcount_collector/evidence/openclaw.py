"""Turns OpenClaw's task ledger (`openclaw tasks list --json`) and spawn receipts into lifecycle records.

Its telemetry names no session. Read against recordings of version 2026.9.6.

A task of a sub-agent is a run: its run id, else its task id. Each state of the ledger proves what led to it, with the
ledger's own times, so that a ledger read late, or twice, says the same. What is silent on purpose stays so: a task whose
delivery is not applicable returns to nobody. A result that waits in the session's queue is received, not yet given; the
terminal outcome `blocked` means finished and not handed back. A progress note counts as progress: the ledger has no
finer one; so does the number of tools used. Tasks of the shell and the clock are nobody's obligation.

A receipt is the answer of `sessions_spawn`: it proves the dispatch before any reading of the ledger, and alone says that
no completion message is expected. It has no time and names no requester: `at` (milliseconds) and `requesterSessionKey`
may be added by whoever kept it; else it counts as of its reading, and its owner is the main session of the agent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from . import wire
from .claude_code_body import name_at, table_at, text_at
from .digest import normalised_digest
from .record import AttributeValue, Record

SERVICE = "openclaw"

_AGENT_OF = re.compile(r"agent:(?P<agent>[^:]+):")
_SPAWNS = "acceptedSessionSpawns"
_RUNTIMES = frozenset({"subagent", "acp"})
_OUTCOMES = {"succeeded": "ok", "failed": "error", "timed_out": "timeout", "cancelled": "cancelled"}
_HELD = frozenset({"delivered", "session_queued", "failed", "parent_missing"})
_FORWARDED = {"delivered": True, "failed": False, "parent_missing": False}

Task = Mapping[str, object]


def records_from_ledger(document: object, read_ns: int | None = None) -> list[Record]:
    """Return what a ledger proves: a list of tasks, or an object with one. Tasks of another shape prove nothing.

    Receipts may stand among them, or alone; one without a time counts as of `read_ns`.
    """
    tasks = [found for item in _listed(document) for found in (_receipts_in(item) or [item])]
    requesters = {
        child: requester
        for task in tasks
        if (child := name_at(task, "childSessionKey")) and (requester := name_at(task, "requesterSessionKey"))
    }
    return [
        record
        for task in tasks
        for record in (
            _of_receipt(task, requesters, read_ns) if _is_receipt(task) else _of_task(task, requesters)
        )
    ]


def _listed(document: object) -> list[Task]:
    listed = document.get("tasks", [document]) if isinstance(document, dict) else document
    return [task for task in listed if isinstance(task, dict)] if isinstance(listed, list) else []


def _receipts_in(item: Task) -> list[Task]:
    """Return the receipts in what `openclaw agent --json` prints of a turn; none in anything else."""
    result = table_at(item, "result")
    spawns = result.get(_SPAWNS, item.get(_SPAWNS))
    report = table_at(table_at(result, "meta"), "systemPromptReport")
    session = name_at(report, "sessionKey")
    about = {"status": "accepted", **({"requesterSessionKey": session} if session else {})}
    return (
        [{**about, **spawn} for spawn in spawns if isinstance(spawn, dict)]
        if isinstance(spawns, list)
        else []
    )


def _is_receipt(task: Task) -> bool:
    return task.get("status") == "accepted" and "runtime" not in task


def _of_receipt(receipt: Task, requesters: Mapping[str, str], read_ns: int | None) -> Iterator[Record]:
    run, child = name_at(receipt, "runId"), name_at(receipt, "childSessionKey")
    at_ns = _moment(receipt, "at") or read_ns
    agent = _AGENT_OF.match(child) if child is not None else None
    if run is None or child is None or agent is None or at_ns is None:
        return
    main = f"agent:{agent['agent']}:main"
    requester = name_at(receipt, "requesterSessionKey") or requesters.get(child) or main
    told = _Teller(run, _root(requester, requesters), requester, child)
    silent = receipt.get("expectsCompletionMessage") is False
    dispatch: dict[str, AttributeValue | None] = {
        wire.AGENT: agent["agent"],
        wire.MODE: "background",
        wire.CHANNEL: "none" if silent else "notification",
        wire.RESPONSE_MODEL: name_at(receipt, "resolvedModel"),
    }
    yield told.record("dispatch", at_ns, dispatch)
    yield told.record("launch", at_ns, {wire.LAUNCH_STATE: "registered"})


def _of_task(task: Task, requesters: Mapping[str, str]) -> Iterator[Record]:
    run = name_at(task, "runId") or name_at(task, "taskId")
    requester, created = name_at(task, "requesterSessionKey"), _moment(task, "createdAt")
    if run is None or requester is None or created is None or text_at(task, "runtime") not in _RUNTIMES:
        return
    told = _Teller(run, _root(requester, requesters), requester, name_at(task, "childSessionKey"))
    yield told.record("dispatch", created, _dispatch(task))
    status, delivery = text_at(task, "status"), text_at(task, "deliveryStatus")
    started, ended = _moment(task, "startedAt"), _moment(task, "endedAt")
    heard = _moment(task, "lastEventAt")
    if status == "queued" or started is not None:
        state = "queued" if started is None else "registered"
        yield told.record("launch", started or created, {wire.LAUNCH_STATE: state})
    if started is not None:
        yield told.record("start", started, {wire.ATTEMPT: 1, wire.AGENT: _agent(task)})
    yield from _tools(told, task, run, ended or heard)
    if started is not None and heard is not None and heard > started and ended is None:
        noted = text_at(task, "progressSummary")
        yield told.record(
            "first_token" if noted else "heartbeat", heard, {wire.TURN: str(heard)} if noted else {}
        )
    if ended is None:
        return
    yield from _end(told, task, status, ended)
    if delivery in _HELD and status in _OUTCOMES:
        yield from _delivery(told, task, delivery, _OUTCOMES[status], max(ended, heard or ended))


def _tools(told: _Teller, task: Task, run: str, at: int | None) -> Iterator[Record]:
    """Yield the last tool call that the ledger counts: it tells how many there were, not when."""
    uses = task.get("toolUseCount")
    if at is not None and isinstance(uses, int) and not isinstance(uses, bool) and uses > 0:
        about: dict[str, AttributeValue | None] = {
            wire.TOOL: name_at(task, "lastToolName"),
            wire.CALL: f"{run}:{uses}"[:512],
        }
        yield told.record("tool_call", at, about, phase=wire.ENDED)


def _dispatch(task: Task) -> dict[str, AttributeValue | None]:
    label, prompt = text_at(task, "label"), text_at(task, "task")
    silent = text_at(task, "deliveryStatus") == "not_applicable"
    task_id = name_at(task, "taskId")
    return {
        wire.AGENT: _agent(task),
        wire.MODE: "background",
        wire.CHANNEL: "none" if silent else "notification",
        wire.ALIAS: (task_id,) if task_id else None,
        wire.DESCRIPTION_DIGEST: normalised_digest(label) if label else None,
        wire.PROMPT_DIGEST: normalised_digest(prompt) if prompt else None,
    }


def _end(told: _Teller, task: Task, status: str | None, ended: int) -> Iterator[Record]:
    if status == "lost":
        yield told.record("child_gone", ended, {})
    elif status == "cancelled":
        # Only its owner and the operator can, and of the operator the ledger says so.
        by_operator = "by operator" in (text_at(task, "error") or "").lower()
        actor = "user" if by_operator else "owner"
        yield told.record("kill", ended, {wire.KILL_ACTOR: actor, wire.KILL_RULE: "cancelled"})
    elif status in _OUTCOMES:
        failed = status != "succeeded"
        empty = failed and not text_at(task, "terminalSummary")
        yield told.record(
            "child_done", ended, {wire.OUTCOME: _OUTCOMES[status], wire.RESULT_SIZE: 0 if empty else None}
        )


def _delivery(told: _Teller, task: Task, delivery: str, outcome: str, at: int) -> Iterator[Record]:
    received = {wire.RESULT_SOURCE: "completion_push", wire.OUTCOME: outcome}
    yield told.record("completion_received", at, received)
    blocked = text_at(task, "terminalOutcome") == "blocked"
    forwarded = False if blocked else _FORWARDED.get(delivery)
    if forwarded is not None:
        final = True if blocked or delivery == "parent_missing" else None
        error = None if forwarded else delivery
        about = {wire.FORWARDED: forwarded, wire.FORWARD_FINAL: final, wire.ERROR: error}
        yield told.record("completion_forwarded", at, about)


class _Teller:
    def __init__(self, run: str, session: str, requester: str, child: str | None) -> None:
        self._run = run
        self._session = session
        self._about: dict[str, AttributeValue | None] = {
            wire.OWNER: requester if requester != session else None,
            wire.CHILD_SESSION: child,
            wire.PRODUCER: f"{SERVICE}:{session}{wire.READ_LATE}",
        }

    def record(
        self, event: str, at_ns: int, told: Mapping[str, AttributeValue | None], *, phase: str | None = None
    ) -> Record:
        said = {key: value for key, value in {**self._about, **told}.items() if value is not None}
        return Record(event, at_ns, self._run, self._session, said, phase=phase, service=SERVICE)


def _root(requester: str, requesters: Mapping[str, str]) -> str:
    """Return the session that stands at the beginning of a chain of sub-agents; a circle ends where it began."""
    seen: set[str] = set()
    while requester in requesters and requester not in seen:
        seen.add(requester)
        requester = requesters[requester]
    return requester


def _agent(task: Task) -> str | None:
    return name_at(task, "agentId") or name_at(task, "taskKind")


def _moment(task: Task, key: str) -> int | None:
    """Return a time of the ledger, milliseconds since the epoch, in nanoseconds."""
    value = task.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e13:
        return None
    return int(value) * 1_000_000
