"""CrewAI: its event bus; a crew is the owner of its tasks, and a coworker who is delegated to is a child of the agent.

    import headcount
    from headcount.adapters import crewai

    headcount.configure()
    crewai.instrument()

Events pair by `started_event_id` and nest by `parent_event_id`. The first token is that of the stream, else the answer. The
bus calls its handlers in threads of its own, in which no span of the child begins; so events are heard where they are
emitted, which is where the child works.
"""

from __future__ import annotations

import functools
from typing import Any

from crewai.events import crewai_event_bus
from crewai.events.base_events import BaseEvent
from crewai.events.event_context import SCOPE_ENDING_EVENTS, SCOPE_STARTING_EVENTS
from crewai.events.types import agent_events, crew_events, llm_events, tool_usage_events

from headcount.adapters.nesting import Nesting
from headcount.guard import guarded, nothing
from headcount.result import UNSAID

_nesting = Nesting()
_calls: dict[str, str] = {}
"""Model requests by the call id that a streamed chunk names."""


@guarded(nothing)
def _began(source: Any, event: Any) -> None:
    id, parent = event.event_id, event.parent_event_id
    if isinstance(event, crew_events.CrewKickoffStartedEvent):
        _nesting.agent_began(id, parent, event.crew_name or "crew")
    elif isinstance(event, agent_events.AgentExecutionStartedEvent):
        _nesting.agent_began(id, parent, event.agent.role.strip(), prompt=event.task_prompt)
    elif isinstance(event, tool_usage_events.ToolUsageStartedEvent):
        _nesting.tool_began(id, parent, event.tool_name)
    elif isinstance(event, llm_events.LLMCallStartedEvent):
        _calls[event.call_id] = id
        _nesting.model_began(id, parent, event.model, stream=event.stream)
    else:
        _nesting.step_began(id, parent)


@guarded(nothing)
def _ended(source: Any, event: Any) -> None:
    id = event.started_event_id
    if id is None:
        return
    failure = getattr(event, "error", None)
    error = str(failure) if failure is not None else None
    if isinstance(event, llm_events.LLMCallCompletedEvent | llm_events.LLMCallFailedEvent):
        _calls.pop(event.call_id, None)
        usage = getattr(event, "usage", None) or {}
        _nesting.model_ended(id, tokens=usage.get("completion_tokens"), model=event.model, error=error)
    elif isinstance(event, tool_usage_events.ToolUsageEvent):
        output = getattr(event, "output", None)
        _nesting.tool_ended(id, result=output if isinstance(output, str) else UNSAID, error=error)
    else:
        output = getattr(event, "output", None)
        text = output if isinstance(output, str) else getattr(output, "raw", None)
        _nesting.agent_ended(id, result=text if isinstance(text, str) else UNSAID, error=error)


@guarded(nothing)
def _chunk(source: Any, event: Any) -> None:
    id = _calls.get(event.call_id)
    if id is not None:
        _nesting.first_token(id)


def _hear(source: Any, event: BaseEvent) -> None:
    if event.type in SCOPE_STARTING_EVENTS:
        _began(source, event)
    elif event.type in SCOPE_ENDING_EVENTS:
        _ended(source, event)
    elif isinstance(event, llm_events.LLMStreamChunkEvent):
        _chunk(source, event)


_instrumented = False


def instrument() -> None:
    """Listen to the bus from now on, once."""
    global _instrumented
    if _instrumented:
        return
    _instrumented = True
    bus: Any = type(crewai_event_bus)
    emit, aemit = bus.emit, bus.aemit

    # After the bus: it says what the event is part of.
    @functools.wraps(emit)
    def emit_and_hear(self: Any, source: Any, event: BaseEvent) -> Any:
        emitted = emit(self, source, event)
        _hear(source, event)
        return emitted

    @functools.wraps(aemit)
    async def aemit_and_hear(self: Any, source: Any, event: BaseEvent) -> None:
        await aemit(self, source, event)
        _hear(source, event)

    bus.emit, bus.aemit = emit_and_hear, aemit_and_hear
