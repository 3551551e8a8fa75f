"""Results of Claude Code's sub-agents: measured and digested where they stand, so that no text goes further."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from . import wire
from .claude_code_body import Attributes, name_at, text_at
from .digest import result_digest, text_bytes

_OUTCOMES = {
    "completed": "ok",
    "failed": "error",
    "error": "error",
    "killed": "killed",
    "stopped": "cancelled",
    "cancelled": "cancelled",
    "timeout": "timeout",
}
_BLOCKS = re.compile(r"</task-notification>\s*<task-notification>")
_TAG = {
    tag: re.compile(rf"<{tag}>([^<]*)</{tag}>") for tag in ("task-id", "tool-use-id", "status", "output-file")
}


def outcome_of(status: str | None) -> str | None:
    """Return the outcome for a task's status in the harness's words; None where it is not an end."""
    return _OUTCOMES.get((status or "").strip().lower())


def measured(text: str | None) -> Attributes:
    """Return size and digest of a result; nothing where it is not known."""
    if text is None:
        return {}
    return {
        wire.RESULT_SIZE: len(text_bytes(text)),
        wire.RESULT_DIGEST: result_digest(text) if text else None,
        wire.RESULT_FORM: "raw",
    }


def located(path: str | None) -> Attributes:
    """Return where a result lies, as a URI."""
    if not path:
        return {}
    return {wire.RESULT_LOCATION: f"file://{path}" if path.startswith("/") else path}


def content_text(content: object) -> str | None:
    """Return the text of a tool's answer, which is a string or a list of blocks; None where it is neither."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    return "\n".join(text_at(block, "text") or "" for block in content if isinstance(block, dict))


def answered_nothing(response: Mapping[str, object]) -> bool:
    """Tell whether a `completed` answer is an API error in the shape of one.

    The harness calls a child completed whose model request failed, and hands over the error's text. An answer
    that took no token is none.
    """
    tokens = response.get("totalTokens")
    return isinstance(tokens, int) and not isinstance(tokens, bool) and tokens == 0


@dataclass(frozen=True, slots=True)
class Notice:
    """A task notification about a sub-agent."""

    run: str
    task: str | None
    outcome: str
    result: Attributes


def notices(prompt: str | None) -> Iterator[Notice]:
    """Yield the notifications that make up a prompt; a text that only quotes one is none.

    A notification about a shell command has the same form. It is told apart by what only agents have, since a
    run that nobody dispatched must not arise from it.
    """
    if prompt is None or not prompt.lstrip().startswith("<task-notification>"):
        return
    for block in _BLOCKS.split(prompt):
        head, _, rest = block.partition("<result>")
        result, closed, tail = rest.rpartition("</result>")
        head, tail = (head, tail) if closed else (block, block)
        if "<summary>Agent " not in head and "<subagent_tokens>" not in tail:
            continue
        told = {tag: match[1].strip() for tag, pattern in _TAG.items() if (match := pattern.search(head))}
        run = name_at(told, "tool-use-id") or name_at(told, "task-id")
        outcome = outcome_of(told.get("status"))
        if run is None or outcome is None:
            continue
        # A completed task without a result in its notice left it in the file that the notice names.
        size: Attributes = {} if outcome == "ok" else {wire.RESULT_SIZE: 0}
        yield Notice(
            run,
            name_at(told, "task-id"),
            outcome,
            {**located(told.get("output-file")), **(measured(result) if closed else size)},
        )
