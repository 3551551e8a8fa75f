"""Verdict documents in words, signs and links for the page; the words are those of the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Any
from urllib.parse import quote, urlencode

from markupsafe import Markup, escape

from headcount_collector.cli.words import CLASS_WORDS, LEANING_WORDS, STATUS_WORDS, finding, moment_ns
from headcount_collector.judge.policy import SECOND
from headcount_collector.judge.words import span

Document = Mapping[str, Any]

_KINDS = {
    "active": "work",
    "suspect_delivery_failure": "late",
    "done_but_not_forwarded": "held",
    "completed": "ok",
    "recovered": "ok",
    "blocked": "bad",
}
"""The colour of each status, as a class of the style sheet. Sign and words say the same without it."""

SEVERITY_SIGNS = {"page": "‼", "warn": "!", "info": "i"}

ADVICE = {
    "waiting_for_person": "Answer what is asked, or dismiss the run. Nothing else will move it.",
    "waiting_on_resource": "Look at the resource it waits for: its queue, its rate limit, its provider.",
    "waiting_for_nobody": "Whom it waits for will not come. End the wait, or dismiss the run.",
    "owner_gone": "Nobody is left to take the result. Fetch it where it lies, or dismiss the run.",
    "delivered_not_consumed": "Wake the owner: the result is in its conversation already. Do not dispatch again.",
    "done_but_not_forwarded": "Fetch the result and give it to the owner. Do not dispatch again: the work is done.",
    "empty_result": "Look at the child's transcript before you decide: it may hold the answer.",
    "child_failed_unreported": "Tell the owner that it failed; then decide whether to dispatch again.",
    "no_completion_event": "Look whether the child was ever started. If it was not, dispatching again is safe.",
    "session_exists_no_result_bounce": "Ask the child's session for its result before you dispatch again.",
    "unclear_slow_or_lost": "The evidence does not tell slow from lost. Look at the child before you act.",
}
_LEANING_ADVICE = {
    "slow": "It still moves. Leave it alone, or give it more time in the policy.",
    "silent": "Look at the child's session: it stopped showing signs of progress.",
    "uninstrumented": "These children are not instrumented: silence means nothing. Instrument them, or look yourself.",
    "telemetry_gap": "Records of the child are missing: look at its exporter before you judge the child.",
}
_TURNS = {code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
"""Characters that turn the order of what follows, as what they are: nobody's name turns the words around it."""
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)Z")


def plain(value: Any) -> Any:
    """Return a value as a template may print it: of text, nothing changes the order of other text."""
    return value.translate(_TURNS) if isinstance(value, str) and not isinstance(value, Markup) else value


def exact(text: str) -> Markup:
    """Return text for a field or a command, which have to keep every character."""
    return escape(text)


def status(document: Document) -> dict[str, str]:
    """Return `sign`, `words` and `kind` (a style class) of a verdict's status."""
    sign, words, _ = STATUS_WORDS.get(document["status"], ("?", str(document["status"]), ""))
    kind = _KINDS.get(document["status"], "work")
    if document["status"] == "active" and document["ended_at"]:
        words = "ended"
    elif document["status"] == "completed" and document["outcome"] in VOIDS:
        words, kind, sign = document["outcome"], "void", "○"
    if document["held"]:
        words += " (held)"
    return {"sign": sign, "words": words, "kind": kind}


VOIDS = ("dismissed", "cancelled", "rejected", "superseded")


def status_named(name: str) -> dict[str, str]:
    """Return sign, words and kind of a status by its name, as the log of transitions has it."""
    sign, words, _ = STATUS_WORDS.get(name, ("?", name, ""))
    return {"sign": sign, "words": words, "kind": _KINDS.get(name, "work")}


def what(document: Document) -> str:
    """Say in one line what is wrong, or what the run is in the middle of."""
    return finding(document)


def besides(document: Document) -> list[str]:
    """Say of an abnormal run for whom or what it waits, and what it is in the middle of."""
    if document["class"] is None:
        return []
    waits = [line for line in document["evidence"] if line.startswith("waits (")]
    calls = [line for line in document["in_flight"] if not (waits and line.startswith("wait "))]
    return waits + calls


def advice(document: Document) -> str:
    """Say what to do about an abnormal run, and what not."""
    return advice_on(document["class"], document["leaning"])


def advice_on(name: str | None, leaning: str | None) -> str:
    """Say what to do about a class."""
    return _LEANING_ADVICE.get(leaning or "") or ADVICE.get(name or "", "")


def recover_command(document: Document) -> str:
    """Return the command that fetches a stranded result; "" where there is none to fetch, or no such command."""
    if document["result_location"] is None or document["status"] in ("completed", "recovered"):
        return ""
    if find_spec("headcount_collector.cli.recover") is None:
        return ""
    return f"headcount recover {_shell(document['run'])}"


def _shell(word: str) -> str:
    return word if re.fullmatch(r"[\w@%+=:,./-]+", word) else "'" + word.replace("'", "'\\''") + "'"


