"""OTLP/HTTP: the three export routes, their answers and their refusals in the content type of the request."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Request, Response
from google.protobuf import json_format
from google.protobuf.message import Message
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]  # ships no stubs
from starlette.requests import ClientDisconnect

from headcount_collector.receive.body import BODY_LIMIT, read_body
from headcount_collector.receive.errors import Refused, TooSlow, WrongContent
from headcount_collector.receive.signals import JSON, PROTOBUF, Handle, Signals

BODY_S = 30.0
"""A body must be there within so many seconds: a sender that dribbles holds memory and a connection."""


def otlp_router(signals: Signals, *, body_limit: int = BODY_LIMIT, body_s: float = BODY_S) -> APIRouter:
    """Return the routes POST /v1/traces, /v1/metrics and /v1/logs."""
    router = APIRouter()
    counters = signals.counters

    async def answer(request: Request, signal: str, handle: Handle) -> Response:
        content = JSON
        try:
            content = _content(request)
            response = await handle(await _body(request, body_limit, body_s), content)
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
        return await answer(request, "traces", signals.traces)

    @router.post("/v1/metrics", include_in_schema=False)
    async def export_metrics(request: Request) -> Response:
        return await answer(request, "metrics", signals.metrics)

    @router.post("/v1/logs", include_in_schema=False)
    async def export_logs(request: Request) -> Response:
        return await answer(request, "logs", signals.logs)

    return router


async def _body(request: Request, limit: int, within_s: float) -> bytes:
    try:
        async with asyncio.timeout(within_s):
            return await read_body(request.stream(), request.headers, limit)
    except TimeoutError:
        raise TooSlow(f"the body did not arrive within {within_s:g} s") from None


def _content(request: Request) -> str:
    content = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content not in (PROTOBUF, JSON):
        raise WrongContent(f"content-type {content!r} is not OTLP: send {PROTOBUF} or {JSON}")
    return content


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
