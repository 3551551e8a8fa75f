"""Reads the notices to the model from Qwen Code's transcripts, which no hook tells, where they lie on this machine."""

from __future__ import annotations

import re

from .claude_code_body import table_at, text_at
from .claude_code_disk import TAIL, TakenUp, absolute, object_of, read_tail
from .claude_code_result import content_text
from .moment import moment_ns

_FIRST_CALL = re.compile(r"<tool-use-id>[^<]*</tool-use-id>")
_DAY_NS = 86_400 * 1_000_000_000


class Notes:
    """The harness's own notes: internal to it, absent or of another shape tomorrow; then nothing is told."""

    def readable(self, transcript_path: str) -> bool:
        """Tell whether a transcript lies here."""
        path = absolute(transcript_path)
        return path is not None and path.is_file()

    def absorbed(self, transcript_path: str, received_ns: int) -> list[TakenUp]:
        """Return the notices that were put to the agent of this transcript, each time anew with the same moments."""
        path = absolute(transcript_path)
        tail = read_tail(path, TAIL) if path is not None and path.suffix == ".jsonl" else None
        found = []
        for line in tail.split(b"\n") if tail is not None else ():
            if b"<task-notification>" in line and b'"notification"' in line:
                taken = _taken_up(line)
                if taken is not None and received_ns - _DAY_NS <= taken.at_ns <= received_ns:
                    found.append(taken)
        return found


def _taken_up(line: bytes) -> TakenUp | None:
    values = object_of(line)
    if values is None or (values.get("type"), values.get("subtype")) != ("user", "notification"):
        return None
    text, at = content_text(table_at(values, "message").get("parts")), text_at(values, "timestamp")
    if text is None or at is None:
        return None
    try:
        # It names the first call of an agent for ever, also where the agent was asked again.
        return TakenUp(moment_ns(at), _FIRST_CALL.sub("", text))
    except ValueError:
        return None
