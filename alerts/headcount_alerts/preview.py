"""Where a given run would go, and what would be said: the same routes and templates, with nothing sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headcount_alerts.conditions import Condition
from headcount_alerts.decision import Step
from headcount_alerts.incident import Incident, Member
from headcount_alerts.message import document_of
from headcount_alerts.origins import ENVIRONMENT, SESSION
from headcount_alerts.routing import Routing
from headcount_alerts.text import Texts
from headcount_collector.evidence.moment import moment_ns

_LADDER = ("notified", "reminded", "escalated")


def sample(now: int, labels: dict[str, str]) -> Incident:
    """Return an incident of one run with these labels (agent, class, signal, severity, …); the rest is made up."""
    severity = labels.get("severity", "page")
    kind, name = (
        ("signal", labels["signal"])
        if "signal" in labels
        else ("class", labels.get("class", "done_but_not_forwarded"))
    )
    since = now - 720 * 10**9
    facts = {
        "agent": labels.get("agent", "worker"),
        "service": labels.get("service", "service"),
        "owner": labels.get("owner", ""),
        "status": labels.get("status", "done_but_not_forwarded"),
        "class": name if kind == "class" else None,
        "children": [labels["child"]] if "child" in labels else [],
        "names": [],
        "dispatched_at": since - 600 * 10**9,
        "ended_at": since - 30 * 10**9 if name == "done_but_not_forwarded" else None,
        "last_progress_at": since - 40 * 10**9,
        "in_flight": [],
        "origin": {n: v for n, v in labels.items() if n == ENVIRONMENT or n.startswith(SESSION)},
    }
    session = labels.get("session", "session-1")
    incident = Incident("preview", session, labels.get("owner", ""), since, severity=severity, told=1)
    member = Member(
        session, labels.get("run", "run-1"), (Condition(kind, name, severity, since),), facts=facts
    )
    incident.members[member.key] = member
    return incident


def incident_of_run(document: dict[str, Any], now: int, origin: Mapping[str, str]) -> Incident:
    """Return the incident that a run alone would be, from its verdict document; nothing wrong makes it a warning."""
    found = []
    if document["class"] is not None:
        since = _ns(document["abnormal_since"]) or now
        found.append(
            Condition(
                "class", document["class"], document["severity"] or "info", since, leaning=document["leaning"]
            )
        )
    found += [
        Condition("signal", s["name"], s["severity"], _ns(s["since"]) or now, evidence=s["evidence"])
        for s in document["signals"]
    ]
    severities = [c.severity for c in found if c.alerts]
    incident = Incident(
        "preview",
        document["session"],
        document["owner"],
        min((c.since for c in found), default=now),
        severity="page" if "page" in severities else "warn",
        told=1,
    )
    member = Member(
        document["session"], document["run"], tuple(found), facts=_facts(document) | {"origin": dict(origin)}
    )
    incident.members[member.key] = member
    return incident


def preview(incident: Incident, now: int, routing: Routing, texts: Texts, url: str | None) -> dict[str, Any]:
    """Return the paths that an incident takes, who is told at each step, and the text."""
    message = document_of(incident, Step(incident.id, now, "notified", 1, "a preview"), url=url)
    return {
        "paths": [
            {
                "route": path.name,
                **{step: path.receiver_of(step) for step in _LADDER},
                "on_duty": path.on_duty(now),
                "group": None if path.group is None else list(path.group),
            }
            for path in routing.paths(incident)
        ],
        "alerts": any(True for _ in incident.wrong()),
        "title": texts.title(message).strip(),
        "body": texts.body(message),
    }


def _facts(document: dict[str, Any]) -> dict[str, Any]:
    plain = (
        "agent",
        "service",
        "owner",
        "mode",
        "description",
        "names",
        "status",
        "class",
        "leaning",
        "outcome",
    )
    return {
        **{name: document[name] for name in plain},
        "children": document["child_sessions"],
        "dispatched_at": _ns(document["receipts"]["dispatchAt"]),
        "deadline": _ns(document["deadline"]),
        "ended_at": _ns(document["ended_at"]),
        "last_progress_at": _ns(document["clocks"]["last_progress_at"]),
        "in_flight": document["in_flight"],
        "result_location": document["result_location"],
        "evidence": document["evidence"],
        "would_change": document["would_change"],
    }


def _ns(moment: str | None) -> int | None:
    return None if moment is None else moment_ns(moment)
