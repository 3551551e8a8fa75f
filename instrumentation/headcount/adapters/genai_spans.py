"""Whatever emits GenAI spans: a span processor that reads runs out of `invoke_agent`, `execute_tool` and `chat` spans.

    import headcount
    from headcount.adapters import genai_spans

    headcount.configure()
    genai_spans.instrument(my_tracer_provider)

Reads the names of OpenTelemetry's GenAI conventions, of OpenInference and of OpenLLMetry. Spans that are sampled out
are never seen. A first token is told where the span names its `time_to_first_chunk`, else with the answer; an adapter that
sees the stream tells it at once (`processors`).
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any, Final, Literal

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.trace import StatusCode

from headcount import wire
from headcount.adapters.nesting import Failure, Nesting
from headcount.adapters.workflow_edges import WorkflowEdges
from headcount.guard import complain, guarded, nothing
from headcount.result import UNSAID

TRANSFER: Final = "transfer_to_agent"
"""The tool by which an agent of Google's ADK gives the conversation to another."""

_KINDS: Final = {
    "invoke_agent": "agent",
    "agent": "agent",
    "execute_tool": "tool",
    "tool": "tool",
    "chat": "model",
    "generate_content": "model",
    "text_completion": "model",
    "llm": "model",
}
_KIND_KEYS: Final = ("gen_ai.operation.name", "openinference.span.kind", "traceloop.span.kind")
_NAMES: Final = {
    "agent": ("gen_ai.agent.name", "agent.name", "traceloop.entity.name"),
    "tool": ("gen_ai.tool.name", "tool.name", "traceloop.entity.name"),
    "model": ("gen_ai.request.model", "llm.model_name"),
}
_CALLS: Final = ("gen_ai.tool.call.id", "tool_call.id")
_SESSIONS: Final = ("session.id", "gen_ai.conversation.id")
_TOKENS: Final = ("gen_ai.usage.output_tokens", "llm.token_count.completion")
_FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"
_OUTPUTS: Final = ("final_result", "output.value", "traceloop.entity.output")


class GenAIProcessor(SpanProcessor):
    """Hears the spans of a provider as they begin and end, where they run."""

    def __init__(self) -> None:
        self._nesting = Nesting()
        self._edges = WorkflowEdges(self._nesting)

    @guarded(nothing)
    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        attributes = span.attributes or {}
        if wire.EVENT in attributes:
            return
        id, parent = _id(span), _parent(span)
        if self._edges.began(id, parent, span.name, attributes):
            return
        kind, name = _kind_and_name(span.name, attributes)
        session = _first(attributes, _SESSIONS)
        if kind == "agent":
            self._nesting.agent_began(id, parent, name or "agent", session=session)
        elif kind == "tool":
            self._nesting.tool_began(id, parent, name or "tool", call=_first(attributes, _CALLS))
        elif kind == "model":
            self._nesting.model_began(id, parent, name)
        elif parent is not None and self._nesting.knows(parent):
            self._nesting.step_began(id, parent)

    @guarded(nothing)
    def on_end(self, span: ReadableSpan) -> None:
        attributes = span.attributes or {}
        self._edges.ended(span)
        id, failure = _id(span), _failure(span)
        kind, name = _kind_and_name(span.name, attributes)
        if kind == "tool" and name == TRANSFER and failure is None:
            self._nesting.handed_off(id)
        if kind == "model":
            waited_s = attributes.get(_FIRST_CHUNK)
            if isinstance(waited_s, int | float) and span.start_time is not None:
                self._nesting.first_token(id, at_ns=span.start_time + int(waited_s * 1e9))
            tokens = next((attributes[key] for key in _TOKENS if key in attributes), None)
            self._nesting.model_ended(
                id,
                tokens=tokens if isinstance(tokens, int) else None,
                model=_first(attributes, ("gen_ai.response.model",)),
                error=failure,
            )
        elif kind == "tool":
            self._nesting.tool_ended(id, error=failure)
        else:
            self._nesting.agent_ended(id, result=_first(attributes, _OUTPUTS) or UNSAID, error=failure)

    def first_token_here(self) -> None:
        """Tell that the model whose request this code stands in began to answer."""
        self._nesting.first_token_within(_here())

    def answered_here(self, kind: Literal["agent", "tool"], answer: str, name: str | None = None) -> None:
        """Keep what the agent or tool that this code stands in comes to, until its span ends."""
        self._nesting.answered_within(_here(), kind, answer, name)


_hosts: weakref.WeakSet[object] = weakref.WeakSet()
_processors: list[GenAIProcessor] = []


def instrument(provider: TracerProvider | None = None) -> bool:
    """Hear the spans of a provider, by default the global one, once; return whether there is one that records."""
    host = provider if provider is not None else trace.get_tracer_provider()
    add: Any = getattr(host, "add_span_processor", None)
    if add is None:
        complain(
            "no provider",
            "headcount: there is no TracerProvider to hear GenAI spans from; set up OpenTelemetry first",
        )
        return False
    if host not in _hosts:
        _hosts.add(host)
        _processors.append(GenAIProcessor())
        add(_processors[-1])
    return True


def processors() -> list[GenAIProcessor]:
    """Return the processors that hear; what an adapter sees besides the spans is told to each: one knows the span."""
    return list(_processors)


def provider_to_hear() -> TracerProvider:
    """Return the global provider with the processor in it; where there is none that records, make it."""
    host = trace.get_tracer_provider()
    if not hasattr(host, "add_span_processor"):
        host = TracerProvider()
        trace.set_tracer_provider(host)
    instrument(host)  # type: ignore[arg-type]  # whatever takes processors
    return host  # type: ignore[return-value]  # as above


def _kind_and_name(title: str, attributes: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return what a span is and of whom, by its attributes, else by its name: some set their attributes later."""
    said = next((str(attributes[key]).lower() for key in _KIND_KEYS if key in attributes), None)
    first, _, rest = title.partition(" ")
    kind = _KINDS.get(said) if said is not None else _KINDS.get(first) if "_" in first or rest else None
    if kind is None:
        return None, None
    return kind, _first(attributes, _NAMES[kind]) or rest or None


def _first(attributes: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((str(attributes[key]) for key in keys if attributes.get(key)), None)


def _here() -> str:
    context = trace.get_current_span().get_span_context()
    return f"{context.trace_id:032x}{context.span_id:016x}"


def _id(span: ReadableSpan) -> str:
    context = span.get_span_context()
    return f"{context.trace_id:032x}{context.span_id:016x}" if context is not None else ""


def _parent(span: ReadableSpan) -> str | None:
    parent = span.parent
    return f"{parent.trace_id:032x}{parent.span_id:016x}" if parent is not None else None


def _failure(span: ReadableSpan) -> Failure:
    error = (span.attributes or {}).get("error.type")
    if error is None and span.status.status_code is not StatusCode.ERROR:
        return None
    return span.status.description or str(error or "error")
