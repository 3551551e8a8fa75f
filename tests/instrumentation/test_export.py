"""The way out: real OTLP over loopback, outages, refusals, a full queue, and the bound at shutdown."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import headcount
from headcount.outbox import Outbox

from .conftest import Host
from .receiver import ReceivedSpan, Receiver


def span(number: int) -> ReadableSpan:
    return ReadableSpan(f"span-{number}", attributes={"n": number})


def numbers(spans: Sequence[ReadableSpan]) -> list[object]:
    return [(span.attributes or {})["n"] for span in spans]


class Gate(SpanExporter):
    """An exporter that waits until it is let through, and fails as often as told."""

    def __init__(self, *, failures: int = 0, open_at_once: bool = True) -> None:
        self.arrived = threading.Event()
        self.opened = threading.Event()
        self.failures = failures
        self.taken: list[object] = []
        self.batches: list[int] = []
        self.shut = False
        if open_at_once:
            self.opened.set()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.arrived.set()
        self.opened.wait(20)
        self.batches.append(len(spans))
        if self.failures:
            self.failures -= 1
            raise ConnectionError("not yet")
        self.taken.extend(numbers(spans))
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        self.shut = True
        self.opened.set()


@pytest.fixture
def make_outbox() -> Iterator[Callable[..., Outbox]]:
    made: list[Outbox] = []

    def make(exporter: SpanExporter, *, capacity: int = 100, linger_s: float = 0.0) -> Outbox:
        outbox = Outbox(
            lambda: exporter, capacity=capacity, linger_s=linger_s, first_retry_s=0.001, longest_retry_s=0.001
        )
        made.append(outbox)
        return outbox

    yield make
    for outbox in made:
        outbox.close(5.0)


def test_a_whole_run_arrives_over_otlp_with_the_resource(receiver: Receiver, host: Host) -> None:
    headcount.configure(receiver.endpoint, service_name="orchestrator", headers={"x-tenant": "t1"})
    run = headcount.dispatch("reviewer", prompt="p")
    with headcount.child(run) as ctx, ctx.tool("Read"):
        pass
    run.received()
    run.forwarded()
    spans = receiver.wait_for(7)
    assert [span.event for span in spans] == [
        "dispatch",
        "start",
        "tool_call",
        "tool_call",
        "child_done",
        "completion_received",
        "completion_forwarded",
    ]
    assert {span.resource["service.name"] for span in spans} == {"orchestrator"}
    assert {span.resource["team"] for span in spans} == {"blue"}
    assert receiver.headers[0]["x-tenant"] == "t1"
    assert all(0 < span.start_ns <= span.end_ns for span in spans)
    assert spans[4].links == [(spans[0].trace_id, spans[0].span_id)]


def test_no_argument_is_enough(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.endpoint)
    monkeypatch.setenv("OTEL_SERVICE_NAME", "from-the-environment")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=k")
    headcount.configure()
    headcount.dispatch("reviewer")
    (arrived,) = receiver.wait_for(1)
    assert arrived.resource["service.name"] == "from-the-environment"
    assert receiver.headers[0]["x-key"] == "k"


def test_the_address_and_token_of_headcount_go_before_those_of_otel(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("HEADCOUNT_ENDPOINT", receiver.endpoint)
    monkeypatch.setenv("HEADCOUNT_TOKEN_FILE", str(token))
    headcount.dispatch("reviewer")
    receiver.wait_for(1)
    assert receiver.headers[0]["authorization"] == "Bearer s3cret"


def test_what_could_not_be_sent_arrives_when_the_collector_is_back_in_order_and_once() -> None:
    with Receiver() as first:
        port = first.port
    headcount.configure(f"http://127.0.0.1:{port}")
    runs = [headcount.dispatch("reviewer") for _ in range(3)]
    assert not headcount.flush(0.5), "nobody listens yet"
    with Receiver(port) as back:
        runs[0].received()
        spans = back.wait_for(4)
        assert headcount.flush(10)
        assert len(back.spans) == 4
    sequence = [span.attributes["subagent.producer.seq"] for span in spans]
    assert sequence == sorted(sequence, key=int)  # type: ignore[arg-type]  # ints
    assert headcount.stats().dropped == 0


def test_a_collector_that_asks_for_patience_gets_everything_once() -> None:
    refusals = iter([503, 503])

    def answer(spans: list[ReceivedSpan]) -> int:
        return next(refusals, 200)

    with Receiver(answer=answer) as busy:
        headcount.configure(busy.endpoint)
        headcount.dispatch("reviewer")
        assert len(busy.wait_for(1)) == 1
        headcount.shutdown()


def test_a_flood_of_other_spans_pushes_no_lifecycle_span_out(receiver: Receiver, host: Host) -> None:
    headcount.configure(receiver.endpoint)
    with headcount.child(headcount.dispatch("reviewer")):
        for _ in range(3000):
            host.tracer.start_span("flood").end()
    assert [span.event for span in receiver.wait_for(3)] == ["dispatch", "start", "child_done"]


def test_spans_leave_in_order_and_flush_waits_for_them(make_outbox: Callable[..., Outbox]) -> None:
    gate = Gate()
    outbox = make_outbox(gate, capacity=5000, linger_s=60.0)
    for number in range(2000):
        outbox.put(span(number))
    assert outbox.flush(20)
    assert gate.taken == list(range(2000))
    assert max(gate.batches) <= 512
    assert (outbox.sent, outbox.queued, outbox.dropped) == (2000, 0, 0)


@pytest.mark.parametrize("failures", [1, 4, 10])
def test_failures_lose_nothing_double_nothing_and_keep_the_order(
    make_outbox: Callable[..., Outbox], failures: int
) -> None:
    gate = Gate(failures=failures)
    outbox = make_outbox(gate)
    for number in range(20):
        outbox.put(span(number))
    assert outbox.flush(20)
    assert gate.taken == list(range(20))


def test_a_full_queue_drops_the_newest_and_counts_it(
    make_outbox: Callable[..., Outbox], caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate(open_at_once=False)
    outbox = make_outbox(gate, capacity=10)
    outbox.put(span(0))
    assert gate.arrived.wait(20)
    for number in range(1, 30):
        outbox.put(span(number))
    assert outbox.dropped == 20
    gate.opened.set()
    assert outbox.flush(20)
    assert gate.taken == list(range(10))
    assert caplog.text.count("the queue is full") == 1


def test_output_and_heartbeats_leave_room_for_what_matters(make_outbox: Callable[..., Outbox]) -> None:
    gate = Gate(open_at_once=False)
    outbox = make_outbox(gate, capacity=100)
    outbox.put(span(0))
    assert gate.arrived.wait(20)
    for number in range(1, 200):
        outbox.put(span(number), routine=True)
    assert outbox.queued == 75
    for number in range(200, 225):
        outbox.put(span(number))
    assert outbox.queued == 100
    gate.opened.set()


class Choosy(SpanExporter):
    """An exporter that refuses every batch with one certain span in it."""

    def __init__(self, poison: int) -> None:
        self.poison = poison
        self.taken: list[object] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        if self.poison in numbers(spans):
            return SpanExportResult.FAILURE
        self.taken.extend(numbers(spans))
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        pass


def test_one_span_that_is_refused_for_good_holds_up_no_other(
    make_outbox: Callable[..., Outbox],
) -> None:
    choosy = Choosy(poison=5)
    outbox = make_outbox(choosy)
    for number in range(12):
        outbox.put(span(number))
    assert outbox.flush(20)
    assert choosy.taken == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]
    assert outbox.dropped == 1


def test_closing_waits_no_longer_than_told_and_counts_what_stays(make_outbox: Callable[..., Outbox]) -> None:
    gate = Gate(open_at_once=False)
    outbox = make_outbox(gate)
    outbox.put(span(0))
    assert gate.arrived.wait(20)
    assert not outbox.close(0.0)
    assert gate.shut
    outbox.put(span(1))
    assert outbox.dropped >= 1


def test_a_span_put_in_the_middle_of_a_put_arrives_too(make_outbox: Callable[..., Outbox]) -> None:
    gate = Gate()
    outbox = make_outbox(gate)

    class Interrupting(ReadableSpan):
        """Puts another span while the outbox looks at this one, as a signal handler or finaliser would."""

        def __del__(self) -> None:
            outbox.put(span(99))

    Interrupting("gone")
    outbox.put(span(1))
    assert outbox.flush(20)
    assert sorted(map(str, gate.taken)) == ["1", "99"]


def test_a_host_under_threads_loses_and_doubles_nothing(make_outbox: Callable[..., Outbox]) -> None:
    gate = Gate()
    outbox = make_outbox(gate, capacity=10_000)

    def put(first: int) -> None:
        for number in range(first, first + 500):
            outbox.put(span(number))

    threads = [threading.Thread(target=put, args=(first,)) for first in range(0, 4000, 500)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outbox.flush(20)
    assert sorted(map(int, map(str, gate.taken))) == list(range(4000))


def test_an_exporter_of_ones_own_and_a_second_backend(host: Host) -> None:
    kept, also = InMemorySpanExporter(), InMemorySpanExporter()
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    headcount.configure(exporter=lambda: kept, span_processors=[SimpleSpanProcessor(also)])
    with headcount.child(headcount.dispatch("reviewer")) as ctx, ctx.tool("Read"):
        pass
    assert headcount.flush()
    assert len(kept.get_finished_spans()) == 5
    assert [span.name for span in also.get_finished_spans()] == ["execute_tool Read", "invoke_agent reviewer"]


def test_grpc_without_its_exporter_is_named_and_http_used(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.grpc.trace_exporter", None)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.endpoint)
    headcount.configure()
    headcount.dispatch("reviewer")
    receiver.wait_for(1)
    assert "pip install opentelemetry-exporter-otlp-proto-grpc" in caplog.text


def test_a_second_configure_replaces_the_first_and_loses_nothing(receiver: Receiver) -> None:
    with Receiver() as first:
        headcount.configure(first.endpoint, linger_s=60)
        headcount.dispatch("early")
        headcount.configure(receiver.endpoint)
        headcount.dispatch("late")
        assert first.wait_for(1)[0].attributes["gen_ai.agent.name"] == "early"
        assert receiver.wait_for(1)[0].attributes["gen_ai.agent.name"] == "late"


def test_an_outage_is_logged_once_and_by_us_alone(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.5")
    with Receiver() as gone:
        endpoint = gone.endpoint
    headcount.configure(endpoint)
    headcount.dispatch("reviewer")
    headcount.flush(1.5)
    headcount.shutdown(1.5)
    assert {record.name for record in caplog.records} <= {"headcount"}
    assert caplog.text.count("cannot be exported") == 1
