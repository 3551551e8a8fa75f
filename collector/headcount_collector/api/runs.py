"""The judged runs and groups as JSON: what `headcount runs`, the page and other programs read."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request

from headcount_collector.api.health import Running
from headcount_collector.api.lookup import run_named
from headcount_collector.api.problems import Problem
from headcount_collector.api.sessions import groups_document
from headcount_collector.watch.documents import Document
from headcount_collector.watch.timeline import timeline_of

Status = Literal[
    "active", "suspect_delivery_failure", "done_but_not_forwarded", "completed", "recovered", "blocked"
]
Severity = Literal["info", "warn", "page"]
Mode = Literal["foreground", "background", "teammate"]

routes = APIRouter(prefix="/api/v1", tags=["runs"])


def _filters(
    request: Request,
    session: str | None = None,
    owner: Annotated[str | None, Query(description="Empty: the root owner.")] = None,
    agent: str | None = None,
    service: str | None = None,
    status: Status | None = None,
    failure_class: Annotated[str | None, Query(alias="class")] = None,
    severity: Severity | None = None,
    mode: Mode | None = None,
    is_open: Annotated[bool | None, Query(alias="open")] = None,
    abnormal: bool | None = None,
    attention: Annotated[
        bool | None, Query(description="Whether the verdict or a signal is of severity warn or page.")
    ] = None,
) -> dict[str, str]:
    """Gather the filters that were given. A name that is none is an error: it would show too much in silence."""
    unknown = set(request.query_params) - {*_FILTER_NAMES, "limit", "offset", "order"}
    if unknown:
        raise Problem(
            422, f"no such filter: {', '.join(sorted(unknown))}; there are {', '.join(_FILTER_NAMES)}"
        )
    given = {
        "session": session,
        "owner": owner,
        "agent": agent,
        "service": service,
        "status": status,
        "class": failure_class,
        "severity": severity,
        "mode": mode,
        "open": _word(is_open),
        "abnormal": _word(abnormal),
        "attention": _word(attention),
    }
    return {name: value for name, value in given.items() if value is not None}


_FILTER_NAMES = (
    "session",
    "owner",
    "agent",
    "service",
    "status",
    "class",
    "severity",
    "mode",
    "open",
    "abnormal",
    "attention",
)


def _word(value: bool | None) -> str | None:
    return None if value is None else str(value).lower()


@routes.get("/runs")
def list_runs(
    collector: Running,
    filters: Annotated[dict[str, str], Depends(_filters)],
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    order: Literal["urgency", "oldest", "silent", "latest"] = "urgency",
) -> dict[str, Any]:
    """List judged runs, the most urgent first unless asked otherwise; `total` counts all that match."""
    runs = collector.verdicts.find(filters, limit=limit, offset=offset, order=order)
    return {
        "runs": runs,
        "total": collector.verdicts.count(filters),
        "limit": limit,
        "offset": offset,
        "observer": collector.watch.health["observer"],
    }


@routes.get("/runs/{run:path}")
def show_run(run: str, collector: Running, session: str | None = None) -> Document:
    """Show one run, by its id or any other name of it, with its timeline and what was believed of it when."""
    document = run_named(collector, run, session)
    key = document["session"], document["run"]
    return {
        **document,
        "timeline": timeline_of(collector.store, *key),
        "transitions": collector.verdicts.transitions(*key),
    }


@routes.get("/groups")
def list_groups(
    collector: Running,
    session: str | None = None,
    is_open: Annotated[bool, Query(alias="open", description="Only sessions with open runs.")] = True,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> dict[str, Any]:
    """List what each owner is still owed in each session; foreground calls do not count."""
    sessions = (
        [session] if session is not None else collector.verdicts.sessions(open_only=is_open, limit=limit)
    )
    return {"groups": [group for name in sessions for group in groups_document(collector, name)]}
