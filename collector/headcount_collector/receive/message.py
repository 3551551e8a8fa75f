"""OTLP's request as the store can take it: values inside arrays and maps are scalars, deeper ones become JSON text."""

from __future__ import annotations

import base64
import json
from typing import Any, cast

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

from headcount_collector.receive.errors import Malformed

_PACKAGE = ".opentelemetry.proto.common.v1."


def parse_request(body: bytes) -> tuple[ExportTraceServiceRequest, bytes]:
    """Return the parsed request, its values made shallow, and the bytes that say the same. Raises Malformed.

    Parsing is done by a copy of OTLP's schema in which arrays and maps hold scalars only. What does not fit is an
    unknown field there, so that the runtime itself tells, without a walk over attributes, that a body needs one.
    """
    shallow = _parse(_SHALLOW_REQUEST, body)
    shallow.DiscardUnknownFields()
    size = shallow.ByteSize()
    # Senders may write a message less tightly than the runtime does; only then its own size must be asked for.
    if size == len(body) or size == _parse(_SHALLOW_REQUEST, body).ByteSize():
        return cast(ExportTraceServiceRequest, shallow), body
    request = _parse(ExportTraceServiceRequest, body)
    flatten(request)
    return request, request.SerializeToString()


def flatten(request: ExportTraceServiceRequest) -> None:
    """Replace every array or map that holds another one by its JSON text, in place."""
    for resource_spans in request.resource_spans:
        _flatten(resource_spans.resource.attributes)
        for scope_spans in resource_spans.scope_spans:
            for span in scope_spans.spans:
                _flatten(span.attributes)
                for event in span.events:
                    _flatten(event.attributes)
                for link in span.links:
                    _flatten(link.attributes)


def _parse(kind: type[Any], body: bytes) -> Any:
    try:
        return kind.FromString(body)
    except DecodeError:
        raise Malformed(
            f"the body ({len(body)} bytes) is no ExportTraceServiceRequest in protobuf: it is cut or garbled, or "
            "a string in it is not UTF-8"
        ) from None


def _flatten(attributes: Any) -> None:
    for attribute in attributes:
        if _is_deep(attribute.value):
            text = json.dumps(_plain(attribute.value), ensure_ascii=False, separators=(",", ":"))
            attribute.value.string_value = text


def _is_deep(value: AnyValue) -> bool:
    match value.WhichOneof("value"):
        case "array_value":
            inner = list(value.array_value.values)
        case "kvlist_value":
            inner = [pair.value for pair in value.kvlist_value.values]
        case _:
            return False
    return any(one.HasField("array_value") or one.HasField("kvlist_value") for one in inner)


def _plain(value: AnyValue) -> Any:
    match value.WhichOneof("value"):
        case None:
            return None
        case "array_value":
            return [_plain(one) for one in value.array_value.values]
        case "kvlist_value":
            pairs: list[KeyValue] = list(value.kvlist_value.values)
            return {pair.key: _plain(pair.value) for pair in pairs}
        case "bytes_value":
            return base64.b64encode(value.bytes_value).decode()
        case kind:
            return getattr(value, kind)


def _shallow_request_class() -> type[Any]:
    """Build ExportTraceServiceRequest over a `common.proto` whose arrays and maps hold scalars."""
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
        pool.Add(file)
    name = ExportTraceServiceRequest.DESCRIPTOR.full_name
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


def _point(message: descriptor_pb2.DescriptorProto, name: str, kind: str) -> None:
    next(field for field in message.field if field.name == name).type_name = _PACKAGE + kind


_SHALLOW_REQUEST = _shallow_request_class()
