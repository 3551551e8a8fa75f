"""OpenAI Agents SDK: a trace processor beside those that are there; `Agent.as_tool` is a run, a hand-off is given away.

    import headcount
    from headcount.adapters import openai_agents

    headcount.configure()
    openai_agents.instrument()

A session is the trace's `group_id`, else the trace. The first token of a streamed run is told at once, else with the
answer. `OPENAI_AGENTS_DISABLE_TRACING` silences this adapter too, since it lives on the SDK's spans.
"""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any, Final

from agents import tracing
from agents.tracing import Span, Trace, TracingProcessor

from headcount.adapters.nesting import Nesting
from headcount.guard import complain, guarded, nothing
from headcount.result import UNSAID


class HeadcountProcessor(TracingProcessor):
    """Hears the SDK's spans as they begin and end, in the thread of the run."""

    def __init__(self) -> None:
        self._nesting = Nesting()
        self._sessions: dict[str, str] = {}

    @guarded(nothing)
    def on_trace_start(self, trace: Trace) -> None:
        group = getattr(trace, "group_id", None)
        self._sessions[trace.trace_id] = str(group or trace.trace_id)

    @guarded(nothing)
    def on_trace_end(self, trace: Trace) -> None:
        self._sessions.pop(trace.trace_id, None)

    @guarded(nothing)
    def on_span_start(self, span: Span[Any]) -> None:
        data, id, parent = span.span_data, span.span_id, span.parent_id
        session = self._sessions.get(span.trace_id, span.trace_id)
        if data.type == "agent":
            self._nesting.agent_began(id, parent, data.name, session=session)
        elif data.type == "function":
            self._nesting.tool_began(id, parent, data.name)
        elif data.type in ("generation", "response"):
            self._nesting.model_began(id, parent, getattr(data, "model", None))
        else:
            self._nesting.step_began(id, parent, session=session)

    @guarded(nothing)
    def on_span_end(self, span: Span[Any]) -> None:
        data, id, failure = span.span_data, span.span_id, _failure(span)
        if data.type == "agent":
            self._nesting.agent_ended(id, error=failure)
        elif data.type == "function":
            output = data.output
            self._nesting.tool_ended(id, result=output if isinstance(output, str) else UNSAID, error=failure)
        elif data.type in ("generation", "response"):
            tokens, model = _answer(data)
            self._nesting.model_ended(id, tokens=tokens, model=model, error=failure)
        else:
            if data.type == "handoff" and data.to_agent and span.parent_id:
                self._nesting.handed_off(span.parent_id, data.to_agent)
            self._nesting.step_ended(id)

    @guarded(nothing)
    def first_token_here(self) -> None:
        """Tell that the model whose request this code stands in began to answer."""
        span = tracing.get_current_span()
        if span is not None:
            self._nesting.first_token_within(span.span_id)

    def shutdown(self) -> None:
        """Do nothing: headcount ends with its process."""

    def force_flush(self) -> None:
        """Do nothing: headcount exports by itself."""


_processor: HeadcountProcessor | None = None


def instrument() -> None:
    """Hear the SDK's runs from now on, once; other processors stay."""
    global _processor
    if _processor is None:
        _processor = HeadcountProcessor()
        tracing.add_trace_processor(_processor)
        _listen_to_streams(_processor)


_RUN_LOOP: Final = "agents.run_internal.run_loop"
_EVENT: Final = "RawResponsesStreamEvent"
"""What the loop makes of each part of a stream, before it hands it to the program."""


def _listen_to_streams(processor: HeadcountProcessor) -> None:
    """Hear the parts of streams where the SDK makes events of them: no hook of its own tells of them."""
    try:
        loop = import_module(_RUN_LOOP)
        make = getattr(loop, _EVENT)
    except (ImportError, AttributeError):
        complain(
            "streams", "headcount: this OpenAI Agents SDK keeps its streams elsewhere; first tokens come late"
        )
        return

    @functools.wraps(make)
    def heard(*args: Any, **kwargs: Any) -> Any:
        processor.first_token_here()
        return make(*args, **kwargs)

    setattr(loop, _EVENT, heard)


def _failure(span: Span[Any]) -> str | None:
    error = span.error
    return str(error.get("message") or "error") if error else None


def _answer(data: Any) -> tuple[int | None, str | None]:
    response = getattr(data, "response", None)
    if response is not None:
        usage = getattr(response, "usage", None)
        return getattr(usage, "output_tokens", None), getattr(response, "model", None)
    usage = getattr(data, "usage", None) or {}
    return usage.get("output_tokens"), getattr(data, "model", None)
