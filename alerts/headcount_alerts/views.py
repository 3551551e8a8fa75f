"""Incidents and silences as API, CLI and page show them: moments are RFC 3339, absent values are null."""

from __future__ import annotations

from typing import Any

from headcount_alerts.conditions import RANK
from headcount_alerts.silence import Silence
from headcount_alerts.state import incident_of
from headcount_collector.watch.documents import rfc3339

Document = dict[str, Any]


def incident_view(document: Document, *, members: bool = True) -> Document:
    """Return a stored incident as a person sees it."""
    incident = incident_of(document)
    ack = incident.acknowledgement
    held = incident.deferral
    wrong = sorted(incident.wrong(), key=lambda pair: (-RANK[pair[1].severity], pair[1].since))
    view: Document = {
        "id": incident.id,
        "kind": incident.kind,
        "session": incident.session,
        "owner": incident.owner,
        "state": "open" if incident.is_open else "closed",
        "level": incident.shown_level or None,
        "severity": incident.severity,
        "opened_at": rfc3339(incident.opened_at),
        "closed_at": rfc3339(incident.closed_at),
        "next_step_at": rfc3339(incident.next_step_at) if incident.is_open else None,
        "reason": incident.reason,
        "runs": sorted({run for _, run in incident.members}),
        "unmet": incident.unmet,
        "wrong": [
            {
                "session": member.session,
                "run": member.run,
                "kind": condition.kind,
                "name": condition.name,
                "leaning": condition.leaning,
                "severity": condition.severity,
                "since": rfc3339(condition.since),
                "evidence": condition.evidence,
            }
            for member, condition in wrong[:200]
        ],
        "messages": incident.told,
        "fleet": incident.fleet or None,
        "parts": len(incident.parts),
        "acknowledged": None
        if ack is None
        else {"by": ack.by, "at": rfc3339(ack.at), "until": rfc3339(ack.until)},
        "deferred": None
        if held is None
        else {
            "gate": held.gate,
            "reason": held.reason,
            "since": rfc3339(held.since),
            "until": rfc3339(held.until),
        },
    }
    if members:
        view["members"] = [
            {
                "session": member.session,
                "run": member.run,
                "met": member.met,
                "agent": member.facts.get("agent"),
                "owner": member.facts.get("owner"),
                "status": member.facts.get("status"),
                "class": member.facts.get("class"),
                "last_progress_at": rfc3339(member.facts.get("last_progress_at")),
                "result_location": member.facts.get("result_location"),
            }
            for member in incident.members.values()
        ]
    return view


def silence_view(silence: Silence, now: int) -> Document:
    """Return a silence as a person sees it."""
    return {
        "id": silence.id,
        "matchers": [str(matcher) for matcher in silence.matchers],
        "since": rfc3339(silence.since),
        "until": rfc3339(silence.until),
        "by": silence.by,
        "reason": silence.reason,
        "state": "active" if silence.active(now) else "pending" if now < silence.since else "ended",
    }


def decision_view(document: Document) -> Document:
    """Return one decision as a person sees it."""
    return {**document, "at": rfc3339(document["at"])}


def delivery_view(document: Document) -> Document:
    """Return one message of the outbox as a person sees it."""
    moments = {name: rfc3339(document[name]) for name in ("decided_at", "ended_at", "retry_at")}
    return {**document, **moments, "error": document["error"] or None}
