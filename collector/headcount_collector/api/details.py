"""One run in more detail than its verdict: its course as a picture needs it, its raw evidence, and its replay file."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from headcount_collector.api.collector import Collector
from headcount_collector.api.health import Running
from headcount_collector.api.lookup import run_named
from headcount_collector.derive.recorded import recorded
from headcount_collector.replay.export import Recording, replay_lines
from headcount_collector.watch.course import course_of
from headcount_collector.watch.documents import Document, rfc3339
from headcount_collector.watch.kin import kin_of
from headcount_collector.watch.recording import arrivals_of, facts_of

routes = APIRouter(prefix="/api/v1", tags=["runs"])

_REPLAY = "application/jsonl"


@routes.get("/runs/{run:path}/course")
def show_course(run: str, collector: Running, session: str | None = None) -> Document:
    """Give what lasted, what happened, and the gap that decided, for a picture of one run."""
    document = run_named(collector, run, session)
    facts = facts_of(collector.store, document)
    return course_of(collector.store, document, facts, collector.settings.judged_by, time.time_ns())


@routes.get("/runs/{run:path}/kin")
def show_kin(run: str, collector: Running, session: str | None = None) -> Document:
    """List the runs around one: its parent, siblings, descendants, duplicates and earlier incarnations."""
    document = run_named(collector, run, session)
    return kin_of(collector.store, document, facts_of(collector.store, document))


@routes.get("/runs/{run:path}/evidence")
def show_evidence(
    run: str,
    collector: Running,
    session: str | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
) -> dict[str, Any]:
    """List the records of one run as they arrived, with all their attributes; each delivery of a record counts."""
    document = run_named(collector, run, session)
    return {"records": evidence_of(collector, document, limit, offset), "limit": limit, "offset": offset}


def evidence_of(collector: Collector, document: Document, limit: int, offset: int) -> list[Document]:
    """Return the records of a judged run in order of arrival."""
    names = sorted({document["run"], *document["names"]})
    rows = recorded(
        collector.store, document["session"], runs=names, strays=names, limit=limit, offset=offset
    )
    return [
        {
            "received_at": rfc3339(row.received_ns),
            "at": rfc3339(row.event_ns),
            "event": row.event,
            "phase": row.phase or None,
            "run": row.run,
            "service": row.service,
            "producer": row.producer or None,
            "seq": row.seq or None,
            "foreign": bool(row.foreign),
            "attributes": row.attributes,
        }
        for row in rows
    ]


@routes.get(
    "/runs/{run:path}/replay",
    response_class=StreamingResponse,
    responses={200: {"content": {_REPLAY: {}}, "description": "A replay file."}},
)
def export_replay(run: str, collector: Running, session: str | None = None) -> StreamingResponse:
    """Export the session of a run as a replay file, which `headcount replay --check` judges to the same verdict."""
    document = run_named(collector, run, session)
    lines = _replay(collector, document)
    return StreamingResponse(
        (line + "\n" for line in lines),
        media_type=f"{_REPLAY}; charset=utf-8",
        headers={"Content-Disposition": 'attachment; filename="run.jsonl"'},
    )


def _replay(collector: Collector, document: Document) -> Iterator[str]:
    names = sorted({document["run"], *document["names"]})
    arrivals, services = arrivals_of(collector.store, document["session"], names)
    facts = facts_of(collector.store, document)
    heard: frozenset[str] = frozenset()
    if facts is not None and facts.dispatch is not None and facts.neighbours.kind_heard_at is not None:
        heard = frozenset({facts.dispatch.agent or ""}) - {""}
    observer = collector.watch.tick.observer
    recording = Recording(
        document,
        arrivals,
        services,
        heard,
        tuple(observer.outages),
        tuple(observer.sleeps),
        observer.blind_from,
    )
    yield from replay_lines(recording, collector.settings.judged_by, collector.settings.tick_s)
