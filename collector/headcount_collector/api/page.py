"""GET /: what is here, for whoever opens the address in a browser."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

routes = APIRouter(tags=["page"])

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>headcount</title>
<meta name="viewport" content="width=device-width">
<style>body { font: 16px/1.5 system-ui, sans-serif; max-width: 40em; margin: 3em auto; padding: 0 1em }</style>
<h1>headcount</h1>
<p>This collector watches delegated agent work. In a terminal, <code>headcount runs</code> shows how it stands.</p>
<ul>
<li><a href="/api/v1/runs">/api/v1/runs</a>, <code>/api/v1/runs/RUN</code>: judged runs
<li><a href="/api/v1/groups">/api/v1/groups</a>: what each owner is still owed
<li><code>POST /v1/traces</code>: OTLP/HTTP; <code>POST /hooks/claude-code</code>: hooks of Claude Code
<li><a href="/readyz">/readyz</a>, <a href="/healthz">/healthz</a>, <a href="/metrics">/metrics</a>: how it is itself
<li><a href="/api/v1/openapi.json">/api/v1/openapi.json</a>: the API for programs
</ul>
</html>
"""


@routes.get("/", response_class=HTMLResponse)
async def index() -> str:
    """List what is here."""
    return _PAGE
