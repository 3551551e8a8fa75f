"""The path that headcount does not take: every span walked in Python, its row built there, inserted by column."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from headcount_collector.store import Store

_KINDS = ("Unspecified", "Internal", "Server", "Client", "Producer", "Consumer")
_CODES = ("Unset", "Ok", "Error")
_COLUMNS = (
    "Timestamp TraceId SpanId ParentSpanId TraceState SpanName SpanKind ServiceName ResourceAttributes ScopeName "
    "ScopeVersion SpanAttributes Duration StatusCode StatusMessage Events.Timestamp Events.Name Events.Attributes "
    "Links.TraceId Links.SpanId Links.TraceState Links.Attributes"
).split()


class NaiveStore:
    """Commits as a store does, by rows made in Python."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def commit(self, bodies: Sequence[bytes], received_ns: int) -> None:
        """Insert the spans of the bodies into `otel_traces`."""
        rows = [row for body in bodies for row in rows_from_request(body, received_ns)]
        self._store.insert("otel_traces", rows, _COLUMNS)


def rows_from_request(body: bytes, received_ns: int) -> list[tuple[Any, ...]]:
    """Return one row of `otel_traces` for each span."""
    rows = []
    for resource_spans in ExportTraceServiceRequest.FromString(body).resource_spans:
        resource = _map(resource_spans.resource.attributes)
        resource["headcount.received_unix_nano"] = str(received_ns)
        service = resource.get("service.name", "")
        for scope_spans in resource_spans.scope_spans:
            scope = scope_spans.scope
            for span in scope_spans.spans:
                start = span.start_time_unix_nano
                rows.append(
                    (
                        _moment(start),
                        span.trace_id.hex(),
                        span.span_id.hex(),
                        span.parent_span_id.hex(),
                        span.trace_state,
                        span.name,
                        _KINDS[span.kind],
                        service,
                        resource,
                        scope.name,
                        scope.version,
                        _map(span.attributes),
                        span.end_time_unix_nano - start,
                        _CODES[span.status.code],
                        span.status.message,
                        [_moment(event.time_unix_nano) for event in span.events],
                        [event.name for event in span.events],
                        [_map(event.attributes) for event in span.events],
                        [link.trace_id.hex() for link in span.links],
                        [link.span_id.hex() for link in span.links],
                        [link.trace_state for link in span.links],
                        [_map(link.attributes) for link in span.links],
                    )
                )
    return rows


def _moment(unix_ns: int) -> datetime:
    return datetime.fromtimestamp(unix_ns / 1e9, UTC)


def _map(attributes: Any) -> dict[str, str]:
    return {attribute.key: _text(attribute.value) for attribute in attributes}


def _text(value: AnyValue) -> str:
    plain = _plain(value)
    return plain if isinstance(plain, str) else json.dumps(plain)


def _plain(value: AnyValue) -> Any:
    match value.WhichOneof("value"):
        case None:
            return ""
        case "array_value":
            return [_plain(one) for one in value.array_value.values]
        case "kvlist_value":
            return {pair.key: _plain(pair.value) for pair in value.kvlist_value.values}
        case "bytes_value":
            return base64.b64encode(value.bytes_value).decode()
        case kind:
            return getattr(value, kind)
