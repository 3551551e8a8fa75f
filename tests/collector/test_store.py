"""The store against the real embedded engine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from headcount_collector.store import Store, migrate


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(tmp_path)
    migrate(opened)
    yield opened
    opened.close()


def one_span(name: str) -> bytes:
    now = time.time_ns()
    request = ExportTraceServiceRequest()
    resource_spans = request.resource_spans.add()
    resource_spans.resource.attributes.add(key="service.name").value.string_value = "here"
    span = resource_spans.scope_spans.add().spans.add(
        trace_id=b"\1" * 16,
        span_id=b"\2" * 8,
        name=name,
        start_time_unix_nano=now,
        end_time_unix_nano=now,
    )
    span.attributes.add(key="n").value.int_value = 7
    return request.SerializeToString()


def test_joined_bodies_become_rows_with_the_receivers_time(store: Store) -> None:
    store.commit([one_span("a"), one_span("b")], received_ns=1_234_567_890_123_456_789)
    rows = store.query(
        "SELECT SpanName, ServiceName, SpanAttributes['n'], ResourceAttributes['headcount.received_unix_nano']"
        " FROM otel_traces ORDER BY SpanName"
    )
    assert rows == [
        ("a", "here", "7", "1234567890123456789"),
        ("b", "here", "7", "1234567890123456789"),
    ]


def test_a_second_database_of_the_same_engine_is_its_own(store: Store) -> None:
    other = store.with_database("case_1")
    migrate(other)
    other.commit([one_span("elsewhere")], received_ns=1)
    assert store.query("SELECT count() FROM otel_traces") == [(0,)]
    assert other.query("SELECT count() FROM otel_traces") == [(1,)]
    other.close()
