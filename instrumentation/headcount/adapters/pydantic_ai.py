"""Pydantic AI: its own GenAI spans, heard where they are made; an agent run inside a tool is a dispatched child.

    import headcount
    from headcount.adapters import pydantic_ai

    headcount.configure()
    pydantic_ai.instrument()

First tokens of a stream are told at once, else with the answer.
Where the program has a TracerProvider its spans go there as before; where it has none, they go to headcount alone.
Settings that were given to `Agent.instrument_all` stay.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from pydantic_ai import Agent
from pydantic_ai.models import StreamedResponse
from pydantic_ai.models.instrumented import InstrumentationSettings

from headcount.adapters import genai_spans

_listening = False


def instrument() -> None:
    """Hear all agents from now on, once."""
    _listen_to_streams()
    host = trace.get_tracer_provider()
    if hasattr(host, "add_span_processor"):
        genai_spans.instrument()
        if not Agent._instrument_default:
            Agent.instrument_all(InstrumentationSettings(include_content=False))
    elif not Agent._instrument_default:
        own = TracerProvider(shutdown_on_exit=False)
        genai_spans.instrument(own)
        Agent.instrument_all(InstrumentationSettings(tracer_provider=own, include_content=False))


def _listen_to_streams() -> None:
    global _listening
    if _listening:
        return
    _listening = True
    iterate = StreamedResponse.__aiter__

    @functools.wraps(iterate)
    def heard(self: StreamedResponse) -> AsyncIterator[Any]:
        return _telling(iterate(self))

    StreamedResponse.__aiter__ = heard  # type: ignore[method-assign, unused-ignore]  # the one place all streams pass


async def _telling(stream: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """Pass a stream on, and tell its first part; the request that it answers is the current span."""
    told = False
    async for event in stream:
        if not told:
            told = True
            for processor in genai_spans.processors():
                processor.first_token_here()
        yield event
