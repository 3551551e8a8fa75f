"""Writes what was recorded as lines of a replay file: the short form where it can say it, OTLP/JSON where not."""

from __future__ import annotations

import json
from collections.abc import Mapping

from google.protobuf.json_format import MessageToDict

from . import fields, wire
from .fields import LineError
from .record import AttributeValue, Record, export_request
from .short_form import _FINALS, _PLAIN, _REASONS, SERVICE, record_of

_SECOND = 1_000_000_000
_MILLISECONDS = frozenset(
    {wire.MAX_RUNTIME_MS, wire.KILL_LIMIT_MS, wire.KEEPALIVE_MS, wire.EXPORT_INTERVAL_MS}
)
_COUNTS = frozenset({wire.LAUNCH_CAP, wire.ATTEMPT, wire.OUTPUT_TOKENS, wire.RESULT_SIZE, wire.SEQ})
_FLAGS = frozenset(
    {
        wire.ATTENDED,
        wire.CAN_SEND,
        wire.STREAM,
        wire.HAS_SUMMARY,
        wire.TURN_ENDED,
        wire.RESULT_PARTIAL,
        wire.FORWARDED,
        wire.FORWARD_FINAL,
        wire.FINAL,
    }
)
_LISTS = frozenset({wire.ALIAS, wire.SUPERSEDES, wire.OWED})
_KEYS = {attribute: key for key, (attribute, _) in _PLAIN.items()}


def typed(attribute: str, stored: str) -> AttributeValue:
    """Return a value as its sender typed it: a store of spans keeps every value as text."""
    try:
        if attribute in _MILLISECONDS or attribute in _COUNTS:
            return int(stored)
        if attribute in _LISTS:
            return fields.texts(json.loads(stored), attribute)
    except (ValueError, LineError):
        return stored
    return stored == "true" if attribute in _FLAGS and stored in ("true", "false") else stored


def line_of(record: Record, at_ns: int, t0_ns: int) -> dict[str, object]:
    """Return the line of a replay file, whose times count from `t0_ns`, for a record that arrived at `at_ns`.

    Descriptions are left out, their digests stay. What the short form has no words for becomes a line of OTLP/JSON.
    """
    at = {"at": _seconds(at_ns - t0_ns)}
    line: dict[str, object] = {**at, "event": record.event}
    for key, value in (("run", record.run), ("session", record.session), ("phase", record.phase)):
        if value is not None:
            line[key] = value
    if record.at_ns != at_ns:
        line["time"] = _seconds(record.at_ns - t0_ns)
    if record.start_ns is not None and record.start_ns < record.at_ns and record.phase != wire.PENDING:
        line["dur_s"] = _seconds(record.at_ns - record.start_ns)
    line |= _said(record)
    try:
        record_of(line, t0_ns)
    except LineError:
        return {**at, "otlp": _otlp_json(_plain(record))}
    return line


def _otlp_json(record: Record) -> dict[str, object]:
    """Return a request in OTLP/JSON, which writes ids in hexadecimal where the JSON of protobuf has base64."""
    request = export_request([record])
    scope = request.resource_spans[0].scope_spans[0]
    spans = [MessageToDict(span) for span in scope.spans]
    for span, sent in zip(spans, scope.spans, strict=True):
        span["traceId"], span["spanId"] = sent.trace_id.hex(), sent.span_id.hex()
    resource_spans = MessageToDict(request)["resourceSpans"]
    resource_spans[0]["scopeSpans"][0]["spans"] = spans
    return {"resourceSpans": resource_spans}


def _said(record: Record) -> dict[str, object]:
    found: dict[str, object] = {}
    for attribute, value in record.attributes.items():
        if attribute in _KEYS:
            key, read = _KEYS[attribute], _PLAIN[_KEYS[attribute]][1]
            said: object = list(value) if isinstance(value, tuple | list) else value
            if attribute in _MILLISECONDS and isinstance(value, int):
                said = value // 1000 if value % 1000 == 0 else value / 1000
            try:
                read(said, key)
            except LineError:
                continue  # a sender's slip that means nothing to the judge either
            found[key] = said
    by_event = {"reason": _REASONS.get(record.event, ("",))[0], "final": _FINALS.get(record.event, "")}
    found |= {
        key: record.attributes[attribute]
        for key, attribute in by_event.items()
        if attribute in record.attributes
    }
    # Failures are equal where these are: a digest serves as well as the text that it stands for.
    error = record.attributes.get(wire.ERROR_DIGEST) or record.attributes.get(wire.ERROR)
    if error:
        found["error"] = error
    return found


def _plain(record: Record) -> Record:
    """Return a record without its description, of the service that records of the short form have."""
    kept = {key: value for key, value in record.attributes.items() if key != wire.DESCRIPTION}
    return Record(
        record.event,
        record.at_ns,
        record.run,
        record.session,
        kept,
        record.start_ns,
        record.phase,
        SERVICE,
        record.identity,
    )


def attributes_of(stored: Mapping[str, str]) -> dict[str, AttributeValue]:
    """Return stored attributes as a record has them: typed, without what the record says beside them."""
    aside = {wire.EVENT, wire.RUN, wire.SESSION, wire.PHASE}
    return {
        key: typed(key, value)
        for key, value in stored.items()
        if key not in aside and (key.startswith(("subagent.", "gen_ai.")) or key == wire.ERROR)
    }


def _seconds(length_ns: int) -> int | float:
    whole, rest = divmod(length_ns, _SECOND)
    return whole if rest == 0 else round(length_ns / _SECOND, 9)
