"""Reads two things from Claude Code's transcripts that no hook tells, where they lie on the collector's machine."""

from __future__ import annotations

import json
import os
import re
import stat
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from .claude_code_body import name_at, table_at, text_at
from .claude_code_result import content_text
from .moment import moment_ns

_META_LIMIT = 64 * 1024
TAIL = 4 * 1024 * 1024
"""How far back from its end a transcript is searched: more than the turns that end between two hooks."""
_KNOWN_LIMIT = 4096
_DAY_NS = 86_400 * 1_000_000_000
_FLAGS: int = sum(getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NONBLOCK", "O_NOFOLLOW", "O_BINARY"))
_AGENT_ID = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)


@dataclass(frozen=True, slots=True)
class TakenUp:
    """A task notification that an agent took up in the middle of a turn, and when."""

    at_ns: int
    text: str


@dataclass(frozen=True, slots=True)
class Joined:
    """The `tool_use_id` of the call that dispatched an agent; `news` the first time it is told."""

    run: str
    news: bool = False


class TranscriptFolder:
    """The harness's own notes. Files are internal to it and may be absent, late or of another shape: then nothing is told.

    Safe for use from several threads. Only regular files with the harness's names are opened, and nothing of them
    is kept but the call that dispatched an agent.
    """

    def __init__(self) -> None:
        self._calls: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._lock = Lock()

    def join_of_agent(self, transcript_path: str, session: str, agent_id: str) -> Joined | None:
        """Return the call that dispatched an agent, by the note beside its transcript.

        What was found is remembered; an absent note is looked for again, since it is written while the agent starts.
        """
        key = (session, agent_id)
        with self._lock:
            known = self._calls.get(key)
        if known is not None:
            return Joined(known)
        if _AGENT_ID.fullmatch(agent_id) is None:
            return None
        main = absolute(transcript_path)
        if main is None or main.name != f"{session}.jsonl":
            return None
        call = _dispatching_call(main.with_suffix("") / "subagents" / f"agent-{agent_id}.meta.json")
        if call is None:
            return None
        self.resumed(session, agent_id, call)
        return Joined(call, news=True)

    def resumed(self, session: str, agent_id: str, call: str) -> None:
        """Take note of the call that an agent works for: the harness's own note keeps the first."""
        with self._lock:
            self._calls[session, agent_id] = call
            while len(self._calls) > _KNOWN_LIMIT:
                self._calls.popitem(last=False)

    def absorbed(self, transcript_path: str, received_ns: int) -> list[TakenUp]:
        """Return the notifications that the agent of this transcript took up in the middle of its turns.

        They are told again each time, with the same moments, so that one lost answer loses nothing.
        """
        path = absolute(transcript_path)
        if path is None or path.suffix != ".jsonl":
            return []
        tail = read_tail(path, TAIL)
        found = []
        for line in tail.split(b"\n") if tail is not None else ():
            if b'"queued_command"' in line and b"<task-notification>" in line:
                taken = _taken_up(line)
                if taken is not None and received_ns - _DAY_NS <= taken.at_ns <= received_ns:
                    found.append(taken)
        return found


def absolute(text: str) -> Path | None:
    """Return an absolute path, None for anything else."""
    path = Path(text) if "\0" not in text else None
    return path if path is not None and path.is_absolute() else None


def _dispatching_call(path: Path) -> str | None:
    content = read_tail(path, _META_LIMIT)
    values = object_of(content) if content is not None else None
    return name_at(values, "toolUseId") if values is not None else None


def _taken_up(line: bytes) -> TakenUp | None:
    values = object_of(line)
    attachment = table_at(values, "attachment") if values is not None else {}
    if values is None or text_at(attachment, "type") != "queued_command":
        return None
    text, at = content_text(attachment.get("prompt")), text_at(values, "timestamp")
    if text is None or at is None:
        return None
    try:
        return TakenUp(moment_ns(at), text)
    except ValueError:
        return None


def object_of(content: bytes) -> dict[str, object] | None:
    """Return the JSON object of one line, None where it is none."""
    try:
        values = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


def read_tail(path: Path, limit: int) -> bytes | None:
    """Return the last `limit` bytes of a regular file; None where there is none. Opening never waits for a pipe."""
    flags = os.O_RDONLY | _FLAGS
    try:
        descriptor = os.open(path, flags)
    except (OSError, ValueError):
        return None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            file.seek(max(0, found.st_size - limit))
            return file.read(limit)
    except OSError:
        return None
    finally:
        os.close(descriptor)
