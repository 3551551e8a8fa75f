"""Who sent a request, as far as it says so itself: what fairness between producers goes by."""

from __future__ import annotations

from opentelemetry.proto.resource.v1.resource_pb2 import Resource

_KEYS = ("service.namespace", "service.name", "service.instance.id", "host.name")
_LENGTH = 256


def sender_of(resource: Resource) -> str:
    """Return a name for the process behind a resource; "" for one that names nothing."""
    said = {pair.key: pair.value.string_value for pair in resource.attributes if pair.key in _KEYS}
    return "/".join(said[key] for key in _KEYS if key in said)[:_LENGTH]
