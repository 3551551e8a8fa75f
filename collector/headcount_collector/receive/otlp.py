"""OTLP/HTTP: the three export routes, their answers and their refusals in the content type of the request."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter, Request, Response
from google.protobuf import json_format
from google.protobuf.message import DecodeError, Message
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]  # ships no stubs
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from starlette.requests import ClientDisconnect

from headcount_collector.receive.admission import Admission, Admitted
from headcount_collector.receive.body import BODY_LIMIT, read_body
from headcount_collector.receive.commit import GroupCommitter
from headcount_collector.receive.counters import Counters
from headcount_collector.receive.errors import Malformed, Refused, WrongContent
from headcount_collector.receive.otlp_json import items, load_json, request_from_json

log = logging.getLogger(__name__)

PROTOBUF = "application/x-protobuf"
JSON = "application/json"
_INLINE_BYTES = 512 * 1024
"""A larger protobuf body is parsed in a thread: parsing it here would hold up everybody else's answers."""

Handler = Callable[[bytes, str], Awaitable[Message]]


def otlp_router(
    admission: Admission, committer: GroupCommitter, counters: Counters, *, body_limit: int = BODY_LIMIT
) -> APIRouter:
    """Return the routes POST /v1/traces, /v1/metrics and /v1/logs.

    Traces are answered when they are committed. Metrics and logs are read, counted and let go, so that an SDK in its
    default set-up, which exports all three, sees no error.
    """
    router = APIRouter()

    async def traces(body: bytes, content: str) -> Message:
        admitted = await _admit(admission, body, content)
        if admitted.spans:
            await asyncio.wrap_future(committer.submit(admitted.body, admitted.spans))
        counters.rejected(admitted.rejected)
        response = ExportTraceServiceResponse()
        if admitted.message:
            response.partial_success.rejected_spans = admitted.rejected.total()
            response.partial_success.error_message = admitted.message
        return response

    async def metrics(body: bytes, content: str) -> Message:
        counters.ignored("metrics", await asyncio.to_thread(_count_points, body, content))
        return ExportMetricsServiceResponse()

    async def logs(body: bytes, content: str) -> Message:
        counters.ignored("logs", await asyncio.to_thread(_count_records, body, content))
        return ExportLogsServiceResponse()

    async def answer(request: Request, signal: str, handle: Handler) -> Response:
        content = JSON
        try:
            content = _content(request)
            response = await handle(await read_body(request.stream(), request.headers, body_limit), content)
        except Refused as error:
            counters.refused(error.reason)
            return _refusal(error, content)
        except ClientDisconnect:
            counters.refused("disconnected")
            return Response(status_code=400)  # nobody reads it
        counters.answered(signal)
        return _encoded(response, content, 200)

    @router.post("/v1/traces", include_in_schema=False)
    async def export_traces(request: Request) -> Response:
        return await answer(request, "traces", traces)

    @router.post("/v1/metrics", include_in_schema=False)
    async def export_metrics(request: Request) -> Response:
        return await answer(request, "metrics", metrics)

    @router.post("/v1/logs", include_in_schema=False)
    async def export_logs(request: Request) -> Response:
        return await answer(request, "logs", logs)

    return router


def _content(request: Request) -> str:
    content = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content not in (PROTOBUF, JSON):
        raise WrongContent(f"content-type {content!r} is not OTLP: send {PROTOBUF} or {JSON}")
    return content


async def _admit(admission: Admission, body: bytes, content: str) -> Admitted:
    if content == JSON:
        return await asyncio.to_thread(_admit_json, admission, body)
    if len(body) > _INLINE_BYTES:
        return await asyncio.to_thread(admission.admit, body)
    return admission.admit(body)


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


def _count_records(body: bytes, content: str) -> int:
    if content == JSON:
        path = (("resourceLogs", "resource_logs"), ("scopeLogs", "scope_logs"), ("logRecords", "log_records"))
        return _count_json(body, *path)
    request = _parsed(ExportLogsServiceRequest, body)
    return sum(len(scope.log_records) for resource in request.resource_logs for scope in resource.scope_logs)


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


def _refusal(error: Refused, content: str) -> Response:
    response = _encoded(Status(code=error.code, message=str(error)), content, error.status)
    if error.retry_after_s is not None:
        response.headers["Retry-After"] = str(error.retry_after_s)
    return response


def _encoded(message: Message, content: str, status: int) -> Response:
    if content == JSON:
        text = json_format.MessageToJson(message, indent=None)
        return Response(text, status, media_type=JSON)
    return Response(message.SerializeToString(), status, media_type=PROTOBUF)
