"""POST /v1/traces: what comes in stands in `otel_traces`, or is refused with a reason."""

from __future__ import annotations

import gzip
import json
import sys
import time
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]  # ships no stubs
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.proto.trace.v1.trace_pb2 import Status as TraceStatus

from tests.collector.intake_server import JSON, Served, serving
from tests.collector.otlp_messages import request, span

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_DAY_NS = 86_400_000_000_000


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("data")) as running:
        yield running


def test_every_field_of_a_span_is_stored_as_the_exporter_stores_it(served: Served) -> None:
    full = span("full", start_ns=(start := time.time_ns()), duration_ns=1_500)
    full.trace_id, full.span_id, full.parent_span_id = bytes(range(16)), bytes(range(8)), bytes(range(8, 16))
    full.trace_state, full.kind = "a=1", Span.SPAN_KIND_CLIENT
    full.status.code, full.status.message = TraceStatus.STATUS_CODE_ERROR, "broken"
    event = full.events.add(name="exception", time_unix_nano=start + 7)
    event.attributes.add(key="exception.type").value.string_value = "ValueError"
    link = full.links.add(trace_id=b"\xaa" * 16, span_id=b"\xbb" * 8, trace_state="b=2")
    link.attributes.add(key="why").value.int_value = 3
    served.accepted(request([full], service="shop").SerializeToString())
    assert served.row(
        "full",
        "toUnixTimestamp64Nano(Timestamp)",
        "TraceId, SpanId, ParentSpanId, TraceState, SpanKind, ServiceName, ScopeName, ScopeVersion, Duration",
        "StatusCode, StatusMessage",
        "arrayMap(t -> toUnixTimestamp64Nano(t), Events.Timestamp), Events.Name, Events.Attributes",
        "Links.TraceId, Links.SpanId, Links.TraceState, Links.Attributes",
    ) == (
        start,
        "000102030405060708090a0b0c0d0e0f",
        "0001020304050607",
        "08090a0b0c0d0e0f",
        "a=1",
        "Client",
        "shop",
        "scope",
        "1",
        1500,
        "Error",
        "broken",
        [start + 7],
        ["exception"],
        [{"exception.type": "ValueError"}],
        ["aa" * 16],
        ["bb" * 8],
        ["b=2"],
        [{"why": "3"}],
    )


def test_the_receivers_time_is_stored_and_is_the_one_listeners_are_told(served: Served) -> None:
    served.accepted(request([span("received")]).SerializeToString())
    (stored,) = served.row("received", "ResourceAttributes['headcount.received_unix_nano']")
    assert int(stored) in served.received
    assert served.received == sorted(set(served.received))


def test_the_trace_id_helper_is_filled(served: Served) -> None:
    helped = span("helped")
    served.accepted(request([helped]).SerializeToString())
    rows = served.store.query(
        "SELECT count() FROM otel_traces_trace_id_ts WHERE TraceId = {id:String}",
        {"id": helped.trace_id.hex()},
    )
    assert rows == [(1,)]


def test_attributes_of_every_kind_are_stored_faithfully(served: Served) -> None:
    kinds = span("kinds")
    add = kinds.attributes.add
    add(key="string").value.string_value = 'x/"\n\x00é'
    add(key="empty string").value.string_value = ""
    add(key="false").value.bool_value = False
    add(key="true").value.bool_value = True
    add(key="zero").value.int_value = 0
    add(key="int").value.int_value = -(2**63)
    add(key="double").value.double_value = 0.1
    add(key="whole").value.double_value = 2.0
    add(key="bytes").value.bytes_value = b"\x00\xff"
    add(key="nothing")
    add(key="empty array").value.array_value.SetInParent()
    add(key="empty map").value.kvlist_value.SetInParent()
    array = add(key="array").value.array_value.values
    array.add(string_value='a/"'), array.add(int_value=2), array.add(bool_value=False), array.add()
    array.add(double_value=1.5), array.add(bytes_value=b"\x01")
    pairs = add(key="map").value.kvlist_value.values
    pairs.add(key='k"').value.string_value = "v"
    pairs.add(key="n").value.int_value = 1
    deep = add(key="deep").value.array_value.values
    inner = deep.add().kvlist_value.values.add(key="é").value.array_value.values
    inner.add(int_value=1), inner.add().array_value.values.add(string_value="bottom")
    deep.add(bytes_value=b"\xff")
    served.accepted(request([kinds]).SerializeToString())
    assert served.attributes("kinds") == {
        "string": 'x/"\n\x00é',
        "empty string": "",
        "false": "false",
        "true": "true",
        "zero": "0",
        "int": "-9223372036854775808",
        "double": "0.1",
        "whole": "2",
        "bytes": "AP8=",
        "nothing": "",
        "empty array": "[]",
        "empty map": "{}",
        "array": '["a/\\"",2,false,null,1.5,"AQ=="]',
        "map": '{"k\\"":"v","n":1}',
        "deep": '[{"é":[1,["bottom"]]},"/w=="]',
    }


