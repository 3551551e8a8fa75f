"""Log records that carry evidence, on their way into `otel_logs`; which do, what is kept of them, and their rows."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

from headcount_collector.receive.errors import Malformed
from headcount_collector.receive.message import text_of
from headcount_collector.receive.otlp_json import ids_to_base64, items, load_json
from headcount_collector.receive.sender import sender_of
from headcount_collector.store.content import CONTENT_ATTRIBUTES, LOG_CONTENT_ATTRIBUTES, content_pattern

RECEIVED = "headcount.received_unix_nano"
_EVIDENCE_KEYS = frozenset({"subagent.event", "subagent.run.id", "agent_id"})
_EVIDENCE_NAMES = ("claude_code.", "subagent.")
_DAY_NS = 86_400_000_000_000
_COLUMNS = (
    "Timestamp TraceId SpanId TraceFlags SeverityText SeverityNumber ServiceName Body ResourceSchemaUrl "
    "ResourceAttributes ScopeSchemaUrl ScopeName ScopeVersion ScopeAttributes LogAttributes EventName"
).split()
_LOGS = (("resourceLogs", "resource_logs"), ("scopeLogs", "scope_logs"), ("logRecords", "log_records"))


class Inserts(Protocol):
    """What writing logs needs of a store."""

    def insert(self, table: str, rows: Sequence[Sequence[object]], columns: Sequence[str]) -> None:
        """Insert rows; raises StoreError."""


@dataclass(frozen=True, slots=True)
class AdmittedLogs:
    """A request on its way to the store: the evidence in it, and how many records carry none."""

    body: bytes
    records: int
    ignored: int
    sender: str


class LogAdmission:
    """Keeps of a request the records that carry evidence; free of state, so that any thread may call it."""

    def __init__(
        self,
        drop_attributes: Iterable[str] = CONTENT_ATTRIBUTES,
        retention_days: int = 30,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        names = tuple(drop_attributes)
        self._dropped = re.compile(content_pattern((*names, *LOG_CONTENT_ATTRIBUTES) if names else ()))
        self._capture = not names
        self._retention_ns = retention_days * _DAY_NS
        self._now_ns = now_ns

    def admit(self, body: bytes, as_json: bool) -> AdmittedLogs:
        """Read a serialized ExportLogsServiceRequest. Raises Malformed."""
        request = _from_json(body) if as_json else _from_protobuf(body)
        now = self._now_ns()
        kept = ignored = 0
        for resource in request.resource_logs:
            self._strip(resource.resource.attributes)
            for scope in resource.scope_logs:
                evidence = [record for record in scope.log_records if self._keeps(record, now)]
                ignored += len(scope.log_records) - len(evidence)
                kept += len(evidence)
                for record in evidence:
                    self._strip(record.attributes)
                    # The body of an event repeats its name; anything else may be what somebody wrote.
                    if not self._capture and record.body.string_value != event_name(record):
                        record.ClearField("body")
                if len(evidence) < len(scope.log_records):
                    copies = [record.SerializeToString() for record in evidence]
                    del scope.log_records[:]
                    for copy in copies:
                        scope.log_records.add().ParseFromString(copy)
        return AdmittedLogs(
            request.SerializeToString() if kept else b"",
            kept,
            ignored,
            sender_of(request.resource_logs[0].resource) if kept else "",
        )

    def _keeps(self, record: LogRecord, now: int) -> bool:
        at = record.time_unix_nano or record.observed_time_unix_nano or now
        if not now - self._retention_ns <= at <= now + _DAY_NS:
            return False
        if event_name(record).startswith(_EVIDENCE_NAMES):
            return True
        return any(pair.key in _EVIDENCE_KEYS for pair in record.attributes)

    def _strip(self, attributes: Any) -> None:
        if any(self._dropped.match(pair.key) for pair in attributes):
            kept = [pair for pair in attributes if not self._dropped.match(pair.key)]
            copies = [pair.SerializeToString() for pair in kept]
            del attributes[:]
            for copy in copies:
                attributes.add().ParseFromString(copy)


class LogStore:
    """Commits log messages as `otel_logs` rows; few and small, so that Python may make them."""

    def __init__(self, store: Inserts) -> None:
        self._store = store

    def commit(self, bodies: Sequence[bytes], received_ns: int) -> None:
        """Insert the records of ExportLogsServiceRequest messages, in one insert. Raises StoreError."""
        rows = [row for body in bodies for row in _rows(body, received_ns)]
        self._store.insert("otel_logs", rows, _COLUMNS)


def event_name(record: LogRecord) -> str:
    """Return the event's name: the field, the older attribute, or Claude Code's body."""
    if record.event_name:
        return record.event_name
    body: str = record.body.string_value
    if body.startswith("claude_code.") and len(body) <= 128:
        return body
    for pair in record.attributes:
        if pair.key == "event.name":
            return str(pair.value.string_value)
    return ""


def _rows(body: bytes, received_ns: int) -> Iterator[tuple[object, ...]]:
    request = ExportLogsServiceRequest.FromString(body)
    for resource_logs in request.resource_logs:
        resource = _map(resource_logs.resource.attributes)
        resource[RECEIVED] = str(received_ns)
        for scope_logs in resource_logs.scope_logs:
            scope = scope_logs.scope
            for record in scope_logs.log_records:
                yield (
                    record.time_unix_nano or record.observed_time_unix_nano or received_ns,
                    record.trace_id.hex(),
                    record.span_id.hex(),
                    record.flags & 0xFF,
                    record.severity_text,
                    record.severity_number & 0xFF,
                    resource.get("service.name", ""),
                    text_of(record.body),
                    resource_logs.schema_url,
                    resource,
                    scope_logs.schema_url,
                    scope.name,
                    scope.version,
                    _map(scope.attributes),
                    _map(record.attributes),
                    event_name(record),
                )


def _map(attributes: Any) -> dict[str, str]:
    return {pair.key: text_of(pair.value) for pair in attributes}


def _from_protobuf(body: bytes) -> ExportLogsServiceRequest:
    try:
        return ExportLogsServiceRequest.FromString(body)
    except DecodeError:
        raise Malformed(f"the body ({len(body)} bytes) is no ExportLogsServiceRequest in protobuf") from None


def _from_json(body: bytes) -> ExportLogsServiceRequest:
    document = load_json(body)
    try:
        for record in items(document, *_LOGS):
            ids_to_base64(record)
        request = ParseDict(document, ExportLogsServiceRequest(), ignore_unknown_fields=True)
        request.ByteSize()  # a lone surrogate is only found when the text is encoded
    except (ParseError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise Malformed(f"the body is JSON, but no ExportLogsServiceRequest: {error}") from None
    return request
