"""The form of a lifecycle span on disk: a mark, length, checksum, and its fields as marshal writes them.

Marshal, since it takes a tenth of the time of protobuf or JSON in the host's thread; the checksum stands before it,
and only files of the same user are read. Torn records are passed over.
"""

from __future__ import annotations

import marshal
import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

_MARK: Final = b"\x89hc1"
_HEAD: Final = len(_MARK) + 8
_pack_head = struct.Struct(">4sII").pack
_VERSION: Final = 2
"""Of marshal: the last one without references, read by every Python."""

_resource: tuple[Resource, bytes] | None = None


def encode(span: ReadableSpan) -> bytes:
    """Return a span as one record. Raises ValueError for an attribute that is not of the wire's kinds."""
    scope = span.instrumentation_scope
    body = marshal.dumps(
        (
            span.name,
            _reference(span.get_span_context()),
            _reference(span.parent),
            # The public views of a span copy, and take a lock for each attribute: a third of the time of a record.
            _plain(span._attributes),
            span.kind._value_,
            span.status.status_code._value_,
            span.start_time,
            span.end_time,
            [(_reference(link.context), _plain(link.attributes)) for link in span.links]
            if span._links
            else None,
            [(event.name, event.timestamp, _plain(event.attributes)) for event in span.events]
            if span._events
            else None,
            _resource_bytes(span.resource),
            (scope.name, scope.version) if scope is not None else None,
        ),
        _VERSION,
    )
    return _pack_head(_MARK, len(body), zlib.crc32(body)) + body


def decode(content: bytes) -> Iterator[ReadableSpan]:
    """Yield the spans of a file in order; what is torn or not whole is passed over."""
    at = content.find(_MARK)
    while at >= 0:
        length = int.from_bytes(content[at + 4 : at + 8], "big")
        body = content[at + _HEAD : at + _HEAD + length]
        if len(body) == length and zlib.crc32(body).to_bytes(4, "big") == content[at + 8 : at + _HEAD]:
            yield _span(marshal.loads(body))
            at = content.find(_MARK, at + _HEAD + length)
        else:
            at = content.find(_MARK, at + 1)


def _span(fields: tuple[Any, ...]) -> ReadableSpan:
    name, context, parent, attributes, kind, status, start, end, links, events, resource, scope = fields
    return ReadableSpan(
        name=name,
        context=_context(context),
        parent=_context(parent),
        resource=Resource(marshal.loads(resource)),
        attributes=attributes,
        kind=SpanKind(kind),
        status=Status(StatusCode(status)),
        start_time=start,
        end_time=end,
        links=[Link(linked, about) for to, about in links or () if (linked := _context(to)) is not None],
        events=[Event(called, about, at) for called, at, about in events or ()],
        instrumentation_scope=InstrumentationScope(*scope) if scope is not None else None,
    )


def _reference(context: SpanContext | None) -> tuple[int, int, int, str] | None:
    if context is None:
        return None
    trace_id, span_id, _, flags, state, _ = context
    return trace_id, span_id, int(flags), state.to_header() if state else ""


def _context(reference: tuple[int, int, int, str] | None) -> SpanContext | None:
    if reference is None:
        return None
    trace_id, span_id, flags, state = reference
    return SpanContext(trace_id, span_id, False, TraceFlags(flags), TraceState.from_header([state]))


def _plain(attributes: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return attributes as a dict: the SDK's own where there is one, since copying takes its lock for each key."""
    if type(attributes) is dict:
        return attributes
    inner = getattr(attributes, "_dict", None)
    return inner if type(inner) is dict else dict(attributes or {})


def _resource_bytes(resource: Resource) -> bytes:
    """Return a resource's attributes in the form of a record; a process has one, so it is made once."""
    global _resource
    if _resource is None or _resource[0] is not resource:
        _resource = (resource, marshal.dumps(dict(resource.attributes), _VERSION))
    return _resource[1]