def test_deep_values_in_resource_events_and_links_are_stored_too(served: Served) -> None:
    nested = span("nested")
    message = request([nested])
    held = message.resource_spans[0].scope_spans[0].spans[0]
    for attributes in (
        message.resource_spans[0].resource.attributes,
        held.events.add(name="e").attributes,
        held.links.add(trace_id=bytes(16), span_id=bytes(8)).attributes,
    ):
        attributes.add(key="k").value.array_value.values.add().array_value.values.add(int_value=1)
    served.accepted(message.SerializeToString())
    assert served.row(
        "nested", "ResourceAttributes['k'], Events.Attributes[1]['k'], Links.Attributes[1]['k']"
    ) == ("[[1]]", "[[1]]", "[[1]]")


def test_ten_thousand_attributes_and_a_megabyte_string_are_stored(served: Served) -> None:
    wide, long = span("wide"), span("long")
    for number in range(10_000):
        wide.attributes.add(key=f"key {number}").value.int_value = number
    long.attributes.add(key="text").value.string_value = "ü" * 1_000_000
    served.accepted(request([wide, long]).SerializeToString())
    assert served.attributes("wide") == {f"key {number}": str(number) for number in range(10_000)}
    assert served.attributes("long") == {"text": "ü" * 1_000_000}


def test_prompts_and_results_are_not_stored(served: Served) -> None:
    telling = span("telling")
    for key in (
        "user_prompt",
        "gen_ai.input.messages",
        "gen_ai.prompt.0.content",
        "gen_ai.usage.input_tokens",
    ):
        telling.attributes.add(key=key).value.string_value = "secret"
    telling.events.add(name="e").attributes.add(key="gen_ai.output.messages").value.string_value = "secret"
    served.accepted(request([telling]).SerializeToString())
    assert served.row("telling", "SpanAttributes, Events.Attributes") == (
        {"gen_ai.usage.input_tokens": "secret"},
        [{}],
    )


def test_a_missing_service_name_is_an_empty_one(served: Served) -> None:
    served.accepted(request([span("nameless")], service=None).SerializeToString())
    assert served.row("nameless", "ServiceName") == ("",)


def test_unknown_enums_and_a_zero_parent_are_stored_as_unspecified_and_none(served: Served) -> None:
    odd = span("odd")
    odd.kind, odd.status.code, odd.parent_span_id = 77, 9, bytes(8)  # type: ignore[assignment]  # an open enum
    served.accepted(request([odd]).SerializeToString())
    assert served.row("odd", "SpanKind, StatusCode, ParentSpanId") == ("Unspecified", "Unset", "")


@pytest.mark.parametrize(
    "body", [b"", request([]).SerializeToString(), ExportTraceServiceRequest().SerializeToString()]
)
def test_an_empty_request_is_a_success(served: Served, body: bytes) -> None:
    assert not served.accepted(body).HasField("partial_success")


def test_times_of_many_days_in_one_request_are_stored(served: Served) -> None:
    now = time.time_ns()
    served.accepted(
        request([span("days", start_ns=now - day * _DAY_NS) for day in range(29)]).SerializeToString()
    )
    assert len(served.rows("days")) == 29


