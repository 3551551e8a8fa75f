"""From an event to the outbox: builds lifecycle spans, numbers them, and joins the host's tracing."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Mapping, Sequence
from typing import Protocol, cast

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, Tracer, TracerProvider
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from headcount import producer, wire
from headcount.connection import connect
from headcount.guard import guarded, nothing
from headcount.outbox import Outbox
from headcount.provider import SCOPE, provider_beside, tracer_of
from headcount.settings import Settings
from headcount.spool import spool_at
from headcount.stamp import StampProcessor

_OK = Status(StatusCode.UNSET)
_FAILED = Status(StatusCode.ERROR)
_ROUTINE = frozenset({"output", "heartbeat"})
_stamped_hosts: weakref.WeakSet[object] = weakref.WeakSet()


class Sink(Protocol):
    """Where numbered lifecycle spans go: the outbox, or a recorder in a test."""

    def put(self, span: ReadableSpan, *, routine: bool = False) -> None: ...

    def flush(self, timeout_s: float) -> bool: ...

    def retire(self) -> None: ...

    def close(self, timeout_s: float) -> bool: ...

    def after_fork(self) -> None: ...


class _IntoSink(SpanProcessor):
    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def on_end(self, span: ReadableSpan) -> None:
        self._sink.put(span)


class Pipeline:
    """Everything one `configure` set up. It outlives forks; the host's provider may come after it."""

    def __init__(self, settings: Settings, sink: Sink | None = None) -> None:
        self.settings = settings
        self.now = settings.clock
        self.sink: Sink = sink if sink is not None else outbox_of(settings)
        self.export_interval_ms = round(settings.linger_s * 1000)
        self.keepalive_ms = round(settings.heartbeat_s * 1000) or None
        """What this process promises while a child is open; None where it promises nothing."""
        self._processors = [_IntoSink(self.sink), *settings.span_processors]
        self._host: object | None = None
        self._provider: TracerProvider | None = None
        self._tracer: Tracer | None = None

    def event(
        self,
        event: str,
        attributes: Mapping[str, wire.Value],
        *,
        failed: bool = False,
        parent: SpanContext | None = None,
        at_ns: int | None = None,
    ) -> SpanContext:
        """Emit a lifecycle event of zero length, by default now; return its span context (for links and carriers).

        It is a child of `parent`, by default of the current span.
        """
        if parent is None:
            parent = trace.get_current_span().get_span_context()
        tracer = self.tracer()
        at_ns = self.now() if at_ns is None else at_ns
        made = _beside(parent, tracer)
        span = ReadableSpan(
            name=f"subagent.{event}",
            context=made,
            parent=parent if parent.is_valid else None,
            resource=tracer.resource,
            attributes=self._number({wire.EVENT: event, **wire.clean(attributes)}),
            kind=SpanKind.INTERNAL,
            status=_FAILED if failed else _OK,
            start_time=at_ns,
            end_time=at_ns,
            instrumentation_scope=SCOPE,
        )
        self.sink.put(span, routine=event in _ROUTINE)
        return made

    def open(
        self,
        name: str,
        event: str,
        attributes: Mapping[str, wire.Value],
        *,
        genai: Mapping[str, wire.Value],
        around: Context | None = None,
        links: Sequence[Link] = (),
        begins: str | None = None,
    ) -> Span:
        """Start a lifecycle span with a length and emit its pending twin.

        `begins` is the event the twin tells, where start and end are two events. `genai` goes onto the span alone:
        the twin must not be counted as one more GenAI operation.
        """
        cleaned = wire.clean(attributes)
        tracer = self.tracer()
        span = tracer.start_span(
            name,
            context=around,
            attributes={wire.EVENT: event, wire.PHASE: wire.PENDING, **cleaned, **wire.clean(genai)},
            links=links,
            start_time=self.now(),
        )
        if not isinstance(span, Span):
            raise TypeError(f"the tracer gave a {type(span).__name__}, which records nothing")
        self._twin(span, tracer, begins or event, cleaned)
        return span

    def close(self, span: Span, attributes: Mapping[str, wire.Value], *, failed: bool = False) -> None:
        """End a span that `open` started."""
        span.set_attributes(self._number({wire.PHASE: wire.ENDED, **wire.clean(attributes)}))
        if failed:
            span.set_status(_FAILED)
        span.end(self.now())

    def tracer(self) -> Tracer:
        """Return the tracer beside the host's present provider."""
        host = _host_provider()
        if self._tracer is None or host is not self._host:
            # Kept, since it renews its resource in a forked process only while it lives.
            self._provider = provider_beside(host, self.settings.service_name, self._processors)
            self._tracer = tracer_of(self._provider)
            self._host = host
            self.join_host()
        return self._tracer

    @guarded(nothing)
    def join_host(self) -> None:
        """Add the stamp to the host's provider, once."""
        host = _host_provider()
        if host is None or host in _stamped_hosts:
            return
        _stamped_hosts.add(host)
        host.add_span_processor(StampProcessor())

    def after_fork(self) -> None:
        """Begin anew in a forked child: an empty queue, and the resource the host has there."""
        if self._host is not None:
            self._tracer = None
        self.sink.after_fork()

    @guarded(nothing)
    def _twin(self, span: Span, tracer: Tracer, event: str, attributes: dict[str, wire.Clean]) -> None:
        real = span.get_span_context()
        self.sink.put(
            ReadableSpan(
                name=f"subagent.{event}",
                context=_beside(real, tracer),
                parent=real,
                resource=span.resource,
                attributes=self._number({wire.EVENT: event, wire.PHASE: wire.PENDING, **attributes}),
                kind=SpanKind.INTERNAL,
                start_time=span.start_time,
                end_time=span.start_time,
                instrumentation_scope=span.instrumentation_scope,
            )
        )

    @staticmethod
    def _number(attributes: dict[str, wire.Clean]) -> dict[str, wire.Clean]:
        emitter = producer.current()
        attributes[wire.PRODUCER_ID] = emitter.id
        attributes[wire.PRODUCER_SEQ] = emitter.next_seq()
        return attributes


def outbox_of(settings: Settings) -> Outbox:
    """Return the outbox these settings describe."""
    return Outbox(
        functools.partial(connect, settings),
        capacity=settings.queue_size,
        linger_s=settings.linger_s,
        spool=spool_at(settings.spool, limit_bytes=settings.spool_bytes),
    )


def _host_provider() -> TracerProvider | None:
    """Return the global provider if it is one that records; proxies of other makers count by what they can do."""
    provider = trace.get_tracer_provider()
    return cast(TracerProvider, provider) if hasattr(provider, "add_span_processor") else None


def _beside(parent: SpanContext, tracer: Tracer) -> SpanContext:
    """Return a new span context in the parent's trace, or in a new one that the host's sampler decides on."""
    span_id = tracer.id_generator.generate_span_id()
    if parent.is_valid:
        return SpanContext(parent.trace_id, span_id, False, parent.trace_flags, parent.trace_state)
    trace_id = tracer.id_generator.generate_trace_id()
    decision = tracer.sampler.should_sample(None, trace_id, "subagent")
    sampled = decision.decision is Decision.RECORD_AND_SAMPLE
    flags = TraceFlags(TraceFlags.SAMPLED if sampled else TraceFlags.DEFAULT)
    return SpanContext(trace_id, span_id, False, flags, decision.trace_state)
