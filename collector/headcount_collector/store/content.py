"""What intake keeps of prompts and results: the attributes that carry them are dropped unless capture is on."""

from __future__ import annotations

import re
from collections.abc import Iterable

CONTENT_ATTRIBUTES: tuple[str, ...] = (
    # our own conventions
    "subagent.description",
    # OpenTelemetry's GenAI conventions, present and former
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "gen_ai.tool.definitions",
    "gen_ai.prompt*",
    "gen_ai.completion*",
    "gen_ai.content.*",
    "gen_ai.event.content",
    # Claude Code
    "user_prompt",
    "full_command",
    "tool_input",
    "tool_parameters",
    "tool_output",
    "response",
    # OpenInference, OpenLLMetry
    "input.value",
    "output.value",
    "llm.input_messages*",
    "llm.output_messages*",
    "llm.prompts*",
    "llm.completions*",
    "traceloop.entity.input",
    "traceloop.entity.output",
)
"""Attribute names known to carry prompts, results or tool arguments; a trailing `*` matches any rest."""

LOG_CONTENT_ATTRIBUTES: tuple[str, ...] = ("prompt", "body", "assistant_response", "raw_input", "raw_output")
"""Names that carry content on log records, where a span may use them for something harmless."""

# RE2 has no pattern for "never" that is shorter: no text starts after its end.
_NEVER = "$."


def content_pattern(names: Iterable[str]) -> str:
    """Return the regular expression that matches exactly these attribute names; none for an empty list.

    It is free of backslashes and quotes, so that it can stand in SQL as it is.
    """
    parts = [_pattern(name) for name in names]
    return f"^({'|'.join(parts)})$" if parts else _NEVER


def _pattern(name: str) -> str:
    stem, star = (name[:-1], ".*") if name.endswith("*") else (name, "")
    if not re.fullmatch(r"[\w.:/ -]+", stem):
        raise ValueError(f"attribute name {name!r}: only letters, digits and _ . : / - may stand in it")
    return stem.replace(".", "[.]") + star
