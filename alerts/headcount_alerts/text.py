"""Turns a message into text: sandboxed templates, one folder of ours and one of the user's, telemetry made harmless."""

from __future__ import annotations

import html
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, FileSystemLoader, PackageLoader, StrictUndefined
from jinja2.exceptions import SecurityError, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from headcount_alerts.errors import AlertsConfigError
from headcount_alerts.neutral import LONGEST, STYLES

_ENDINGS = {"text": "txt", "slack": "slack", "markdown": "md", "html": "html"}


FIRST_LINE = 178
"""Characters that a locked telephone shows."""
_FEWER = (4, 2, 1, 0)
"""How many runs a text describes where a service takes no more."""


class Texts:
    """Renders messages. Templates are `title.txt`, `body.txt`, `body.md`, `body.slack`, `body.html`, `nudge.txt`."""

    def __init__(self, folder: Path | None = None) -> None:
        ours = PackageLoader("headcount_alerts", "templates")
        loader = ours if folder is None else ChoiceLoader([FileSystemLoader(folder), ours])
        self._environments = {style: _environment(loader, style) for style in STYLES}

    def title(self, message: dict[str, Any], style: str = "text") -> str:
        """Return the first line, which has to do on a locked telephone."""
        line = self._line(style, message)
        over = len(line) - FIRST_LINE
        if over > 0:  # long names give way to what is wrong and what not to do
            subject = message["subject"][:LONGEST]
            line = self._line(
                style, {**message, "subject": subject[: max(16, len(subject) - over - 1)] + "\u2026"}
            )
        return line

    def _line(self, style: str, message: dict[str, Any]) -> str:
        return " ".join(self._render("title.txt", style, message).split())

    def body(self, message: dict[str, Any], style: str = "text", room: int | None = None) -> str:
        """Return the whole text in a style: text, markdown, slack or html; of fewer runs where `room` is too little."""
        name = f"body.{_ENDINGS[style]}"
        text = self._render(name, style, message)
        if room is None:
            return text
        for runs in _FEWER:
            if size(text) <= room:
                return text
            text = self._render(name, style, _shortened(message, runs))
        return cut(text, room)

    def nudge(self, message: dict[str, Any]) -> str:
        """Return what an agent is told."""
        return self._render("nudge.txt", "text", message)

    def _render(self, name: str, style: str, message: dict[str, Any]) -> str:
        try:
            values = {
                "repeat": False,
                "nudges": 1,
                "fallback_for": "",
                **message,
                "link": _link(message.get("url"), style),
                "dashboard": _link(message.get("dashboard"), style),
            }
            return self._environments[style].get_template(name).render(values).strip() + "\n"
        except (TemplateError, SecurityError) as error:
            raise AlertsConfigError(f"template {name}: {error}") from error


def _environment(loader: Any, style: str) -> ImmutableSandboxedEnvironment:
    neutral = lru_cache(maxsize=4096)(STYLES[style])

    def finalize(value: Any) -> Any:
        """Every value that a template prints goes through here; text of the template itself does not."""
        if value is None:
            return ""
        return value if isinstance(value, int | float | _Trusted) else neutral(str(value))

    return ImmutableSandboxedEnvironment(
        loader=loader,
        undefined=StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # finalize escapes, for HTML too
    )


def size(text: str) -> int:
    """Return how much a text takes at most: in bytes, and with entities in place of the signs of HTML.

    Services count characters or bytes, some after they or apprise escaped the text.
    """
    return len(html.escape(text).encode())


def cut(text: str, room: int) -> str:
    """Return as much of a text as takes no more than `room`."""
    if size(text) <= room:
        return text
    while text and size(text) > room - len("\u2026".encode()):
        text = text[: min(len(text) - 1, len(text) * room // size(text))]
    return text + "\u2026"


def _shortened(message: dict[str, Any], most: int) -> dict[str, Any]:
    left_out = max(0, len(message["runs"]) - most)
    return {**message, "runs": message["runs"][:most], "more_runs": message["more_runs"] + left_out}


class _Trusted(str):
    """Text that we made ourselves, and that may be followed."""

    __slots__ = ()


def _link(url: str | None, style: str) -> _Trusted:
    return _Trusted(html.escape(url or "") if style in ("html", "slack") else url or "")
