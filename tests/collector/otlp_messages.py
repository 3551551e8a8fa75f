"""Export requests for tests, built with OTLP's own classes."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

_ids = itertools.count(1)


def span(name: str = "work", *, start_ns: int | None = None, duration_ns: int = 1000) -> Span:
    """Return a valid span with ids of its own."""
    start = time.time_ns() if start_ns is None else start_ns
    number = next(_ids)
    return Span(
        name=name,
        trace_id=number.to_bytes(16, "big"),
        span_id=number.to_bytes(8, "big"),
        start_time_unix_nano=start,
        end_time_unix_nano=start + duration_ns,
    )


def request(spans: Sequence[Span], service: str | None = "tests") -> ExportTraceServiceRequest:
    """Return a request of one resource and one scope."""
    message = ExportTraceServiceRequest()
    resource_spans = message.resource_spans.add()
    if service is not None:
        resource_spans.resource.attributes.add(key="service.name").value.string_value = service
    scope_spans = resource_spans.scope_spans.add()
    scope_spans.scope.name = "scope"
    scope_spans.scope.version = "1"
    scope_spans.spans.extend(spans)
    return message
