"""Reads a session of Claude Code from its transcripts, for where no hook was installed or one was lost.

The files are the harness's own: of another shape tomorrow, written late, torn at the end. What a line says is put in
the words of the hook that would have said it, so that there is one reading of the harness; what no hook says is added:
first tokens, output, and the moment at which a notice was queued. Each line has a time of its own, and the same file
read twice gives the same records. A file that is no transcript gives none.

A child that is asked again after its answer works in a new run: that of the call which woke it, else `<agent>#2`. No line tells what the owner believes to
be owed at the end of a turn, so no final is stated.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from . import wire
from .claude_code import records_from_hook
from .claude_code_body import AGENT_TOOLS, SERVICE, Hook, Speaker, name_at, table_at, text_at
from .claude_code_disk import TranscriptFolder
from .claude_code_owner import notified
from .claude_code_result import content_text, notices
from .moment import moment_ns
from .record import Record

_INTERRUPTED = "[Request interrupted"
_NOTICE = "<task-notification>"
_RETURNS = frozenset({"completion_received", "completion_forwarded", "completion_consumed"})


def records_from_transcript(path: Path, *, capture_content: bool = False) -> list[Record]:
    """Return what a session's file `<session>.jsonl` and those of its agents beside it prove, by event time."""
    reading = _Reading(path.absolute(), capture_content)
    records = list(reading.owner())
    for file in sorted(path.with_suffix("").glob("subagents/**/agent-*.jsonl")):
        records += reading.child(file)
    signed = f"{SERVICE}:{path.stem}{wire.READ_LATE}"
    told = (
        replace(record, attributes={**record.attributes, wire.PRODUCER: signed})
        for record in reading.as_resumed(records)
    )
    return sorted(told, key=lambda record: record.at_ns)


def lines_of(path: Path) -> Iterator[dict[str, object]]:
    """Yield the records of a transcript that can be read; a torn or foreign line is passed over."""
    try:
        content = path.read_bytes()
    except OSError:
        return
    for line in content.splitlines():
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            yield found


@dataclass(slots=True)
class _Child:
    """An agent as its file tells it: when it was asked again, after an answer."""

    agent: str
    run: str
    resumes: list[tuple[int, str]] = field(default_factory=list)
    """When it was asked again, and the run's id."""

    def run_at(self, at_ns: int) -> str | None:
        """Return the run of a resume that this moment belongs to; None for the first."""
        return next((run for since, run in reversed(self.resumes) if since <= at_ns), None)


