"""Verdict documents in words and colours for the terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from rich.text import Text

from headcount_collector.judge.words import span

Document = Mapping[str, Any]

STATUS_WORDS = {
    "active": ("●", "at work", "cyan"),
    "suspect_delivery_failure": ("▲", "overdue", "yellow"),
    "done_but_not_forwarded": ("■", "done, not delivered", "bold red"),
    "completed": ("✓", "completed", "green"),
    "recovered": ("✓", "recovered", "green"),
    "blocked": ("✗", "blocked", "bold red"),
}
"""Sign, words and style of each status."""

CLASS_WORDS = {
    "waiting_for_person": "waits for a person to answer",
    "waiting_on_resource": "waits for a resource for too long",
    "waiting_for_nobody": "waits for somebody who will not come",
    "owner_gone": "its owner is gone: nobody is left to take the result",
    "delivered_not_consumed": "delivered, but the owner never took it up",
    "done_but_not_forwarded": "the result exists, the owner does not have it: fetch it, do not dispatch again",
    "empty_result": "ended well with nothing in it: look at its transcript",
    "child_failed_unreported": "ended without a result, and the owner was not told",
    "no_completion_event": "nothing was ever seen of the child",
    "session_exists_no_result_bounce": "the child is there, but no result comes back",
    "unclear_slow_or_lost": "slow or lost: the evidence does not tell",
}
LEANING_WORDS = {
    "slow": "slow: it still makes progress",
    "silent": "slow or lost: it has gone silent",
    "uninstrumented": "no child of this kind is instrumented, so its silence says nothing",
    "telemetry_gap": "records of the child are missing, so its silence says nothing",
}
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)Z")
_SINCE = re.compile(" since " + _STAMP.pattern)


def now_ns() -> int:
    """Return the wall clock."""
    return int(datetime.now(UTC).timestamp() * 1e9)


def moment_ns(text: str | None) -> int | None:
    """Read a moment of a document; None stays None."""
    return None if text is None else round(datetime.fromisoformat(text).timestamp() * 1e9)


def clock(text: str) -> str:
    """Return a moment in the local time of the person who reads it, with its date where that is not today."""
    local = datetime.fromisoformat(text).astimezone()
    today = local.date() == datetime.now().astimezone().date()
    return local.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M:%S")


def localised(text: str) -> str:
    """Return evidence with its moments (UTC) in local time."""
    return _STAMP.sub(lambda found: clock(f"{found[1]}T{found[2]}Z"), text)


def elapsed(text: str, now: int) -> str:
    """Return evidence with "since MOMENT" as "for LENGTH"."""
    return _SINCE.sub(lambda found: f" for {ago(f'{found[1]}T{found[2]}Z', now)}", text)


def ago(text: str | None, now: int) -> str:
    """Say how long ago a moment was, as "1h 5m"; "-" where there is none."""
    moment = moment_ns(text)
    return "-" if moment is None else span(now - moment)


def status_text(document: Document) -> Text:
    """Return the status with sign and colour; an end whose delivery is under way says so."""
    sign, words, style = STATUS_WORDS.get(document["status"], ("?", document["status"], "magenta"))
    if document["status"] == "active" and document["ended_at"]:
        words = "ended"
    elif document["status"] == "completed" and document["outcome"] in ("dismissed", "cancelled", "rejected"):
        words = document["outcome"]
    return Text(f"{sign} {words}" + (" (held)" if document["held"] else ""), style=style)


def finding(document: Document) -> str:
    """Say in one line what is wrong, or what it is in the middle of."""
    leaning, failure_class = document["leaning"], document["class"]
    if leaning is not None:
        return LEANING_WORDS.get(leaning, str(leaning))
    if failure_class is not None:
        return CLASS_WORDS.get(failure_class, str(failure_class))
    if document["status"] in ("completed", "recovered"):
        return _result(document)
    if document["ended_at"]:
        return "its owner is yet to be told"
    return ", ".join(document["in_flight"])


_QUALITY_WORDS = {
    "full": "delivered in full",
    "partial": "delivered in part",
    "empty": "delivered with nothing in it",
    "cut": "delivered, but cut",
}


def _result(document: Document) -> str:
    if document["delivered_at"] is None:
        return "void: nobody waits for it any more"
    said = _QUALITY_WORDS.get(document["quality"], "delivered")
    return said if document["outcome"] in (None, "ok") else f"{said}, outcome {document['outcome']}"


def owner_name(owner: str) -> str:
    """Name an owner; the empty id is the root owner."""
    return owner or "root"
