"""One lifecycle event as a value, and its way onto the wire: OTLP spans whose ids follow from what they say."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans, Span, Status

from . import wire
from .digest import text_bytes

AttributeValue = str | bool | int | float | Sequence[str]


@dataclass(frozen=True, slots=True)
class Record:
    """One event of the lifecycle, as its witness tells it.

    `at_ns` is the event time, nanoseconds since the epoch; `start_ns` the beginning of a span that ended and had
    a length. `attributes` hold everything else under its wire name, without event, run, session and phase.
    Events that concern an owner have no run. Two records are one event if their `identity` is equal; where it is
    None it follows from producer and number, else from all attributes and the event time.
    """

    event: str
    at_ns: int
    run: str | None = None
    session: str | None = None
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    start_ns: int | None = None
    phase: str | None = None
    service: str = ""
    identity: str | None = None


def export_request(records: Iterable[Record]) -> ExportTraceServiceRequest:
    """Return the records as one OTLP request: a resource a service, spans in the order given.

    The same record always gives the same trace and span id, so that a retry or a doubled line is one event. All
    records of a run under one id share a trace.
    """
    request = ExportTraceServiceRequest()
    scopes: dict[str, ScopeSpans] = {}
    for record in records:
        scope = scopes.get(record.service)
        if scope is None:
            resource_spans = request.resource_spans.add()
            resource_spans.resource.attributes.append(_key_value(wire.SERVICE, record.service))
            scope = scopes[record.service] = resource_spans.scope_spans.add()
            scope.scope.name = wire.SCOPE
        scope.spans.append(span_of(record))
    return request


def span_of(record: Record) -> Span:
    """Return the lifecycle span of one record; never open-ended: a pending one has zero length."""
    end_ns = max(record.at_ns, 0)
    start_ns = end_ns if record.start_ns is None else min(max(record.start_ns, 0), end_ns)
    span = Span(
        trace_id=_digest(_story(record))[:16],
        span_id=_digest(_identity(record))[:8],
        name=f"subagent.{record.event}",
        kind=Span.SPAN_KIND_INTERNAL,
        start_time_unix_nano=start_ns,
        end_time_unix_nano=end_ns,
        attributes=[_key_value(key, value) for key, value in _all_attributes(record).items()],
    )
    if _failed(record):
        span.status.CopyFrom(Status(code=Status.STATUS_CODE_ERROR))
    return span


def _all_attributes(record: Record) -> dict[str, AttributeValue]:
    found: dict[str, AttributeValue] = {wire.EVENT: record.event}
    for key, value in ((wire.RUN, record.run), (wire.SESSION, record.session), (wire.PHASE, record.phase)):
        if value is not None:
            found[key] = value
    found.update(record.attributes)
    outcome = found.get(wire.OUTCOME)
    if _failed(record) and wire.ERROR not in found and isinstance(outcome, str):
        found[wire.ERROR] = outcome
    return found


def _failed(record: Record) -> bool:
    return wire.ERROR in record.attributes or record.attributes.get(wire.OUTCOME, "ok") != "ok"


def _story(record: Record) -> tuple[object, ...]:
    """What decides the trace: the run, else the owner, within its session."""
    if record.run is not None:
        return ("run", record.session, record.run)
    return ("owner", record.session, record.attributes.get(wire.OWNER, ""))


def _identity(record: Record) -> tuple[object, ...]:
    if record.identity is not None:
        return ("identity", record.identity)
    producer, number = record.attributes.get(wire.PRODUCER), record.attributes.get(wire.SEQ)
    if producer is not None and number is not None:
        return ("number", producer, number)
    said = sorted((key, _plain(value)) for key, value in _all_attributes(record).items())
    return ("content", record.service, record.at_ns, record.start_ns, said)


def _plain(value: AttributeValue) -> object:
    return value if isinstance(value, str | bool | int | float) else list(value)


def _digest(key: tuple[object, ...]) -> bytes:
    return sha256(json.dumps(key, ensure_ascii=True).encode("ascii")).digest()


def _key_value(key: str, value: AttributeValue) -> KeyValue:
    return KeyValue(key=key, value=_any_value(value))


def _any_value(value: AttributeValue) -> AnyValue:
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    if isinstance(value, str):
        return AnyValue(string_value=_valid(value))
    return AnyValue(array_value=ArrayValue(values=[AnyValue(string_value=_valid(item)) for item in value]))


def _valid(text: str) -> str:
    """Return a text that protobuf accepts: it refuses lone surrogates."""
    return text if text.isascii() else text_bytes(text).decode("utf-8")
