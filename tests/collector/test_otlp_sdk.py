"""The real OpenTelemetry SDK with its own HTTP exporters, against the real receiver."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Link, SpanKind, Status, StatusCode

from tests.collector.intake_server import Served, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("data")) as running:
        yield running


@pytest.mark.parametrize("compression", list(Compression))
def test_spans_of_the_sdk_arrive_whole(served: Served, compression: Compression) -> None:
    exporter = OTLPSpanExporter(f"{served.url}/v1/traces", compression=compression)
    provider = TracerProvider(
        resource=Resource({"service.name": f"sdk {compression.value}", "process.command_args": ["a", "b"]})
    )
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("scope", "1.2")
    name = f"parent {compression.value}"
    start = time.time_ns()
    with tracer.start_as_current_span(name, kind=SpanKind.CLIENT, start_time=start) as parent:
        parent.set_attributes({"s": "x", "i": 3, "f": 0.5, "b": True, "list": ["é", "b"]})
        parent.add_event("happened", {"n": 1})
        parent.set_status(Status(StatusCode.ERROR, "no"))
        with tracer.start_as_current_span(
            f"child {compression.value}", links=[Link(parent.get_span_context())]
        ):
            pass
    provider.shutdown()
    context = parent.get_span_context()
    trace_id, span_id = f"{context.trace_id:032x}", f"{context.span_id:016x}"
    assert served.row(
        name,
        "toUnixTimestamp64Nano(Timestamp), TraceId, SpanId, ParentSpanId, SpanKind, ServiceName, ScopeName, ScopeVersion",
        "SpanAttributes, StatusCode, StatusMessage, Events.Name, Events.Attributes",
        "ResourceAttributes['process.command_args']",
    ) == (
        start,
        trace_id,
        span_id,
        "",
        "Client",
        f"sdk {compression.value}",
        "scope",
        "1.2",
        {"s": "x", "i": "3", "f": "0.5", "b": "true", "list": '["é","b"]'},
        "Error",
        "no",
        ["happened"],
        [{"n": "1"}],
        '["a","b"]',
    )
    assert served.row(f"child {compression.value}", "TraceId, ParentSpanId, Links.SpanId") == (
        trace_id,
        span_id,
        [span_id],
    )
