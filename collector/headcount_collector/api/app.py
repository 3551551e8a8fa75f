"""The application: every route of the collector behind one guard, every error a problem document."""

from __future__ import annotations

from fastapi import FastAPI

from headcount_collector.api import health, hooks, page, runs
from headcount_collector.api.collector import Collector
from headcount_collector.api.guard import Guard
from headcount_collector.api.problems import install_problems


def create_app(collector: Collector) -> FastAPI:
    """Return the ASGI application of an open collector."""
    app = FastAPI(title="headcount", docs_url=None, redoc_url=None, openapi_url="/api/v1/openapi.json")
    app.state.collector = collector
    for routes in (collector.intake.router, page.routes, hooks.routes, runs.routes, health.routes):
        app.include_router(routes)
    install_problems(app)
    app.add_middleware(Guard, gate=collector.gate, certified=collector.settings.tls_client_ca is not None)
    return app