class _Reading:
    def __init__(self, path: Path, capture_content: bool) -> None:
        self._path = path
        self._session = path.stem
        self._capture = capture_content
        self._disk = TranscriptFolder()
        self._children: dict[str, _Child] = {}
        self._called_at: dict[str, int] = {}
        self._woken: dict[str, list[tuple[int, str]]] = {}
        """By agent: when it was woken, and by which call."""
        self._calls: dict[str, Mapping[str, object]] = {}

    def owner(self) -> Iterator[Record]:
        """Yield what the session's own file says."""
        busy = False
        for line, at_ns in self._dated(self._path):
            if line.get("isSidechain") is True:
                continue
            for record in self._of_line(line, at_ns, {}):
                # What is put to a busy owner opens no second turn.
                if record.event != "owner_turn" or not busy:
                    yield record
                busy = busy or record.event == "owner_turn"
            if _ends_turn(line):
                busy = False
                yield Hook({}, at_ns, self._session, None).record("owner_turn", None, {}, phase=wire.ENDED)

    def child(self, path: Path) -> Iterator[Record]:
        """Yield what an agent's file says."""
        agent = path.stem.removeprefix("agent-")
        meta = next(lines_of(path.with_suffix(".meta.json")), {})
        kind = name_at(meta, "agentType") or name_at(meta, "customAgentType") or "subagent"
        speaks = {"agent_id": agent, "agent_type": kind}
        self._children[agent] = child = _Child(agent, name_at(meta, "toolUseId") or agent)
        child.resumes.extend(self._woken.get(agent, ()))
        heard, tokens, told, answered = False, 0, dict[str, int](), False
        for line, at_ns in self._dated(path):
            text = _prompt(line)
            if not heard:
                yield from self._hook({"hook_event_name": "SubagentStart", **speaks}, at_ns)
                heard = True
            elif answered and text and not text.startswith(_NOTICE) and agent not in self._woken:
                yield self._resume(child, kind, at_ns)
                yield from self._hook({"hook_event_name": "SubagentStart", **speaks}, at_ns)
            yield from self._of_line(line, at_ns, speaks)
            message = table_at(line, "message")
            answer, used = name_at(message, "id"), table_at(message, "usage").get("output_tokens")
            if line.get("type") == "assistant" and answer is not None and isinstance(used, int):
                hook = self._as_hook(speaks, at_ns)
                if answer not in told and line.get("isApiErrorMessage") is not True:
                    yield hook.of_child("first_token", {wire.TURN: answer})
                if used > told.get(answer, 0):
                    tokens += used - told.get(answer, 0)
                    told[answer] = used
                    yield hook.of_child("output", {wire.OUTPUT_TOKENS: tokens, wire.TURN: answer})
            if line.get("isApiErrorMessage") is True:
                error = {"hook_event_name": "StopFailure", "error": name_at(line, "error") or "unknown"}
                yield from self._hook({**error, **speaks}, at_ns)
            answered = _ends_turn(line) or (answered and not text)
            if _ends_turn(line):
                stop: dict[str, object] = {
                    "hook_event_name": "SubagentStop",
                    "agent_transcript_path": str(path.absolute()),
                    "last_assistant_message": content_text(message.get("content")),
                }
                yield from self._hook({**stop, **speaks}, at_ns)

    def as_resumed(self, records: list[Record]) -> Iterator[Record]:
        """Yield the records, those that belong to a resume under its own run."""
        by_name = {name: child for child in self._children.values() for name in (child.agent, child.run)}
        for record in records:
            child = by_name.get(record.run or "")
            own = record.attributes.get(wire.CHILD_SESSION) == (child.agent if child else "")
            run = child.run_at(record.at_ns) if child and (own or record.event in _RETURNS) else None
            if run is None or record.event == "dispatch":
                yield record
            else:
                told = {key: value for key, value in record.attributes.items() if key != wire.ALIAS}
                yield replace(record, run=run, attributes=told)

    def _resume(self, child: _Child, kind: str, at_ns: int) -> Record:
        """Begin another run of a child of which no call tells who woke it."""
        run = f"{child.agent}#{len(child.resumes) + 2}"
        child.resumes.append((at_ns, run))
        told = {wire.AGENT: kind, wire.MODE: "background", wire.CHILD_SESSION: child.agent}
        return Hook({}, at_ns, self._session, None).record("dispatch", run, told)

    def _of_line(self, line: Mapping[str, object], at_ns: int, speaks: Mapping[str, str]) -> Iterator[Record]:
        kind = line.get("type")
        if kind == "queue-operation" and line.get("operation") == "enqueue":
            for notice in notices(text_at(line, "content")):
                # It is queued: the harness has it, and the model does not yet.
                yield notified(self._as_hook(speaks, at_ns), notice, at_ns)[0]
        elif kind == "attachment":
            attachment = table_at(line, "attachment")
            if text_at(attachment, "type") == "queued_command":
                for notice in notices(content_text(attachment.get("prompt"))):
                    yield from notified(self._as_hook(speaks, at_ns), notice, at_ns)
        elif (prompt := _prompt(line)) and (prompt.startswith(_NOTICE) or not speaks):
            # What else is put to a child is its task, which opens no turn of an owner.
            event = {"hook_event_name": "UserPromptSubmit", "prompt": prompt}
            yield from self._hook({**event, **speaks}, at_ns)
        for block in _blocks(line):
            yield from self._of_block(block, line, at_ns, speaks)

    def _of_block(
        self,
        block: Mapping[str, object],
        line: Mapping[str, object],
        at_ns: int,
        speaks: Mapping[str, str],
    ) -> Iterator[Record]:
        if block.get("type") == "tool_use" and (call := name_at(block, "id")):
            self._called_at[call] = at_ns
            self._calls[call] = {
                "tool_name": block.get("name"),
                "tool_input": block.get("input"),
                "tool_use_id": call,
            }
            if speaks or block.get("name") in AGENT_TOOLS:
                yield from self._hook({"hook_event_name": "PreToolUse", **self._calls[call], **speaks}, at_ns)
        elif block.get("type") == "tool_result" and (call := name_at(block, "tool_use_id")):
            body: dict[str, object] = {**self._calls.get(call, {}), **speaks}
            if "tool_name" not in body:
                return
            if block.get("is_error") is True:
                body |= {"hook_event_name": "PostToolUseFailure", "error": content_text(block.get("content"))}
            else:
                answer = line.get("toolUseResult")
                woken = name_at(answer, "resumedAgentId") if isinstance(answer, dict) else None
                if woken is not None:
                    self._woken.setdefault(woken, []).append((self._called_at.get(call, at_ns), call))
                body |= {"hook_event_name": "PostToolUse", "tool_response": answer or {}}
            yield from self._hook(body, at_ns)

    def _hook(self, body: Mapping[str, object], at_ns: int) -> list[Record]:
        said = {"session_id": self._session, "transcript_path": str(self._path), **body}
        return records_from_hook(said, at_ns, capture_content=self._capture, disk=_OnlyJoins(self._disk))

    def _as_hook(self, speaks: Mapping[str, str], at_ns: int) -> Hook:
        body = {"transcript_path": str(self._path), **speaks}
        speaker = Speaker.of(body, self._session, self._disk) if speaks else None
        return Hook(body, at_ns, self._session, speaker, self._capture)

    def _dated(self, path: Path) -> Iterator[tuple[dict[str, object], int]]:
        """Yield the lines with their times; one without a time counts as of the one before it."""
        at_ns = 0
        for line in lines_of(path):
            try:
                at_ns = moment_ns(text_at(line, "timestamp") or "")
            except ValueError:
                if not at_ns:
                    continue
            yield line, at_ns


