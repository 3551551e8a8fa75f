"""A message as it lies in the outbox: everything that a text says about an incident at one step, as plain data."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from headcount_alerts.conditions import RANK, Condition
from headcount_alerts.decision import Step
from headcount_alerts.incident import COLLECTED, FLEET, GATE, GROUP, OBSERVER, Incident, Member
from headcount_alerts.wording import OTHERS, Words, words_of
from headcount_collector.dashboard_urls import run_dashboard, session_dashboard
from headcount_collector.judge.words import clock, span

VERSION = 1
"""Of the document, which webhooks receive: additions do not change it."""

MOST_RUNS = 8
"""So many runs are described in one message; the rest is counted."""

MOST_IN_FLIGHT = 5
"""So many calls of a run are named in one message."""

Document = dict[str, Any]


def document_of(
    incident: Incident, step: Step, *, url: str | None, grafana: str = "", parts: Sequence[Incident] = ()
) -> Document:
    """Return the message of a step; `parts` are the incidents that a fleet or group speaks for.

    `url` is where people reach this collector, `grafana` where they see its dashboards; empty: nowhere.
    """
    told = (incident, *parts) if incident.kind == GROUP else (incident,)
    first = min((pair for one in told for pair in one.wrong()), key=_urgency, default=None)
    lead = _lead(incident, first)
    runs = _owed(told, incident.is_open)
    return {
        "version": VERSION,
        "id": f"{incident.id}-{step.number}",
        "incident": incident.id,
        "step": step.what,
        "reason": step.reason,
        "at": step.at,
        "kind": incident.kind,
        "state": "open" if incident.is_open else "closed",
        "severity": incident.severity,
        "level": incident.level,
        "session": incident.session,
        "owner": incident.owner,
        "opened_at": incident.opened_at,
        "what": lead.what,
        "do": lead.do,
        "never": lead.never,
        "class": first[1].name if first else incident.kind,
        "subject": _subject(incident, first),
        "agent": str(first[0].facts.get("agent") or "") if first else "",
        "origin": dict(first[0].facts.get("origin") or {}) if first else {},
        "service": str(first[0].facts.get("service") or "") if first else "",
        "since": span(step.at - (first[1].since if first else incident.opened_at)),
        "runs": [_run(member, step.at) for member in runs[:MOST_RUNS]],
        "more_runs": max(0, len(runs) - MOST_RUNS),
        "unmet": incident.unmet,
        "fleet": _fleet(parts) if incident.kind in COLLECTED else None,
        "url": None if url is None else f"{url.rstrip('/')}/incidents/{quote(incident.id)}",
        "dashboard": _dashboard(incident, runs, grafana) if grafana else None,
        "acknowledged": _acknowledged(incident, step.at),
        "commands": _commands(incident),
    }


def _lead(incident: Incident, first: tuple[Member, Condition] | None) -> Words:
    if first is not None:
        return words_of(first[1].kind, first[1].name, first[1].leaning)
    if incident.kind in OTHERS:
        return OTHERS[incident.kind]
    return Words("what was owed has come", "Nothing.")


def _urgency(pair: tuple[Member, Condition]) -> tuple[int, str, int]:
    """Order what is wrong: the worst, classes before signals, the oldest first."""
    return -RANK[pair[1].severity], pair[1].kind, pair[1].since


def _subject(incident: Incident, first: tuple[Member, Condition] | None) -> str:
    if incident.kind == FLEET or (incident.kind == GROUP and first is None):
        return f"{len(incident.parts)} incidents"
    if incident.kind == GROUP and first is not None and len(incident.parts) > 1:
        return f"{len(incident.parts)} incidents, first {_named(first)}"
    if incident.kind in (OBSERVER, GATE, "test"):
        return "headcount"
    if first is None:
        return (
            f"{len(incident.members)} runs" if len(incident.members) != 1 else next(iter(incident.members))[1]
        )
    return _named(first)


def _named(first: tuple[Member, Condition]) -> str:
    agent = first[0].facts.get("agent")
    return f"{agent} {first[0].run}" if agent else first[0].run


def _owed(incidents: Sequence[Incident], is_open: bool) -> list[Member]:
    """Return what is still owed or wrong, the worst first; of what is closed, everything."""
    members = [m for incident in incidents for m in incident.members.values() if not m.met or not is_open]
    worst = {m.key: max((RANK[c.severity] for c in m.wrong), default=-1) for m in members}
    return sorted(members, key=lambda m: (-worst[m.key], m.run))


def _run(member: Member, now: int) -> Document:
    facts = member.facts
    last = facts.get("last_progress_at")
    return {
        "session": member.session,
        "run": member.run,
        "agent": facts.get("agent") or "",
        "owner": facts.get("owner") or "",
        "status": facts.get("status"),
        "class": facts.get("class"),
        "leaning": facts.get("leaning"),
        "outcome": facts.get("outcome"),
        "description": facts.get("description"),
        "wrong": [
            {
                "name": c.name,
                "kind": c.kind,
                "severity": c.severity,
                "what": words_of(c.kind, c.name, c.leaning).what,
                "for": span(now - c.since),
                "evidence": c.evidence,
            }
            for c in member.wrong
        ],
        "dispatched": _moment(facts.get("dispatched_at")),
        "deadline": _moment(facts.get("deadline")),
        "ended": _moment(facts.get("ended_at")),
        "last_progress": None if not last else f"{clock(last)}, {span(now - last)} ago",
        "in_flight": list(facts.get("in_flight") or ())[:MOST_IN_FLIGHT],
        "result": facts.get("result_location"),
        "evidence": list(facts.get("evidence") or ()),
        "would_change": list(facts.get("would_change") or ()),
        "recover": f"headcount recover {_argument(member)}"
        if facts.get("result_location") or facts.get("ended_at")
        else None,
    }


def _argument(member: Member) -> str:
    """Return a run as a shell takes it: telemetry is no command."""
    return f"{shlex.quote(member.run)} --session {shlex.quote(member.session)}"


def _moment(moment: int | None) -> str | None:
    return clock(moment) if moment else None


def _dashboard(incident: Incident, runs: Sequence[Member], grafana: str) -> str | None:
    """Return the address of the dashboard of its run, or of its session where there are several."""
    if len(runs) == 1:
        began = runs[0].facts.get("dispatched_at")
        return run_dashboard(grafana, runs[0].session, runs[0].run, began)
    return session_dashboard(grafana, incident.session) if incident.session else None


def _acknowledged(incident: Incident, now: int) -> Document | None:
    ack = incident.acknowledgement
    if ack is None or now >= ack.until or not incident.is_open:
        return None
    return {"by": ack.by or "somebody", "until": clock(ack.until)}


def _fleet(parts: Sequence[Incident]) -> Document:
    runs = [(m, c) for part in parts for m, c in part.wrong()]
    return {
        "incidents": len(parts),
        "open": sum(part.is_open for part in parts),
        "runs": len({m.key for m, _ in runs}),
        "classes": Counter(c.name for _, c in runs).most_common(5),
        "agents": Counter(str(m.facts.get("agent") or "?") for m, _ in runs).most_common(5),
        "services": Counter(str(m.facts.get("service") or "?") for m, _ in runs).most_common(5),
        "sessions": Counter(part.session for part in parts).most_common(5),
    }


def _commands(incident: Incident) -> list[str]:
    if incident.kind in COLLECTED:
        return [f"headcount incidents --fleet {incident.id}", "headcount runs --abnormal"]
    if incident.kind in (OBSERVER, GATE, "test"):
        return [f"headcount incidents {incident.id}"]
    found = [f"headcount incidents {incident.id}"]
    return [*found, f"headcount ack {incident.id}"] if incident.is_open else found
