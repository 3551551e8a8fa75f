"""How `serve` logs: one line an entry, whatever stands in it, as text or as JSON."""

from __future__ import annotations

import json
import logging
import re
import time

from headcount_collector.settings import Settings

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_LONGEST = 4000


def escaped(text: str) -> str:
    """Return text in which no character can begin a line or steer a terminal, cut where it is very long."""
    cut = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), cut)


class TextFormatter(logging.Formatter):
    """Lines for people; a traceback stands in lines of its own, indented."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the entry."""
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = f"{at}.{record.msecs:03.0f}Z {record.levelname} {record.name}: {escaped(record.getMessage())}"
        if record.exc_info:
            trace = self.formatException(record.exc_info)
            line += "".join(f"\n    {escaped(part)}" for part in trace.splitlines())
        return line


class JsonFormatter(logging.Formatter):
    """One JSON object a line, named as OpenTelemetry's log data model names things."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the entry."""
        entry = {
            "timestamp": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{record.msecs:03.0f}Z",
            "severity_text": record.levelname,
            "scope": record.name,
            "body": escaped(record.getMessage()),
        }
        if record.exc_info and record.exc_info[0] is not None:
            entry["exception.type"] = record.exc_info[0].__name__
            entry["exception.stacktrace"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=True)


def configure_logging(settings: Settings) -> None:
    """Send every logger's entries to standard error in the form that the settings name."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if settings.log_format == "json" else TextFormatter())
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler])
    logging.getLogger("uvicorn").setLevel(max(logging.WARNING, logging.getLogger().level))
