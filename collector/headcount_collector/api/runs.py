"""The judged runs, groups and time accounts as JSON: what `headcount runs`, the page and other programs read."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query

from headcount_collector.api.filters import Mode, Severity, Status, filters_beside
from headcount_collector.api.health import Running
from headcount_collector.api.lookup import present_of, run_named
from headcount_collector.api.sessions import groups_document
from headcount_collector.watch.documents import Document
from headcount_collector.watch.recording import facts_of
from headcount_collector.watch.timeline import timeline

__all__ = ["Mode", "Severity", "Status", "routes"]

routes = APIRouter(prefix="/api/v1", tags=["runs"])


@routes.get("/runs")
def list_runs(
    collector: Running,
    filters: Annotated[dict[str, str], Depends(filters_beside("limit", "offset", "order"))],
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
    """Show one run, by its id or any other name of it, with its timeline and what was believed of it when.

    The time account of an open run, and ages in words, are as of now; all else as of `judged_at`.
    """
    document = run_named(collector, run, session)
    facts = facts_of(collector.store, document)
    return {
        **present_of(collector, document, facts),
        "timeline": [] if facts is None else timeline(facts),
        "transitions": collector.verdicts.transitions(document["session"], document["run"]),
    }


@routes.get("/accounts")
def list_accounts(
    collector: Running,
    filters: Annotated[dict[str, str], Depends(filters_beside("by", "limit"))],
    by: Literal["session", "agent", "model", "service", "owner"] = "agent",
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> dict[str, Any]:
    """Say where the time of dispatched runs went, summed, the longest first; seconds. `net_s` is without idling."""
    accounts = collector.verdicts.accounts(by, filters, limit=limit)
    return {
        "by": by,
        "accounts": [
            {**account, "net_s": round(account["total_s"] - account["idle_s"], 3)} for account in accounts
        ],
        "limit": limit,
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