BAD_SPANS: dict[str, tuple[dict[str, Any], str]] = {
    "short trace id": ({"trace_id": b"\1" * 15}, "trace_id must be 16 bytes"),
    "zero trace id": ({"trace_id": bytes(16)}, "trace_id must be 16 bytes"),
    "long span id": ({"span_id": b"\1" * 9}, "span_id must be 8 bytes"),
    "no span id": ({"span_id": b""}, "span_id must be 8 bytes"),
    "short parent": ({"parent_span_id": b"\1"}, "parent_span_id must be 8 bytes"),
    "no end": ({"end_time_unix_nano": 0}, "it has no end time"),
    "end before start": ({"end_time_unix_nano": time.time_ns() - _DAY_NS}, "it ends before it starts"),
    "start 0": ({"start_time_unix_nano": 0}, "before the retention of 30 days"),
    "start too old": (
        {"start_time_unix_nano": time.time_ns() - 31 * _DAY_NS},
        "before the retention of 30 days",
    ),
    "start far ahead": (
        {"start_time_unix_nano": 2**64 - 1, "end_time_unix_nano": 2**64 - 1},
        "it starts more than a day ahead",
    ),
    "end far ahead": ({"end_time_unix_nano": 2**63}, "it ends more than a day ahead"),
}


@pytest.mark.parametrize(("changes", "reason"), BAD_SPANS.values(), ids=BAD_SPANS)
def test_a_bad_span_is_refused_by_name_and_its_neighbours_are_stored(
    served: Served, request: pytest.FixtureRequest, changes: dict[str, Any], reason: str
) -> None:
    name = request.node.callspec.id
    bad = span(f"bad {name}")
    for field, value in changes.items():
        setattr(bad, field, value)
    before = served.intake.counters.rejected_spans.total()
    message = _request([span(f"left {name}"), bad, span(f"right {name}")])
    answer = served.accepted(message.SerializeToString()).partial_success
    assert answer.rejected_spans == 1
    assert f"1 of 3 spans refused. span 'bad {name}'" in answer.error_message
    assert reason in answer.error_message
    assert served.intake.counters.rejected_spans.total() == before + 1
    assert served.rows(f"left {name}")
    assert served.rows(f"right {name}")
    assert not served.rows(f"bad {name}")


_request = request


def test_many_bad_spans_are_counted_and_the_first_named(served: Served) -> None:
    bad = [span(f"bad {number}") for number in range(10)]
    for one in bad:
        one.span_id = b""
    answer = served.accepted(request(bad).SerializeToString()).partial_success
    assert answer.rejected_spans == 10
    assert "10 of 10 spans refused. span 'bad 0'" in answer.error_message
    assert answer.error_message.endswith("and 7 more")


def test_invalid_utf8_is_refused_and_says_so(served: Served) -> None:
    body = request([span("utf8_here")]).SerializeToString().replace(b"utf8_here", b"utf8\xff\xfe\xfd\xfc\xfb")
    response = served.post(body)
    assert response.status_code == 400
    assert response.headers["content-type"] == "application/x-protobuf"
    status = Status.FromString(response.content)
    assert status.code == 3
    assert "not UTF-8" in status.message


@pytest.mark.parametrize(
    "body",
    [b"\xff\xff\xff", b"{}", request([span()]).SerializeToString()[:-3]],
    ids=["garbage", "json", "cut"],
)
def test_a_malformed_body_is_refused_with_400(served: Served, body: bytes) -> None:
    response = served.post(body)
    assert response.status_code == 400
    assert "protobuf" in Status.FromString(response.content).message


def test_another_content_type_is_refused_with_415(served: Served) -> None:
    response = served.post(b"x", {"content-type": "text/plain"})
    assert response.status_code == 415
    assert "application/x-protobuf" in response.json()["message"]


def test_get_is_refused_with_405(served: Served) -> None:
    assert served.client.get("/v1/traces").status_code == 405


@pytest.mark.parametrize(
    ("encoding", "compress"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("zstd", zstd.compress),
        ("GZIP", gzip.compress),
    ],
)
def test_compressed_bodies_are_taken(served: Served, encoding: str, compress: Any) -> None:
    body = request([span(f"packed {encoding}")]).SerializeToString()
    served.accepted(compress(body), {"content-encoding": encoding})
    assert served.rows(f"packed {encoding}")


