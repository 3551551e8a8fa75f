"""A tiny OTLP/HTTP receiver on loopback that keeps what it gets, and can refuse or hold it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue


class ReceivedSpan:
    """One span as it came over the wire."""

    def __init__(self, span: Any, resource: dict[str, object]) -> None:
        self.name: str = span.name
        self.attributes = {pair.key: value_of(pair.value) for pair in span.attributes}
        self.resource = resource
        self.trace_id: bytes = span.trace_id
        self.span_id: bytes = span.span_id
        self.parent_id: bytes = span.parent_span_id
        self.links = [(link.trace_id, link.span_id) for link in span.links]
        self.start_ns: int = span.start_time_unix_nano
        self.end_ns: int = span.end_time_unix_nano

    @property
    def event(self) -> object:
        return self.attributes.get("subagent.event")


def value_of(value: AnyValue) -> object:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [value_of(item) for item in value.array_value.values]
    return None if kind is None else getattr(value, kind)


class Receiver:
    """The receiver; `answer(spans)` gives the HTTP status for a request, 200 by default."""

    def __init__(self, port: int = 0, answer: Callable[[list[ReceivedSpan]], int] | None = None) -> None:
        self.answer = answer or (lambda spans: 200)
        self.spans: list[ReceivedSpan] = []
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.requests = 0
        self._changed = threading.Condition()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                status = receiver._take(self.path, dict(self.headers), body)
                self.send_response(status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def wait_for(self, count: int, *, timeout_s: float = 20.0) -> list[ReceivedSpan]:
        """Return the spans once there are `count`; fail when that takes too long."""
        with self._changed:
            enough = self._changed.wait_for(lambda: len(self.spans) >= count, timeout_s)
            assert enough, f"{len(self.spans)} of {count} spans arrived: {[span.name for span in self.spans]}"
            return list(self.spans)

    def wait_for_requests(self, count: int, *, timeout_s: float = 20.0) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self.requests >= count, timeout_s)

    def _take(self, path: str, headers: dict[str, str], body: bytes) -> int:
        assert path == "/v1/traces"
        request = ExportTraceServiceRequest.FromString(body)
        spans = [
            ReceivedSpan(span, {pair.key: value_of(pair.value) for pair in group.resource.attributes})
            for group in request.resource_spans
            for scope in group.scope_spans
            for span in scope.spans
        ]
        status = self.answer(spans)
        with self._changed:
            self.requests += 1
            if status == 200:
                self.spans.extend(spans)
                self.bodies.append(body)
                self.headers.append({key.lower(): value for key, value in headers.items()})
            self._changed.notify_all()
        return status

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop to listen: from now on connections are refused. What is under way is still taken."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread.is_alive():
            self.close()
