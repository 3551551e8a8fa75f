"""Records written as lines of a replay file are read back as they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from headcount_collector.evidence import wire
from headcount_collector.evidence.record import Record, export_request
from headcount_collector.evidence.replay_file import Arrival, OtlpBody, read_replay_file
from headcount_collector.evidence.short_form import record_of
from headcount_collector.evidence.short_line import attributes_of, line_of, typed
from headcount_collector.receive.otlp_json import request_from_json

T0 = 1_796_000_000 * 10**9
CASES = sorted((Path(__file__).parents[1] / "cases").glob("*.jsonl"))


def test_every_record_of_every_case_survives() -> None:
    """But for the text of an error, of which only the digest counts."""
    seen = 0
    for path in CASES:
        file = read_replay_file(path)
        for item in file.items:
            if isinstance(item, Arrival) and isinstance(item.evidence, Record):
                seen += 1
                line = line_of(item.evidence, item.at_ns, file.header.t0_ns)
                assert "otlp" not in line, (path.name, line)
                again = record_of(line, file.header.t0_ns)
                assert without_errors(again) == without_errors(item.evidence), path.name
    assert seen > 1000


def without_errors(record: Record) -> tuple[object, ...]:
    kept = {k: v for k, v in record.attributes.items() if k not in (wire.ERROR, wire.ERROR_DIGEST)}
    start = record.start_ns if record.start_ns != record.at_ns else None
    return record.event, record.at_ns, record.run, record.session, record.phase, start, kept


def test_equal_failures_stay_equal_and_others_do_not() -> None:
    def again(error: str) -> object:
        record = record_of(
            {"at": 0, "event": "tool_call", "run": "r", "session": "s", "phase": "ended", "error": error}, T0
        )
        return record_of(line_of(record, T0, T0), T0).attributes[wire.ERROR_DIGEST]

    assert again("No such file") == again("no such  FILE")
    assert again("No such file") != again("Permission denied")


def test_what_the_short_form_cannot_say_is_a_line_of_otlp() -> None:
    import json

    record = Record(
        "launch", T0, run="r", session="s", attributes={wire.MODE: "teammate", wire.DESCRIPTION: "secret"}
    )
    line = line_of(record, T0, T0)
    request = request_from_json(json.dumps(line["otlp"]).encode())
    (span,) = request.resource_spans[0].scope_spans[0].spans
    assert {a.key: a.value.string_value for a in span.attributes}[wire.MODE] == "teammate"
    assert "secret" not in json.dumps(line)
    assert (
        span.span_id
        == export_request(
            [Record("launch", T0, run="r", session="s", attributes={wire.MODE: "teammate"}, service="replay")]
        )
        .resource_spans[0]
        .scope_spans[0]
        .spans[0]
        .span_id
    )
    assert isinstance(OtlpBody(line["otlp"]), OtlpBody)  # type: ignore[arg-type]  # a line of the file, as read


def test_descriptions_are_not_exported() -> None:
    record = Record(
        "dispatch", T0, run="r", session="s", attributes={wire.DESCRIPTION: "secret", wire.AGENT: "a"}
    )
    assert "secret" not in str(line_of(record, T0, T0))


@pytest.mark.parametrize(
    ("attribute", "stored", "value"),
    [
        (wire.SEQ, "7", 7),
        (wire.SEQ, "seven", "seven"),
        (wire.FORWARDED, "true", True),
        (wire.FORWARDED, "perhaps", "perhaps"),
        (wire.OWED, '["a","b"]', ("a", "b")),
        (wire.OWED, "a", "a"),
        (wire.AGENT, "true", "true"),
    ],
)
def test_stored_values_are_typed_again(attribute: str, stored: str, value: object) -> None:
    assert typed(attribute, stored) == value


def test_foreign_attributes_are_left_out() -> None:
    assert attributes_of({"http.url": "x", wire.RUN: "r", wire.AGENT: "a"}) == {wire.AGENT: "a"}