def run_url(document: Document, suffix: str = "") -> str:
    """Return the address of a run's page, or of something below it."""
    session = document.get("session")
    query = f"?{urlencode({'session': session})}" if session else ""
    return f"/runs/{quote(str(document['run']), safe='')}{suffix}{query}"


def api_url(document: Document, suffix: str = "") -> str:
    """Return the address of a run in the API."""
    return "/api/v1" + run_url(document, suffix)


def session_url(session: str) -> str:
    """Return the address of a session's page."""
    return f"/sessions/{quote(session, safe='')}"


def owner_name(owner: str | None) -> str:
    """Name an owner; the empty id is the root owner."""
    return owner or "root"


def ago(text: str | None, now: int) -> Markup:
    """Return how long ago a moment was as an element that the browser keeps current."""
    moment = moment_ns(text)
    if moment is None:
        return Markup('<span class="none">-</span>')
    said = span(now - moment) if moment <= now else f"in {span(moment - now)}"
    return Markup('<time datetime="{}" data-ago title="{}">{}</time>').format(text, _long(text or ""), said)


def at(text: str | None) -> Markup:
    """Return a moment as UTC time of day, an element that the browser turns into local time."""
    if text is None:
        return Markup("")
    moment = datetime.fromisoformat(text)
    today = moment.date() == datetime.now(UTC).date()
    said = moment.strftime("%H:%M:%SZ" if today else "%Y-%m-%d %H:%M:%SZ")
    return Markup('<time datetime="{}" data-at title="{}">{}</time>').format(text, _long(text), said)


def moments(text: str) -> Markup:
    """Return a sentence of the judge with its moments as elements; all else is text."""
    parts: list[Markup] = []
    text, place = plain(text), 0
    for found in _STAMP.finditer(text):
        parts.append(escape(text[place : found.start()]))
        try:
            parts.append(at(f"{found[1]}T{found[2]}Z"))
        except ValueError:
            parts.append(escape(found[0]))
        place = found.end()
    parts.append(escape(text[place:]))
    return Markup("").join(parts)


def between(begin: str | None, end: str | None, now: int) -> str:
    """Return the length of a stretch of time; one without an end lasts until now."""
    first, last = moment_ns(begin), moment_ns(end)
    return "" if first is None else span((now if last is None else last) - first)


def other_names(document: Document) -> list[str]:
    """Return the other names of a run, but for those that only say how a digest stands for it."""
    return [name for name in document["names"] if name != document["run"] and not name.startswith("owed:")]


def labelled(name: str) -> str:
    """Return the name of a class, signal or event as words."""
    return name.replace("_", " ")


def class_words(document: Document) -> Iterator[str]:
    """Yield what class and leaning mean."""
    if document["class"]:
        yield CLASS_WORDS.get(document["class"], labelled(document["class"]))
    if document["leaning"]:
        yield LEANING_WORDS.get(document["leaning"], labelled(document["leaning"]))


def _long(text: str) -> str:
    return text.replace("T", " ").replace("Z", " UTC")


def incident_url(incident: Mapping[str, Any]) -> str:
    """Return the address of an incident's page."""
    return f"/incidents/{quote(str(incident['id']), safe='')}"


def wrong_words(wrong: Mapping[str, Any]) -> str:
    """Say what is wrong with a run of an incident: what its class means, or the name of its signal."""
    if wrong["kind"] == "class":
        if wrong["leaning"] in LEANING_WORDS:
            return LEANING_WORDS[wrong["leaning"]]
        return CLASS_WORDS.get(wrong["name"], labelled(wrong["name"]))
    return labelled(wrong["name"])


def incident_title(incident: Document) -> str:
    """Say whom an incident is about."""
    kind, owner = incident["kind"], owner_name(incident["owner"])
    if kind == "owner":
        return f"{owner} in session {incident['session'] or '(none)'}"
    return {
        "fleet": "many incidents at once",
        "observer": "the observer is blind",
        "gate": "a gate that holds messages back",
        "uninstrumented": f"children that are not instrumented ({owner.partition(':')[2] or owner})",
    }.get(kind, owner)


def account_parts(account: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return the parts of a time account in order: `kind` (a style class), `text`, `x` and `width` in percent."""
    if not account or not account["total_s"]:
        return []
    spent = [("worked", "working", account["working_s"])]
    spent += [("wait", f"waiting ({reason})", length) for reason, length in account["waiting_s"].items()]
    spent += [("idle", "idle", account["idle_s"]), ("delivery", "on its way back", account["delivery_s"])]
    parts, place = [], 0.0
    for kind, words, length in spent:
        if length > 0:
            width = length / account["total_s"] * 100
            text = f"{words} {span(round(length * SECOND))}"
            parts.append({"kind": kind, "text": text, "x": round(place, 3), "width": round(width, 3)})
            place += width
    return parts
