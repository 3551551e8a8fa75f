"""OTLP's request as the store can take it: what is nested deeper than it unfolds becomes JSON text."""

from __future__ import annotations

import base64
import json
import math
from typing import Any, cast

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

from headcount_collector.receive.errors import Malformed

_PACKAGE = ".opentelemetry.proto.common.v1."


def parse_request(body: bytes) -> tuple[ExportTraceServiceRequest, bytes]:
    """Return the parsed request, its values made shallow, and the bytes that say the same. Raises Malformed.

    Parsing is done by a copy of OTLP's schema that can hold no more than the store can. What does not fit is an
    unknown field there, so that the runtime itself tells, without a walk over attributes, that a body needs one.
    """
    shallow = _parse(_SHALLOW_REQUEST, body)
    shallow.DiscardUnknownFields()
    size = shallow.ByteSize()
    # Senders may write a message less tightly than the runtime does; only then its own size must be asked for.
    if size == len(body) or size == _parse(_SHALLOW_REQUEST, body).ByteSize():
        request, changed = cast(ExportTraceServiceRequest, shallow), _flatten_resources(shallow)
    else:
        request, changed = _parse(ExportTraceServiceRequest, body), True
        flatten(request)
    return request, request.SerializeToString() if changed else body


def flatten(request: ExportTraceServiceRequest) -> None:
    """Replace values that the store does not unfold by their JSON text, in place.

    It unfolds an array or map of scalars on a span, and only scalars on a resource, event or link: to unfold these
    too would cost every commit, and few senders have them.
    """
    _flatten_resources(request)
    for resource_spans in request.resource_spans:
        for scope_spans in resource_spans.scope_spans:
            for span in scope_spans.spans:
                _flatten(span.attributes, deepest=1)
                for event in span.events:
                    _flatten(event.attributes)
                for link in span.links:
                    _flatten(link.attributes)


def _flatten_resources(request: ExportTraceServiceRequest) -> bool:
    changed = False
    for resource_spans in request.resource_spans:
        changed |= _flatten(resource_spans.resource.attributes)
    return changed


def _flatten(attributes: Any, deepest: int = 0) -> bool:
    """Replace the values deeper than `deepest` and tell whether there were any; an array of scalars has depth 1."""
    changed = False
    for attribute in attributes:
        if _deeper(attribute.value, deepest):
            attribute.value.string_value = _json(attribute.value)
            changed = True
    return changed


def _deeper(value: AnyValue, depth: int) -> bool:
    match value.WhichOneof("value"):
        case "array_value":
            return depth == 0 or any(_deeper(one, depth - 1) for one in value.array_value.values)
        case "kvlist_value":
            return depth == 0 or any(_deeper(pair.value, depth - 1) for pair in value.kvlist_value.values)
    return False


def _parse(kind: type[Any], body: bytes) -> Any:
    try:
        return kind.FromString(body)
    except DecodeError:
        raise Malformed(
            f"the body ({len(body)} bytes) is no ExportTraceServiceRequest in protobuf: it is cut or garbled, or "
            "a string in it is not UTF-8"
        ) from None


def _json(value: AnyValue) -> str:
    return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))


def text_of(value: AnyValue) -> str:
    """Return a value as the exporter writes it into a map: text as it is, all else as JSON, nothing as ""."""
    plain = _plain(value)
    return plain if isinstance(plain, str) else "" if plain is None else _json(value)


def _plain(value: AnyValue) -> Any:
    match value.WhichOneof("value"):
        case None:
            return None
        case "array_value":
            return [_plain(one) for one in value.array_value.values]
        case "kvlist_value":
            return {pair.key: _plain(pair.value) for pair in value.kvlist_value.values}
        case "bytes_value":
            return base64.b64encode(value.bytes_value).decode()
        case "double_value":
            return _number(value.double_value)
        case kind:
            return getattr(value, kind)


def _number(value: float) -> float | int | str:
    """Write doubles as the store does: whole ones without a fraction, those that JSON lacks as text."""
    if not math.isfinite(value):
        return str(value)
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _shallow_request_class() -> type[Any]:
    """Build ExportTraceServiceRequest with arrays and maps of scalars only, and none on events and links.

    A resource may have them: it is looked at in any case, since there are few.
    """
    common = descriptor_pb2.FileDescriptorProto()
    common_pb2.DESCRIPTOR.CopyToProto(common)
    messages = {message.name: message for message in common.message_type}
    scalar = common.message_type.add(name="Scalar")
    for field in messages["AnyValue"].field:
        if field.type != field.TYPE_MESSAGE:
            scalar.field.add().CopyFrom(field)
    scalar.oneof_decl.add(name="value")
    pair = common.message_type.add()
    pair.CopyFrom(messages["KeyValue"])
    pair.name = "Pair"
    _point(pair, "value", "Scalar")
    _point(messages["ArrayValue"], "values", "Scalar")
    _point(messages["KeyValueList"], "values", "Pair")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(common)
    for module in (resource_pb2, trace_pb2, trace_service_pb2):
        file = descriptor_pb2.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)
        for message in file.message_type:
            for part in message.nested_type:  # Event and Link, of Span
                _point(part, "attributes", "Pair")
        pool.Add(file)
    name = ExportTraceServiceRequest.DESCRIPTOR.full_name
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


def _point(message: descriptor_pb2.DescriptorProto, name: str, kind: str) -> None:
    for field in message.field:
        if field.name == name:
            field.type_name = _PACKAGE + kind


_SHALLOW_REQUEST = _shallow_request_class()
