"""Intake behind a real HTTP server on a free loopback port, over a real embedded store."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
from fastapi import FastAPI
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from headcount_collector.receive import Intake, create_intake
from headcount_collector.receive.grpc_edge import GrpcEdge
from headcount_collector.store import Store, migrate

PROTOBUF = {"content-type": "application/x-protobuf"}
JSON = {"content-type": "application/json"}


@dataclass
class Served:
    """A running receiver and what it writes to."""

    url: str
    store: Store
    intake: Intake
    client: httpx2.Client
    received: list[int]
    grpc: str = ""
    """HOST:PORT of the gRPC edge."""

    def post(
        self, body: bytes, headers: dict[str, str] | None = None, path: str = "/v1/traces"
    ) -> httpx2.Response:
        """Post `body`, as protobuf unless told otherwise."""
        return self.client.post(path, content=body, headers={**PROTOBUF, **(headers or {})})

    def accepted(self, body: bytes, headers: dict[str, str] | None = None) -> ExportTraceServiceResponse:
        """Post `body`, expect success, and return the parsed answer."""
        response = self.post(body, headers)
        assert response.status_code == 200, response.content
        return ExportTraceServiceResponse.FromString(response.content)

    def row(self, name: str, *columns: str) -> tuple[Any, ...]:
        """Return columns of the one stored span with this name."""
        rows = self.rows(name, *columns)
        assert len(rows) == 1
        return rows[0]

    def rows(self, name: str, *columns: str) -> list[tuple[Any, ...]]:
        """Return columns of the stored spans with this name."""
        what = ", ".join(columns) or "SpanName"
        return self.store.query(
            f"SELECT {what} FROM otel_traces WHERE SpanName = {{name:String}}", {"name": name}
        )

    def attributes(self, name: str) -> dict[str, str]:
        """Return the attributes of the one stored span with this name."""
        (attributes,) = self.row(name, "SpanAttributes")
        return dict(attributes)


@contextmanager
def serving(folder: Path, **settings: Any) -> Iterator[Served]:
    """Serve over a store in `folder` until left; then drain, and close the store."""
    store = Store.open(folder)
    try:
        migrate(store)
        received: list[int] = []
        intake = create_intake(store, on_commit=received.append, **settings)
        with serving_intake(intake) as client, serving_grpc(intake) as grpc:
            yield Served(str(client.base_url).rstrip("/"), store, intake, client, received, grpc)
        intake.close()
    finally:
        store.close()


@contextmanager
def serving_intake(intake: Intake) -> Iterator[httpx2.Client]:
    """Serve the routes of `intake` and yield a client for them."""
    app = FastAPI()
    app.include_router(intake.router)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="off"))
    with _running(server) as url, httpx2.Client(base_url=url, timeout=60) as client:
        yield client


@contextmanager
def serving_grpc(intake: Intake, **options: Any) -> Iterator[str]:
    """Serve OTLP/gRPC of `intake` and yield HOST:PORT."""
    edge = GrpcEdge(intake.signals, **options)
    port = edge.start("127.0.0.1:0")
    try:
        yield f"127.0.0.1:{port}"
    finally:
        edge.close(5)


@contextmanager
def _running(server: uvicorn.Server) -> Iterator[str]:
    started = threading.Event()
    startup = server.startup

    async def startup_then_tell(*args: Any, **kwargs: Any) -> None:
        await startup(*args, **kwargs)
        started.set()

    server.startup = startup_then_tell  # type: ignore[method-assign]  # uvicorn has no hook for "it listens now"
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert started.wait(30)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
