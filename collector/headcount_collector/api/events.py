"""GET /api/v1/events: server-sent events that say when what was judged has changed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from headcount_collector.watch.documents import rfc3339
from headcount_collector.watch.pulse import Beat, Pulse

routes = APIRouter(prefix="/api/v1", tags=["runs"])

_LOOK_S = 0.1
_TICK_EVERY_S = 2.0
"""How often a viewer is told that the observer is alive though nothing changed."""
_MOST_RUNS = 200
_RETRY_MS = 2000


@routes.get(
    "/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}, "description": "A stream without end."}},
)
async def watch_events(
    request: Request, session: str | None = None, run: str | None = None
) -> StreamingResponse:
    """Stream `changed` (which runs were judged anew) and `tick` (the observer is alive), of one session or run if asked."""
    stream = _events(request.app.state.pulse, request, session, run)
    return StreamingResponse(
        stream,
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _events(pulse: Pulse, request: Request, session: str | None, run: str | None) -> AsyncIterator[str]:
    stopping = getattr(request.app.state, "stopping", lambda: False)
    seen = pulse.number
    yield f"retry: {_RETRY_MS}\n\n"
    loop = asyncio.get_running_loop()
    told = loop.time()
    while not stopping() and not await request.is_disconnected():
        beats = pulse.since(seen)
        if beats:
            seen = beats[-1].number
            concerned = _concerned(beats, session, run)
            if concerned:
                told = loop.time()
                yield _event("changed", {"at": rfc3339(beats[-1].at_ns), "runs": concerned})
            elif loop.time() - told >= _TICK_EVERY_S:
                told = loop.time()
                yield _event("tick", {"at": rfc3339(beats[-1].at_ns)})
        await asyncio.sleep(_LOOK_S)


def _concerned(beats: Iterable[Beat], session: str | None, run: str | None) -> list[dict[str, str]]:
    keys = sorted(
        {key for beat in beats for key in beat.judged if session in (None, key[0]) and run in (None, key[1])}
    )
    return [{"session": where, "run": name} for where, name in keys[:_MOST_RUNS]]


def _event(name: str, data: object) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"