class _OnlyJoins:
    """The harness's notes without what was taken up in the middle of turns: the lines say that themselves."""

    def __init__(self, disk: TranscriptFolder) -> None:
        self.join_of_agent = disk.join_of_agent

    def resumed(self, session: str, agent_id: str, call: str) -> None:
        """Take no note: the files are read one after the other, and times tell what belongs to a resume."""

    def absorbed(self, transcript_path: str, received_ns: int) -> tuple[()]:
        return ()


def final_answer(path: Path) -> str | None:
    """Return the last answer in a transcript: the text of its last message that has one; None where there is none."""
    texts: dict[str, list[str]] = {}
    latest = None
    for line in lines_of(path):
        if line.get("type") != "assistant" or line.get("isApiErrorMessage") is True:
            continue
        message = name_at(table_at(line, "message"), "id") or ""
        for block in _blocks(line):
            text = text_at(block, "text") if block.get("type") == "text" else None
            if text:
                texts.setdefault(message, []).append(text)
                latest = message
    return "\n".join(texts[latest]) if latest is not None else None


def _blocks(line: Mapping[str, object]) -> list[dict[str, object]]:
    content = table_at(line, "message").get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _prompt(line: Mapping[str, object]) -> str | None:
    """Return the text that a user record puts to the agent; None for answers of tools and the harness's own notes."""
    if line.get("type") != "user" or line.get("isMeta") is True or line.get("isCompactSummary") is True:
        return None
    if any(block.get("type") == "tool_result" for block in _blocks(line)):
        return None
    text = content_text(table_at(line, "message").get("content"))
    return None if text is None or text.startswith(_INTERRUPTED) else text


def _ends_turn(line: Mapping[str, object]) -> bool:
    return (
        line.get("type") == "assistant"
        and table_at(line, "message").get("stop_reason") == "end_turn"
        and line.get("isApiErrorMessage") is not True
    )
