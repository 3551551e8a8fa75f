"""Puts the pages into the application: their routes, their middleware, and errors as pages for people."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI, Request, Response

from headcount_collector.api.guard import Gate
from headcount_collector.page import incidents
from headcount_collector.page.render import rendered
from headcount_collector.page.routes import Blanks, routes
from headcount_collector.page.signin import SignIn

_FOR_PROGRAMS = ("/api/", "/v1/", "/hooks/", "/healthz", "/readyz", "/metrics")
Handler = Callable[[Request, Exception], Awaitable[Response]]


def install_page(app: FastAPI, gate: Gate) -> None:
    """Add the pages to an application whose other routes, problem handlers and guard are in place."""
    app.include_router(routes)
    app.include_router(incidents.routes)
    for kind, handler in list(app.exception_handlers.items()):
        if isinstance(kind, type) and kind.__module__.startswith(
            ("headcount", "fastapi", "starlette", "builtins")
        ):
            app.add_exception_handler(kind, _as_page(handler))
    app.add_exception_handler(Blanks, _blanks)
    app.add_middleware(SignIn, gate=gate)


async def _blanks(request: Request, error: Exception) -> Response:
    assert isinstance(error, Blanks)
    return error.response


def _as_page(handler: Any) -> Handler:
    """Return a handler that shows people a page where programs get a problem document."""

    async def handle(request: Request, error: Exception) -> Response:
        answer: Response = await handler(request, error)
        path = request.url.path
        if path.startswith(_FOR_PROGRAMS) or "text/html" not in request.headers.get("accept", ""):
            return answer
        problem = json.loads(bytes(answer.body))
        return rendered(
            "problem.html",
            answer.status_code,
            title=f"{problem['title']}" if answer.status_code != 300 else "Several runs go by that name",
            detail=problem["detail"],
            runs=problem.get("runs", []),
        )

    return handle
