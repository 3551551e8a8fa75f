"""How the collector is: alive, ready (and if not, why not), and in numbers for Prometheus."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, PlainTextResponse

from headcount_collector.api.collector import Collector
from headcount_collector.api.problems import problem_response
from headcount_collector.metrics import MEDIA_TYPE, exposition

routes = APIRouter(tags=["health"])


def running(request: Request) -> Collector:
    """Return the collector that this application serves."""
    found: Collector = request.app.state.collector
    return found


Running = Annotated[Collector, Depends(running)]


@routes.get("/healthz")
async def healthz() -> dict[str, str]:
    """Say that the process answers."""
    return {"status": "ok"}


@routes.get("/readyz")
def readyz(collector: Running) -> JSONResponse:
    """Say whether evidence is taken and judged; 503 with the reasons if not."""
    reasons = collector.unready()
    health = collector.watch.health
    if reasons:
        return problem_response(503, "; ".join(reasons), instance="/readyz", reasons=reasons, health=health)
    return JSONResponse({"status": "ready", "health": health})


@routes.get(
    "/metrics",
    response_class=PlainTextResponse,
    responses={200: {"content": {"text/plain": {}}, "description": "Prometheus text."}},
)
def metrics(collector: Running) -> PlainTextResponse:
    """Give the collector's own numbers as Prometheus text."""
    return PlainTextResponse(exposition(collector.metrics()), media_type=MEDIA_TYPE)
