"""OTLP/gRPC by the SDK's own exporters and by hand: stored rows, refusals with the codes that the specification names."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo  # type: ignore[import-untyped]  # ships no stubs
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]  # ships no stubs
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from headcount_collector.receive import Intake, create_intake
from headcount_collector.receive.errors import Unauthenticated
from headcount_collector.receive.grpc_edge import GrpcLimits
from tests.collector.intake_server import Served, serving, serving_grpc
from tests.collector.otlp_messages import request, span
from tests.collector.recording_store import RecordingStore

TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("data")) as running:
        yield running


def call(
    address: str,
    body: bytes,
    *,
    path: str = TRACES,
    compression: grpc.Compression | None = None,
    **metadata: str,
) -> bytes:
    with grpc.insecure_channel(address, compression=compression) as channel:
        export: Any = channel.unary_unary(path)
        answer: bytes = export(body, timeout=30, metadata=tuple(metadata.items()))
    return answer


def refusal(address: str, body: bytes, **options: Any) -> tuple[grpc.StatusCode, str, int | None]:
    """Return code, text and RetryInfo's seconds of a call that must fail."""
    with pytest.raises(grpc.RpcError) as caught:
        call(address, body, **options)
    error: Any = caught.value
    trailing = dict(error.trailing_metadata() or ())
    if (details := trailing.get("grpc-status-details-bin")) is None:
        return error.code(), error.details(), None
    wait = RetryInfo()
    assert Status.FromString(details).details[0].Unpack(wait)
    return error.code(), error.details(), wait.retry_delay.seconds


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_spans_of_the_sdk_arrive(served: Served, compression: grpc.Compression) -> None:
    exporter = OTLPSpanExporter(f"http://{served.grpc}", insecure=True, compression=compression)
    provider = TracerProvider(resource=Resource({"service.name": "grpc sdk"}))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    name = f"over grpc {compression.name}"
    with provider.get_tracer("scope").start_as_current_span(name, attributes={"n": 3}):
        pass
    provider.shutdown()
    assert served.row(name, "ServiceName", "SpanAttributes") == ("grpc sdk", {"n": "3"})


def test_metrics_of_the_sdk_are_counted(served: Served) -> None:
    reader = PeriodicExportingMetricReader(OTLPMetricExporter(f"http://{served.grpc}", insecure=True))
    meters = MeterProvider([reader])
    meters.get_meter("scope").create_counter("things").add(1)
    before = served.intake.counters.requests["metrics"]
    meters.shutdown()
    assert served.intake.counters.requests["metrics"] > before


def test_logs_of_the_sdk_that_carry_evidence_are_stored(served: Served) -> None:
    loggers = LoggerProvider(resource=Resource({"service.name": "logging"}))
    loggers.add_log_record_processor(
        SimpleLogRecordProcessor(OTLPLogExporter(f"http://{served.grpc}", insecure=True))
    )
    logger = loggers.get_logger("scope", "1.0")
    logger.emit(
        event_name="claude_code.subagent_completed", body="done", attributes={"agent_type": "x", "n": 1}
    )
    logger.emit(event_name="something.else", body="not ours")
    loggers.shutdown()
    rows = served.store.query(
        "SELECT EventName, Body, LogAttributes, ServiceName, ScopeName FROM otel_logs WHERE ServiceName = 'logging'"
    )
    assert rows == [("claude_code.subagent_completed", "", {"agent_type": "x", "n": "1"}, "logging", "scope")]


def test_an_answer_names_refused_spans(served: Served) -> None:
    good, bad = span("good over grpc"), span("bad over grpc")
    bad.trace_id = b"short"
    body = request([good, bad]).SerializeToString()
    answer = ExportTraceServiceResponse.FromString(call(served.grpc, body))
    assert answer.partial_success.rejected_spans == 1
    assert "bad over grpc" in answer.partial_success.error_message
    assert len(served.rows("good over grpc")) == 1


def test_an_empty_request_is_a_success(served: Served) -> None:
    assert call(served.grpc, b"") == b""


def test_garbage_can_never_succeed(served: Served) -> None:
    code, says, retry_s = refusal(served.grpc, b"\xff\xff")
    assert (code, retry_s) == (grpc.StatusCode.INVALID_ARGUMENT, None)
    assert "no ExportTraceServiceRequest" in says


def test_another_service_is_unimplemented(served: Served) -> None:
    assert refusal(served.grpc, b"", path="/some.Other/Export")[0] == grpc.StatusCode.UNIMPLEMENTED


@contextmanager
def behind_grpc(store: RecordingStore, **options: Any) -> Iterator[tuple[Intake, str]]:
    intake = create_intake(store, queue_requests=1)
    with serving_grpc(intake, **options) as address:
        try:
            yield intake, address
        finally:
            store.gate.set()
    intake.close()


def test_a_message_above_the_limit_is_refused_compressed_or_not() -> None:
    store = RecordingStore()
    store.gate.set()
    with behind_grpc(store, limits=GrpcLimits(body_bytes=100_000)) as (_, address):
        body = request([span("x" * 200_000)]).SerializeToString()
        for compression in (grpc.Compression.NoCompression, grpc.Compression.Gzip):
            code, says, retry_s = refusal(address, body, compression=compression)
            assert (code, retry_s) == (grpc.StatusCode.RESOURCE_EXHAUSTED, None)
            assert "larger than max" in says
    assert store.groups == []


def test_a_full_queue_is_resource_exhausted_and_says_when_to_retry() -> None:
    store = RecordingStore()
    with behind_grpc(store) as (_, address):
        body = request([span()]).SerializeToString()
        waiting = threading.Thread(target=call, args=(address, body))
        waiting.start()
        assert store.entered.acquire(timeout=30)
        code, says, retry_s = refusal(address, body)
        assert (code, retry_s) == (grpc.StatusCode.RESOURCE_EXHAUSTED, 1)
        assert "try again" in says
        store.gate.set()
        waiting.join()
    assert len(store.groups) == 1


def test_a_store_that_fails_is_unavailable_and_says_when_to_retry() -> None:
    store = RecordingStore(lambda bodies: RuntimeError("disk"))
    store.gate.set()
    with behind_grpc(store) as (_, address):
        code, _says, retry_s = refusal(address, request([span()]).SerializeToString())
        assert (code, retry_s) == (grpc.StatusCode.UNAVAILABLE, 1)


def test_whom_the_gate_does_not_let_in_is_unauthenticated() -> None:
    seen: list[str] = []

    def gate(authorization: str) -> None:
        seen.append(authorization)
        if authorization != "Bearer right":
            raise Unauthenticated("a token is wanted")

    store = RecordingStore()
    store.gate.set()
    with behind_grpc(store, gate=gate) as (intake, address):
        body = request([span()]).SerializeToString()
        assert refusal(address, body)[:2] == (grpc.StatusCode.UNAUTHENTICATED, "a token is wanted")
        call(address, body, authorization="Bearer right")
        assert intake.counters.refused_requests == {"unauthenticated": 1}
    assert seen == ["", "Bearer right"]


def test_closing_lets_what_is_under_way_end() -> None:
    store = RecordingStore()
    intake = create_intake(store)
    answers: list[bytes] = []
    with serving_grpc(intake) as address:
        waiting = threading.Thread(
            target=lambda: answers.append(call(address, request([span()]).SerializeToString()))
        )
        waiting.start()
        assert store.entered.acquire(timeout=30)
        store.gate.set()
    waiting.join()
    intake.close()
    assert answers == [b""]
