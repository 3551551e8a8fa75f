"""The application: every route of the collector behind one guard, every error a problem document."""

from __future__ import annotations

from fastapi import FastAPI

from headcount_collector.api import (
    actions,
    backups,
    details,
    events,
    health,
    hooks,
    observer,
    rejudge,
    runs,
    sessions,
)
from headcount_collector.api.clickhouse import clickhouse_routes
from headcount_collector.api.collector import Collector
from headcount_collector.api.guard import Guard
from headcount_collector.api.openapi import describe
from headcount_collector.api.problems import install_problems
from headcount_collector.page.mount import install_page
from headcount_collector.watch.pulse import Pulse


def create_app(collector: Collector) -> FastAPI:
    """Return the ASGI application of an open collector."""
    app = FastAPI(title="headcount", docs_url=None, redoc_url=None, openapi_url="/api/v1/openapi.json")
    app.state.collector = collector
    app.state.pulse = Pulse()
    collector.watch.add_listener(app.state.pulse)
    app.include_router(collector.intake.router)
    # What asks for more of one run comes before the run itself, whose id may contain anything.
    for part in (hooks, actions, details, runs, sessions, events, observer, rejudge, backups, health):
        app.include_router(part.routes)
    for listener in collector.listeners:
        app.include_router(listener.routes)
    if collector.sql is not None:
        app.include_router(clickhouse_routes(collector.sql, collector.store.database))
    install_problems(app)
    describe(app, token=collector.gate.closed)
    app.add_middleware(Guard, gate=collector.gate, certified=collector.settings.tls_client_ca is not None)
    install_page(app, collector.gate)
    return app
