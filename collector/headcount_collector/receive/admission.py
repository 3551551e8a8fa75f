"""Whether a request is taken, and which of its spans are not: ids and times are checked, attributes never looked at."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from headcount_collector.receive.message import parse_request
from headcount_collector.receive.sender import sender_of

_NO_TRACE = bytes(16)
_NO_SPAN = bytes(8)
_DAY_NS = 86_400_000_000_000
_NAMED = 3
"""So many refused spans are named in the answer; the rest are counted."""

_WAY_OUT = {
    "bad_trace_id": "trace_id must be 16 bytes, not all zero",
    "bad_span_id": "span_id must be 8 bytes, not all zero",
    "bad_parent_span_id": "parent_span_id must be 8 bytes or absent",
    "start_too_old": "it starts before the retention of {days} days and would be deleted at once",
    "start_in_future": "it starts more than a day ahead: check the sender's clock and that times are nanoseconds",
    "no_end": "it has no end time: export it when it ended, or as a zero-length pending span",
    "end_before_start": "it ends before it starts: check the sender's clock",
    "end_in_future": "it ends more than a day ahead: check the sender's clock and that times are nanoseconds",
}


@dataclass(frozen=True, slots=True)
class Admitted:
    """A request on its way to the store: the message to commit, its spans, and what was left out and why."""

    body: bytes
    spans: int
    rejected: Counter[str] = field(default_factory=Counter)
    message: str = ""
    sender: str = ""


class Admission:
    """Checks one request at a time; free of state, so that any thread may call it."""

    def __init__(self, retention_days: int = 30, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._retention_days = retention_days
        self._now_ns = now_ns

    def admit(self, body: bytes) -> Admitted:
        """Check the spans of a serialized ExportTraceServiceRequest. Raises Malformed."""
        return self.admit_request(*parse_request(body))

    def admit_request(self, request: ExportTraceServiceRequest, body: bytes) -> Admitted:
        """Check the spans of a request and its bytes; where some are refused, both are made anew without them."""
        now = self._now_ns()
        oldest, newest = now - self._retention_days * _DAY_NS, now + _DAY_NS
        spans, refused = 0, list[tuple[str, str]]()
        for resource_spans in request.resource_spans:
            for scope_spans in resource_spans.scope_spans:
                bad = []
                for index, span in enumerate(scope_spans.spans):
                    start = span.start_time_unix_nano
                    if (
                        len(span.trace_id) != 16
                        or len(span.span_id) != 8
                        or not oldest <= start <= span.end_time_unix_nano <= newest
                        or len(span.parent_span_id) not in (0, 8)
                        or span.trace_id == _NO_TRACE
                        or span.span_id == _NO_SPAN
                    ):
                        bad.append(index)
                        refused.append((self._reason(span, oldest, newest), _name(span)))
                spans += len(scope_spans.spans) - len(bad)
                for index in reversed(bad):
                    del scope_spans.spans[index]
        if refused:
            body = request.SerializeToString()
        sender = sender_of(request.resource_spans[0].resource) if spans else ""
        reasons = Counter(reason for reason, _ in refused)
        return Admitted(body, spans, reasons, self._message(refused, spans), sender)

    @staticmethod
    def _reason(span: Span, oldest: int, newest: int) -> str:
        checks = (
            ("bad_trace_id", len(span.trace_id) != 16 or span.trace_id == _NO_TRACE),
            ("bad_span_id", len(span.span_id) != 8 or span.span_id == _NO_SPAN),
            ("bad_parent_span_id", len(span.parent_span_id) not in (0, 8)),
            ("no_end", span.end_time_unix_nano == 0),
            ("start_too_old", span.start_time_unix_nano < oldest),
            ("start_in_future", span.start_time_unix_nano > newest),
            ("end_before_start", span.end_time_unix_nano < span.start_time_unix_nano),
        )
        return next((reason for reason, holds in checks if holds), "end_in_future")

    def _message(self, refused: list[tuple[str, str]], accepted: int) -> str:
        if not refused:
            return ""
        named = [
            f"{name}: {_WAY_OUT[reason].format(days=self._retention_days)}"
            for reason, name in refused[:_NAMED]
        ]
        if more := len(refused) - len(named):
            named.append(f"and {more} more")
        return f"{len(refused)} of {len(refused) + accepted} spans refused. " + "; ".join(named)


def _name(span: Span) -> str:
    trace, span_id = span.trace_id.hex()[:64] or "none", span.span_id.hex()[:64] or "none"
    return f"span {span.name[:80]!r} (trace {trace}, span {span_id})"
