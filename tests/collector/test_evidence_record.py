"""Records become spans whose ids follow from what they say."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from headcount_collector.evidence import Record, export_request, wire
from headcount_collector.evidence.digest import normalised_digest
from headcount_collector.evidence.record import AttributeValue, span_of

T = 1_796_040_000_000_000_000

texts = st.text(st.characters(), max_size=20)
values: st.SearchStrategy[AttributeValue] = st.one_of(
    texts,
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.lists(texts, max_size=3).map(tuple),
)
records = st.builds(
    Record,
    event=st.sampled_from(sorted(wire.EVENTS)),
    at_ns=st.integers(-(10**18), 2**63 - 1),
    run=st.none() | texts,
    session=st.none() | texts,
    attributes=st.dictionaries(st.sampled_from([wire.OWNER, wire.AGENT, "x", "é"]), values, max_size=4),
    start_ns=st.none() | st.integers(-(10**18), 2**63 - 1),
    phase=st.none() | st.sampled_from(sorted(wire.PHASES)),
    service=texts,
    identity=st.none() | texts,
)


def attributes_of(span: Span) -> dict[str, object]:
    found: dict[str, object] = {}
    for item in span.attributes:
        kind = item.value.WhichOneof("value")
        assert kind is not None
        value = getattr(item.value, kind)
        found[item.key] = [v.string_value for v in value.values] if kind == "array_value" else value
    return found


def test_a_record_says_event_run_session_and_phase_as_attributes() -> None:
    record = Record("tool_call", T, "r1", "s1", {wire.TOOL: "Bash", wire.ALIAS: ("a", "b")}, phase="pending")
    span = span_of(record)
    assert span.name == "subagent.tool_call"
    assert span.kind == Span.SPAN_KIND_INTERNAL
    assert attributes_of(span) == {
        "subagent.event": "tool_call",
        "subagent.run.id": "r1",
        "session.id": "s1",
        "subagent.phase": "pending",
        "gen_ai.tool.name": "Bash",
        "subagent.run.alias": ["a", "b"],
    }


def test_a_pending_twin_has_no_length_and_an_id_of_its_own() -> None:
    pending = span_of(Record("wait", T, "r1", "s1", phase="pending"))
    ended = span_of(Record("wait", T + 9, "r1", "s1", start_ns=T, phase="ended"))
    assert (pending.start_time_unix_nano, pending.end_time_unix_nano) == (T, T)
    assert (ended.start_time_unix_nano, ended.end_time_unix_nano) == (T, T + 9)
    assert pending.span_id != ended.span_id
    assert pending.trace_id == ended.trace_id


def test_an_event_of_an_owner_carries_no_run_id() -> None:
    span = span_of(Record("owner_final", T, None, "s1", {wire.OWED: ()}))
    assert attributes_of(span) == {"subagent.event": "owner_final", "session.id": "s1", "subagent.owed": []}


def test_an_error_sets_status_and_error_type() -> None:
    failed = span_of(Record("child_done", T, "r1", "s1", {wire.OUTCOME: "timeout"}))
    assert failed.status.code == Status.STATUS_CODE_ERROR
    assert attributes_of(failed)["error.type"] == "timeout"
    fine = span_of(Record("child_done", T, "r1", "s1", {wire.OUTCOME: "ok"}))
    assert fine.status.code == Status.STATUS_CODE_UNSET
    assert "error.type" not in attributes_of(fine)


def test_equal_records_are_one_event_and_any_difference_makes_two() -> None:
    record = Record("nudge", T, "r1", "s1", {wire.MESSAGE_FROM: "owner"})
    others = [
        replace(record, at_ns=T + 1),
        replace(record, run="r2"),
        replace(record, session="s2"),
        replace(record, event="message"),
        replace(record, attributes={wire.MESSAGE_FROM: "child"}),
        replace(record, attributes={wire.MESSAGE_FROM: True}),
        replace(record, service="other"),
    ]
    assert span_of(record) == span_of(replace(record))
    assert len({span_of(r).span_id for r in [record, *others]}) == len(others) + 1


def test_producer_and_number_are_the_identity_where_both_are_known() -> None:
    numbered: dict[str, AttributeValue] = {wire.PRODUCER: "p", wire.SEQ: 7}
    first = Record("output", T, "r1", "s1", {**numbered, wire.OUTPUT_TOKENS: 5})
    retold = Record("output", T + 1, "r1", "s1", {**numbered, wire.OUTPUT_TOKENS: 6})
    assert span_of(first).span_id == span_of(retold).span_id
    unnumbered = [Record("output", T + i, "r1", "s1", {wire.PRODUCER: "p"}) for i in (0, 1)]
    assert len({span_of(r).span_id for r in unnumbered}) == 2


def test_spans_are_grouped_by_service_in_their_order() -> None:
    told = [Record("heartbeat", T + i, "r1", "s1", service=service) for i, service in enumerate("aba")]
    request = export_request(told)
    found = {
        spans.resource.attributes[0].value.string_value: [
            span.start_time_unix_nano - T for scope in spans.scope_spans for span in scope.spans
        ]
        for spans in request.resource_spans
    }
    assert found == {"a": [0, 2], "b": [1]}
    assert {s.scope.name for spans in request.resource_spans for s in spans.scope_spans} == {"headcount"}
    assert export_request([]) == ExportTraceServiceRequest()


@given(st.lists(records, max_size=4))
def test_any_records_give_a_message_that_survives_the_wire(told: list[Record]) -> None:
    request = export_request(told)
    assert ExportTraceServiceRequest.FromString(request.SerializeToString()) == request
    spans = [s for rs in request.resource_spans for scope in rs.scope_spans for s in scope.spans]
    assert len(spans) == len(told)
    for span in spans:
        assert len(span.trace_id) == 16
        assert len(span.span_id) == 8
        assert span.start_time_unix_nano <= span.end_time_unix_nano


def test_a_digest_ignores_case_width_and_white_space_and_nothing_else() -> None:
    assert normalised_digest(" Find\tthe  ANSWER\n") == normalised_digest("find the answer")
    assert normalised_digest("\uff21") == normalised_digest("a")
    assert normalised_digest("find the answer") != normalised_digest("findtheanswer")
    assert normalised_digest("\ud800") == normalised_digest("\ud800")
