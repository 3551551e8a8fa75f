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
from headcount_alerts.neutral import STYLES

_ENDINGS = {"text": "txt", "slack": "slack", "markdown": "md", "html": "html"}


class Texts:
    """Renders messages. Templates are `title.txt`, `body.txt`, `body.md`, `body.slack`, `body.html`, `nudge.txt`."""

    def __init__(self, folder: Path | None = None) -> None:
        ours = PackageLoader("headcount_alerts", "templates")
        loader = ours if folder is None else ChoiceLoader([FileSystemLoader(folder), ours])
        self._environments = {style: _environment(loader, style) for style in STYLES}

    def title(self, message: dict[str, Any], style: str = "text") -> str:
        """Return the first line, which has to do on a locked telephone."""
        return " ".join(self._render("title.txt", style, message).split())

    def body(self, message: dict[str, Any], style: str = "text") -> str:
        """Return the whole text in a style: text, markdown, slack or html."""
        return self._render(f"body.{_ENDINGS[style]}", style, message)

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
                "link": _link(message, style),
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


class _Trusted(str):
    """Text that we made ourselves, and that may be followed."""

    __slots__ = ()


def _link(message: dict[str, Any], style: str) -> _Trusted:
    url = message.get("url") or ""
    return _Trusted(html.escape(url) if style in ("html", "slack") else url)