@pytest.mark.parametrize(
    ("encoding", "body", "status"),
    [
        ("br", b"x", 415),
        ("gzip", b"no gzip", 400),
        ("gzip", gzip.compress(b"x" * 99)[:-9], 400),
        ("zstd", b"no", 400),
    ],
    ids=["unknown", "no gzip", "cut gzip", "no zstd"],
)
def test_a_bad_encoding_is_refused(served: Served, encoding: str, body: bytes, status: int) -> None:
    assert served.post(body, {"content-encoding": encoding}).status_code == status


def test_a_body_that_unpacks_beyond_the_limit_is_refused_with_413(served: Served) -> None:
    bomb = gzip.compress(bytes(21 * 1024 * 1024))
    assert served.post(bomb, {"content-encoding": "gzip"}).status_code == 413
    assert served.post(bytes(20 * 1024 * 1024 + 1)).status_code == 413


def test_json_with_every_leniency_is_taken(served: Served) -> None:
    now = time.time_ns()
    spans = [
        {
            "traceId": "5B8EFFF798038103D269B633813FC60C",
            "spanId": "eee19b7ec3c1b174",
            "parentSpanId": "eee19b7ec3c1b173",
            "name": "json",
            "kind": kind,
            "startTimeUnixNano": str(now),
            "endTimeUnixNano": now + 5,
            "status": {"code": "STATUS_CODE_OK"},
            "attributes": [
                {"key": "int", "value": {"intValue": "9007199254740993"}},
                {
                    "key": "array",
                    "value": {"arrayValue": {"values": [{"stringValue": "a"}, {"intValue": 1}]}},
                },
                {"key": "bytes", "value": {"bytesValue": "AP8="}},
                {"key": "deep", "value": {"arrayValue": {"values": [{"arrayValue": {"values": []}}]}}},
            ],
            "links": [{"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "EEE19B7EC3C1B173"}],
            "fieldOfTomorrow": {"x": 1},
        }
        for kind in (3, "SPAN_KIND_CLIENT")
    ]
    body = {"resourceSpans": [{"scopeSpans": [{"spans": spans}], "resource": {"attributes": []}}]}
    response = served.post(json.dumps(body).encode(), JSON)
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.json() == {}
    rows = served.rows(
        "json", "TraceId, SpanId, ParentSpanId, SpanKind, Duration, StatusCode, SpanAttributes, Links.SpanId"
    )
    attributes = {"int": "9007199254740993", "array": '["a",1]', "bytes": "AP8=", "deep": "[[]]"}
    ids = ("5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174", "eee19b7ec3c1b173")
    assert rows == [(*ids, "Client", 5, "Ok", attributes, ["eee19b7ec3c1b173"])] * 2


def test_json_refusals_and_rejections_answer_in_json(served: Served) -> None:
    bad = {"traceId": "00", "spanId": "eee19b7ec3c1b174", "name": "short"}
    response = served.post(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [bad]}]}]}).encode(), JSON)
    assert response.status_code == 200
    assert response.json()["partialSuccess"]["rejectedSpans"] == "1"
    for body in (
        b"{",
        b"[]",
        b'{"resourceSpans": 1}',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "\\ud800"}]}]}]}',
    ):
        response = served.post(body, JSON)
        assert response.status_code == 400
        assert response.json()["code"] == 3
        assert "JSON" in response.json()["message"]
    odd = b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "xyz"}]}]}]}'
    assert "'xyz' is not hexadecimal" in served.post(odd, JSON).json()["message"]


@pytest.mark.parametrize("signal", ["metrics", "logs"])
def test_other_signals_are_accepted_and_counted(served: Served, signal: str) -> None:
    bodies = {
        "metrics": b'{"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "m"}, {"name": "n"}]}]}]}',
        "logs": b'{"resourceLogs": [{"scopeLogs": [{"logRecords": [{}, {}]}]}]}',
    }
    assert served.post(bodies[signal], JSON, f"/v1/{signal}").json() == {}
    assert served.post(b"", path=f"/v1/{signal}").status_code == 200
    assert served.post(b"\xff\xff", path=f"/v1/{signal}").status_code == 400
    assert served.intake.counters.ignored_items[signal] == 2
