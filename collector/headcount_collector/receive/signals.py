"""The three signals of OTLP, whichever protocol brought them: a body in, the export response out, after the commit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from headcount_collector.receive.admission import Admission, Admitted
from headcount_collector.receive.commit import GroupCommitter
from headcount_collector.receive.counters import Counters
from headcount_collector.receive.errors import Malformed
from headcount_collector.receive.logs import LogAdmission
from headcount_collector.receive.otlp_json import items, load_json, request_from_json

PROTOBUF = "application/x-protobuf"
JSON = "application/json"
_INLINE_BYTES = 512 * 1024
"""A larger protobuf body is parsed in a thread: parsing it here would hold up everybody else's answers."""

Handle = Callable[[bytes, str], Awaitable[Message]]


@dataclass(frozen=True, slots=True)
class Signals:
    """What both edges call. Each method takes a decompressed body and its content type; raises Refused.

    Traces are answered when they are committed, and so are logs that carry evidence. Other logs and metrics are read,
    counted and let go, so that an SDK in its default set-up, which exports all three, sees no error.
    """

    admission: Admission
    committer: GroupCommitter
    log_admission: LogAdmission
    log_committer: GroupCommitter
    counters: Counters

    async def traces(self, body: bytes, content: str) -> Message:
        """Take an ExportTraceServiceRequest."""
        admitted = await self._admit(body, content)
        if admitted.spans:
            await asyncio.wrap_future(
                self.committer.submit(admitted.body, admitted.spans, sender=admitted.sender)
            )
        self.counters.rejected(admitted.rejected)
        response = ExportTraceServiceResponse()
        if admitted.message:
            response.partial_success.rejected_spans = admitted.rejected.total()
            response.partial_success.error_message = admitted.message
        return response

    async def metrics(self, body: bytes, content: str) -> Message:
        """Take an ExportMetricsServiceRequest."""
        self.counters.ignored("metrics", await asyncio.to_thread(_count_points, body, content))
        return ExportMetricsServiceResponse()

    async def logs(self, body: bytes, content: str) -> Message:
        """Take an ExportLogsServiceRequest."""
        admitted = await asyncio.to_thread(self.log_admission.admit, body, content == JSON)
        if admitted.records:
            await asyncio.wrap_future(
                self.log_committer.submit(admitted.body, admitted.records, sender=admitted.sender)
            )
        self.counters.ignored("logs", admitted.ignored)
        return ExportLogsServiceResponse()

    async def _admit(self, body: bytes, content: str) -> Admitted:
        if content == JSON:
            return await asyncio.to_thread(_admit_json, self.admission, body)
        if len(body) > _INLINE_BYTES:
            return await asyncio.to_thread(self.admission.admit, body)
        return self.admission.admit(body)


def _admit_json(admission: Admission, body: bytes) -> Admitted:
    request = request_from_json(body)
    return admission.admit_request(request, request.SerializeToString())


def _count_points(body: bytes, content: str) -> int:
    if content == JSON:
        path = (
            ("resourceMetrics", "resource_metrics"),
            ("scopeMetrics", "scope_metrics"),
            ("metrics", "metrics"),
        )
        return _count_json(body, *path)
    request = _parsed(ExportMetricsServiceRequest, body)
    return sum(
        len(scope.metrics) for resource in request.resource_metrics for scope in resource.scope_metrics
    )


def _count_json(body: bytes, *path: tuple[str, str]) -> int:
    document = load_json(body)
    try:
        return sum(1 for _ in items(document, *path))
    except TypeError as error:
        raise Malformed(f"the body is JSON, but no export request: {error}") from None


def _parsed(kind: type[Any], body: bytes) -> Any:
    try:
        return kind.FromString(body)
    except DecodeError:
        raise Malformed(f"the body ({len(body)} bytes) is no {kind.DESCRIPTOR.name} in protobuf") from None
