"""The observer and its policy as JSON: how well it sees, and by which times it judges."""

from __future__ import annotations

import time
from dataclasses import fields
from typing import Annotated, Any

from fastapi import APIRouter, Query

from headcount_collector.api.collector import Collector
from headcount_collector.api.health import Running
from headcount_collector.judge.policy import Times
from headcount_collector.judge.words import span
from headcount_collector.watch.deadlines import suggested_deadlines, toml_of
from headcount_collector.watch.documents import Document, rfc3339

routes = APIRouter(prefix="/api/v1", tags=["observer"])

_BLINDNESS = 20
"""So many spells in which nothing was seen are shown."""
_COUNTS = frozenset({"repeat_limit", "storm"})
_ASIDE = frozenset({"overdue_factor", "tools"})


@routes.get("/policy")
def show_policy(
    collector: Running,
    agent: str | None = None,
    session: Annotated[str, Query()] = "",
    service: Annotated[str, Query()] = "",
    attended: Annotated[bool, Query(description="Whether a person sits at the session.")] = False,
) -> Document:
    """Show the times that hold, and whence: for all, or for an agent type, session and service."""
    return policy_of(collector, agent, session, service, attended)


@routes.get("/policy/suggest")
def suggest_policy(collector: Running) -> Document:
    """Propose a deadline for each agent type from how long its delivered runs took; `toml` is ready to paste."""
    found = suggested_deadlines(collector.store, collector.settings.judged_by)
    return {"agents": [suggestion.document() for suggestion in found], "toml": toml_of(found)}


def policy_of(
    collector: Collector, agent: str | None, session: str = "", service: str = "", attended: bool = False
) -> Document:
    """Return `times` in order: name, `value` as text, `ns` (null for counts), `from` where it is set; and who has own times."""
    policy = collector.settings.judged_by
    times = policy.times(session, agent, service, attended)
    plain = Times()
    sources = list(policy.sources(session, agent, service, attended))
    rows = []
    for name in (field.name for field in fields(Times) if field.name not in _ASIDE):
        value: int = getattr(times, name)
        multiple = name == "overdue" and not value
        told = f"{times.overdue_factor:g}x" if multiple else str(value) if name in _COUNTS else span(value)
        whence = next((source for source, table in sources if name in table), None)
        if whence is None:
            changed = value != getattr(plain, name) or (
                multiple and times.overdue_factor != plain.overdue_factor
            )
            whence = "settings" if changed else "default"
        rows.append(
            {
                "name": name,
                "value": told,
                "ns": None if name in _COUNTS or multiple else value,
                "from": whence,
            }
        )
    return {
        "agent": agent,
        "session": session or None,
        "service": service or None,
        "attended": attended,
        "times": rows,
        "tools": {name: span(limit) for name, limit in times.tools.items()},
        "agents": sorted(policy.agent),
        "sessions": sorted(policy.session),
        "services": sorted(policy.service),
    }


@routes.get("/agents")
def list_agents(collector: Running, limit: Annotated[int, Query(ge=1, le=1000)] = 200) -> dict[str, Any]:
    """List agent types with how many of their runs are open and abnormal, those with most open runs first."""
    return {"agents": agents_of(collector, limit)}


def agents_of(collector: Collector, limit: int) -> list[Document]:
    """Return agent types with the counts of their runs."""
    rows = collector.store.query(
        "SELECT agent, countIf(is_open) AS open, countIf(is_abnormal) AS abnormal, count() AS total"
        " FROM verdict FINAL GROUP BY agent ORDER BY open DESC, total DESC, agent LIMIT {limit:UInt32}",
        {"limit": limit},
    )
    return [
        {"agent": agent or None, "open": opened, "abnormal": abnormal, "total": total}
        for agent, opened, abnormal, total in rows
    ]


@routes.get("/observer")
def show_observer(collector: Running, limit: Annotated[int, Query(ge=1, le=2000)] = 300) -> Document:
    """Show how the observer is: readiness, the last evaluation and intake, and the latest evaluations."""
    return observer_of(collector, limit)


def observer_of(collector: Collector, limit: int = 0) -> Document:
    """Return the observer's health; `evaluations` are the latest `limit`, oldest first.

    `blindness` says when nothing was seen since this process began, and why; `warm_at` when silence counts again.
    """
    counters, committer = collector.intake.counters, collector.intake.committer
    observer = collector.watch.tick.observer
    rows = []
    if limit:
        rows = collector.store.query(
            "SELECT toUnixTimestamp64Nano(at), took_ns, late_ns, judged, transitions, open_runs, observer FROM evaluation"
            " ORDER BY at DESC LIMIT {limit:UInt32}",
            {"limit": limit},
        )
    return {
        **collector.watch.health,
        "warm_at": rfc3339(observer.warm_at) if observer.degraded(time.time_ns()) else None,
        "blindness": [
            {"why": why, "from": rfc3339(since), "until": None if until is None else rfc3339(until)}
            for why, since, until in observer.history()[:_BLINDNESS]
        ],
        "unready": collector.unready(),
        "tick_s": collector.settings.tick_s,
        "intake": {
            "last_commit_at": rfc3339(counters.last_commit_ns),
            "accepted_spans": counters.accepted_spans,
            "commits": counters.commits,
            "failed_commits": counters.failed_commits,
            "queued_requests": committer.queued_requests,
            "queued_bytes": committer.queued_bytes,
            "hooks_received": collector.hooks.received,
            "hooks_waiting": collector.hooks.spool.waiting,
            "hooks_unusable": collector.hooks.unusable,
        },
        "evaluations": [
            {
                "at": rfc3339(int(at)),
                "took_ms": round(took / 1e6, 1),
                "late_ms": round(late / 1e6, 1),
                "judged": judged,
                "transitions": transitions,
                "open_runs": open_runs,
                "observer": state,
            }
            for at, took, late, judged, transitions, open_runs, state in reversed(rows)
        ],
    }
