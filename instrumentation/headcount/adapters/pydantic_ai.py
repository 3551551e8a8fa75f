"""Pydantic AI: its own GenAI spans, heard where they are made; an agent run inside a tool is a dispatched child.

    import headcount
    from headcount.adapters import pydantic_ai

    headcount.configure()
    pydantic_ai.instrument()

Where the program has a TracerProvider its spans go there as before; where it has none, they go to headcount alone.
Settings that were given to `Agent.instrument_all` stay.
"""

from __future__ import annotations

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from pydantic_ai import Agent
from pydantic_ai.models.instrumented import InstrumentationSettings

from headcount.adapters import genai_spans


def instrument() -> None:
    """Hear all agents from now on, once."""
    host = trace.get_tracer_provider()
    if hasattr(host, "add_span_processor"):
        genai_spans.instrument()
        if not Agent._instrument_default:
            Agent.instrument_all(InstrumentationSettings(include_content=False))
    elif not Agent._instrument_default:
        own = TracerProvider(shutdown_on_exit=False)
        genai_spans.instrument(own)
        Agent.instrument_all(InstrumentationSettings(tracer_provider=own, include_content=False))
