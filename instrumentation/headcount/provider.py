"""A tracer of headcount's own, beside the host's: records always, decides nothing for the host's sampling."""

from __future__ import annotations

import os
from collections.abc import Sequence

from opentelemetry.context import Context
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import SpanLimits, SpanProcessor, Tracer, TracerProvider
from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Decision, Sampler, SamplingResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanKind, TraceState
from opentelemetry.util.types import Attributes

from headcount.guard import guarded_or_none
from headcount.version import __version__


class FreshIds(IdGenerator):
    """Ids that a `random.seed` in the host cannot repeat; trace ids are the host's where it has its own kind."""

    def __init__(self, host: IdGenerator | None = None) -> None:
        self._host = host if host is not None and not isinstance(host, RandomIdGenerator) else None

    def generate_span_id(self) -> int:
        return int.from_bytes(os.urandom(8), "big") or 1

    def generate_trace_id(self) -> int:
        if self._host is not None:
            return self._host.generate_trace_id()
        return int.from_bytes(os.urandom(16), "big") or 1

    def is_trace_id_random(self) -> bool:
        # SDKs before 1.40 do not ask.
        ask = getattr(self._host, "is_trace_id_random", None)
        return bool(ask()) if ask is not None else self._host is None


class AlwaysRecord(Sampler):
    """Record every span, and let its context carry the decision the host's sampler takes.

    So a sampled-out parent never silences a lifecycle span, and a lifecycle span that becomes the parent of the
    host's spans never makes the host export what it would not have exported.
    """

    def __init__(self, host: Sampler) -> None:
        self._host = host

    def should_sample(
        self,
        parent_context: Context | None,
        trace_id: int,
        name: str,
        kind: SpanKind | None = None,
        attributes: Attributes = None,
        links: Sequence[Link] | None = None,
        trace_state: TraceState | None = None,
    ) -> SamplingResult:
        result = self._decision(parent_context, trace_id, name, kind, attributes, links)
        if result is None:
            return SamplingResult(Decision.RECORD_ONLY, attributes)
        if result.decision is not Decision.DROP:
            return result
        return SamplingResult(Decision.RECORD_ONLY, attributes, result.trace_state)

    @guarded_or_none
    def _decision(
        self,
        parent_context: Context | None,
        trace_id: int,
        name: str,
        kind: SpanKind | None,
        attributes: Attributes,
        links: Sequence[Link] | None,
    ) -> SamplingResult | None:
        return self._host.should_sample(parent_context, trace_id, name, kind, attributes, links)

    def get_description(self) -> str:
        return f"AlwaysRecord({self._host.get_description()})"


SCOPE = InstrumentationScope("headcount", __version__)


def provider_beside(
    host: object | None, service_name: str | None, processors: Sequence[SpanProcessor]
) -> TracerProvider:
    """Return a provider that shares the host provider's resource, ids and sampling, and none of its limits.

    `host` is None where the process has no SDK provider (yet): the resource is read from OTEL_… then.
    """
    resource = getattr(host, "resource", None)
    if not isinstance(resource, Resource):
        resource = Resource.create()
    if service_name:
        resource = resource.merge(Resource({SERVICE_NAME: service_name}))
    sampler = getattr(host, "sampler", None)
    provider = TracerProvider(
        sampler=AlwaysRecord(sampler if isinstance(sampler, Sampler) else ALWAYS_ON),
        resource=resource,
        shutdown_on_exit=False,
        id_generator=FreshIds(getattr(host, "id_generator", None)),
        span_limits=_unlimited(),
    )
    for processor in processors:
        provider.add_span_processor(processor)
    return provider


def tracer_of(provider: TracerProvider) -> Tracer:
    """Return headcount's tracer from its provider."""
    tracer = provider.get_tracer(SCOPE.name, SCOPE.version)
    if not isinstance(tracer, Tracer):
        raise TypeError(
            f"the SDK gave {type(tracer).__name__} instead of a tracer: is OTEL_SDK_DISABLED set?"
        )
    return tracer


def _unlimited() -> SpanLimits:
    unset = SpanLimits.UNSET
    return SpanLimits(unset, unset, unset, unset, unset, unset, unset, unset)
