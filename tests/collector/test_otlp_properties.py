"""Whatever bytes arrive, the receiver answers with rows or with a refusal of its own, and neighbours are unharmed."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList

from headcount_collector.receive.admission import Admission
from headcount_collector.receive.errors import Malformed
from tests.collector.intake_server import JSON, PROTOBUF, Served, serving
from tests.collector.otlp_messages import request, span

_numbers = itertools.count()
_real_engine = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])

text = st.text(st.characters(codec="utf-8"), max_size=20)
scalars = st.one_of(
    text.map(lambda value: AnyValue(string_value=value)),
    st.booleans().map(lambda value: AnyValue(bool_value=value)),
    st.integers(-(2**63), 2**63 - 1).map(lambda value: AnyValue(int_value=value)),
    st.floats().map(lambda value: AnyValue(double_value=value)),
    st.binary(max_size=20).map(lambda value: AnyValue(bytes_value=value)),
    st.just(AnyValue()),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda held: AnyValue(array_value=ArrayValue(values=held))),
        st.lists(st.builds(KeyValue, key=text, value=inner), max_size=3).map(
            lambda held: AnyValue(kvlist_value=KeyValueList(values=held))
        ),
    ),
    max_leaves=8,
)
attributes = st.lists(st.builds(KeyValue, key=text, value=values), max_size=4)
ids = st.one_of(
    st.binary(max_size=20), st.binary(min_size=16, max_size=16), st.binary(min_size=8, max_size=8)
)
times = st.one_of(
    st.integers(0, 2**64 - 1), st.integers(-(10**12), 10**12).map(lambda off: time.time_ns() + off)
)


@st.composite
def requests(draw: st.DrawFn) -> ExportTraceServiceRequest:
    """Requests that parse, and otherwise obey nothing."""
    message = ExportTraceServiceRequest()
    for _ in range(draw(st.integers(0, 2))):
        resource_spans = message.resource_spans.add()
        resource_spans.resource.attributes.extend(draw(attributes))
        for _ in range(draw(st.integers(0, 2))):
            scope_spans = resource_spans.scope_spans.add()
            for _ in range(draw(st.integers(0, 2))):
                held = scope_spans.spans.add(
                    trace_id=draw(ids),
                    span_id=draw(ids),
                    parent_span_id=draw(ids),
                    name=draw(text),
                    trace_state=draw(text),
                    start_time_unix_nano=draw(times),
                    end_time_unix_nano=draw(times),
                )
                held.kind = draw(st.integers(-(2**31), 2**31 - 1))  # type: ignore[assignment]  # an open enum
                held.attributes.extend(draw(attributes))
                event = held.events.add(time_unix_nano=draw(times), name=draw(text))
                event.attributes.extend(draw(attributes))
                held.links.add(trace_id=draw(ids), span_id=draw(ids)).attributes.extend(draw(attributes))
    return message


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("data")) as running:
        yield running


def answered_beside_a_neighbour(served: Served, body: bytes, content: str) -> None:
    """Submit `body` in one group with a good request, and check that the good one is stored."""
    name = f"neighbour {next(_numbers)}"
    committer, admission = served.intake.committer, Admission()
    good = admission.admit(request([span(name)]).SerializeToString())
    before = committer.submit(good.body, good.spans)
    response = served.post(body, {"content-type": content})
    assert response.status_code in (200, 400), response.content
    before.result(60)
    assert len(served.rows(name)) == 1


@given(body=st.binary(max_size=300))
@_real_engine
def test_any_bytes_give_rows_or_a_refusal(served: Served, body: bytes) -> None:
    for content in (PROTOBUF, JSON):
        answered_beside_a_neighbour(served, body, content["content-type"])


@given(message=requests())
@_real_engine
def test_any_request_is_stored_but_for_the_spans_it_names(
    served: Served, message: ExportTraceServiceRequest
) -> None:
    counters = served.intake.counters
    accepted, failed = counters.accepted_spans, counters.failed_commits
    spans = sum(len(scope.spans) for resource in message.resource_spans for scope in resource.scope_spans)
    before = served.store.query("SELECT count() FROM otel_traces")[0][0]
    answer = served.accepted(message.SerializeToString())
    stored = spans - answer.partial_success.rejected_spans
    assert counters.accepted_spans - accepted == stored
    assert served.store.query("SELECT count() FROM otel_traces") == [(before + stored,)]
    assert counters.failed_commits == failed


@given(
    body=st.binary(max_size=300), cut=st.integers(0, 400), place=st.integers(0, 400), byte=st.integers(0, 255)
)
@settings(deadline=None)
def test_admission_of_garbled_requests_raises_nothing_but_malformed(
    body: bytes, cut: int, place: int, byte: int
) -> None:
    held = span("garbled")
    held.attributes.add(key="k").value.array_value.values.add().array_value.values.add(int_value=1)
    garbled = bytearray(request([held]).SerializeToString())
    garbled[place % len(garbled)] = byte
    for sent in (body, bytes(garbled[:cut])):
        with suppress(Malformed):
            Admission().admit(sent)
