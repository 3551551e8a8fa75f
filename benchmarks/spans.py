"""Export requests as agents send them: model requests and tool calls of many runs, now and then a dispatch and an end."""

from __future__ import annotations

import random
import time

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans, Span

RUN_SPANS = 64
"""Spans of one run: a dispatch, a start, fifty-nine of work, an end, its delivery in two steps."""


def export_request(spans: int, seed: int) -> bytes:
    """Return a request of `spans` spans with ids that follow from `seed`."""
    ids = random.Random(seed)
    request = ExportTraceServiceRequest()
    resource_spans = request.resource_spans.add()
    for key, value in (
        ("service.name", "bench"),
        ("service.version", "1.0"),
        ("telemetry.sdk.language", "python"),
        ("telemetry.sdk.name", "opentelemetry"),
        ("host.name", "bench-host"),
    ):
        resource_spans.resource.attributes.add(key=key).value.string_value = value
    scope_spans = resource_spans.scope_spans.add()
    scope_spans.scope.name = "bench"
    now = time.time_ns()
    for number in range(spans):
        _add(scope_spans, number, f"{seed}-{number // RUN_SPANS}", now, ids)
    return request.SerializeToString()


def _add(scope_spans: ScopeSpans, number: int, run: str, now: int, ids: random.Random) -> None:
    span = scope_spans.spans.add(
        trace_id=ids.randbytes(16),
        span_id=ids.randbytes(8),
        parent_span_id=ids.randbytes(8),
        kind=Span.SPAN_KIND_INTERNAL,
        start_time_unix_nano=now + number,
        end_time_unix_nano=now + number + 1_000_000,
    )
    text = {"subagent.run.id": f"run-{run}", "session.id": f"session-{run}"}
    match number % RUN_SPANS:
        case 0:
            text |= {
                "subagent.event": "dispatch",
                "gen_ai.agent.name": "worker",
                "subagent.mode": "background",
            }
        case 1:
            text |= {"subagent.event": "start", "gen_ai.agent.name": "worker"}
        case 61:
            text |= {"subagent.event": "child_done", "subagent.outcome": "ok"}
        case 62:
            text |= {"subagent.event": "completion_received", "subagent.result.source": "completion_push"}
        case 63:
            text |= {"subagent.event": "completion_forwarded", "subagent.forwarded_to_main": "true"}
        case other if other % 2:
            text |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
            text["gen_ai.tool.call.id"] = f"call-{run}-{number}"
        case _:
            text |= {"gen_ai.operation.name": "chat", "gen_ai.request.model": "model-1"}
            span.attributes.add(key="gen_ai.response.finish_reasons").value.array_value.values.add(
                string_value="stop"
            )
            span.attributes.add(key="gen_ai.usage.output_tokens").value.int_value = number
            span.attributes.add(key="gen_ai.usage.input_tokens").value.int_value = 1000 + number
    span.name = text.get("gen_ai.operation.name") or f"subagent.{text['subagent.event']}"
    for key, value in text.items():
        span.attributes.add(key=key).value.string_value = value
