"""OTLP's JSON into protobuf: where it differs from protobuf's own JSON mapping, ids are hex and enums may be numbers."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

from google.protobuf.json_format import ParseDict, ParseError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from headcount_collector.receive.errors import Malformed
from headcount_collector.receive.message import flatten

_IDS = ("traceId", "trace_id", "spanId", "span_id", "parentSpanId", "parent_span_id")


def request_from_json(body: bytes) -> ExportTraceServiceRequest:
    """Return the request, its values made shallow. Raises Malformed naming the place where it could not be read.

    Takes hex ids in either case, enums by number or name, 64-bit integers as strings or numbers, and ignores
    fields it does not know (OTLP specification, "JSON Protobuf Encoding").
    """
    document = load_json(body)
    try:
        for identified in _identified(document):
            ids_to_base64(identified)
        request = ParseDict(document, ExportTraceServiceRequest(), ignore_unknown_fields=True)
        request.ByteSize()  # a lone surrogate is only found when the text is encoded
    except (ParseError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise Malformed(f"the body is JSON, but no ExportTraceServiceRequest: {error}") from None
    flatten(request)
    return request


def load_json(body: bytes) -> dict[str, Any]:
    """Return the JSON object in `body`. Raises Malformed."""
    try:
        document = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise Malformed(f"the body is no JSON: {error}") from None
    if not isinstance(document, dict):
        raise Malformed(f"the body is a JSON {type(document).__name__}; an export request is an object")
    return document


def items(document: Any, *path: tuple[str, str]) -> Iterator[Any]:
    """Walk lists of objects by the camel and snake case name of each level."""
    if not path:
        yield document
        return
    (camel, snake), *rest = path
    if not isinstance(document, dict):
        raise TypeError(f"{camel} is looked for in {type(document).__name__}, an object is expected")
    for one in document.get(camel) or document.get(snake) or ():
        yield from items(one, *rest)


SPANS = (("resourceSpans", "resource_spans"), ("scopeSpans", "scope_spans"), ("spans", "spans"))


def _identified(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for span in items(document, *SPANS):
        yield span
        yield from items(span, ("links", "links"))


def ids_to_base64(identified: dict[str, Any]) -> None:
    """Rewrite the hex ids of an object, in place, as protobuf's own JSON mapping has them. Raises ValueError."""
    for name in _IDS:
        if text := identified.get(name):
            try:
                identified[name] = base64.b64encode(bytes.fromhex(text)).decode()
            except (ValueError, TypeError):
                raise ValueError(f"{name} {str(text)[:64]!r} is not hexadecimal") from None
