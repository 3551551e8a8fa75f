"""Sessions and search as JSON: who owes what to whom in one conversation, and where anything with an id belongs."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from headcount_collector.api.collector import Collector
from headcount_collector.api.health import Running
from headcount_collector.api.problems import Problem
from headcount_collector.judge.groups import groups_of
from headcount_collector.watch.documents import Document
from headcount_collector.watch.lines import lines_of
from headcount_collector.watch.search import LONGEST, search

routes = APIRouter(prefix="/api/v1", tags=["sessions"])


@routes.get("/sessions/{session:path}")
def show_session(
    session: str,
    collector: Running,
    limit: Annotated[int, Query(ge=1, le=500)] = 200,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
) -> dict[str, Any]:
    """Show one session: its groups, its runs by dispatch, and each as a line in time."""
    return session_of(collector, session, limit, offset)


def session_of(collector: Collector, session: str, limit: int, offset: int) -> dict[str, Any]:
    """Return groups, runs and lines of a session. Raises Problem 404 where no run of it is known."""
    filters = {"session": session}
    total = collector.verdicts.count(filters)
    if not total:
        raise Problem(404, f"no run of a session {session!r} is known; GET /api/v1/groups lists sessions")
    runs = collector.verdicts.find(filters, limit=limit, offset=offset, order="oldest")
    return {
        "session": session,
        "groups": groups_document(collector, session),
        "runs": runs,
        "total": total,
        "limit": limit,
        "offset": offset,
        "lines": lines_of(collector.store, runs),
    }


def groups_document(collector: Collector, session: str) -> list[Document]:
    """Return what each owner of a session is still owed."""
    return [
        {
            "session": group.session,
            "owner": group.owner,
            "runs": group.runs,
            "remaining": group.remaining,
            "undelivered": group.undelivered,
            "all_terminal": group.all_terminal,
            "settled": group.settled,
        }
        for group in groups_of(session, collector.verdicts.members(session))
    ]


@routes.get("/search")
def search_runs(
    collector: Running,
    q: Annotated[str, Query(max_length=LONGEST)],
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> dict[str, Any]:
    """Find runs by any id: of run, child, tool call, session, trace or owner; else by part of a name or description."""
    by, runs = search(collector.store, q, limit)
    return {"q": q, "by": by, "runs": runs, "limit": limit}
