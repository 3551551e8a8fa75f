"""A crew whose tasks a researcher does, over a model that answers as told."""

from __future__ import annotations

import contextvars
import json
import os
import re
import threading
import time
from typing import Any

os.environ |= {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "OTEL_SDK_DISABLED": "false",
}

from crewai import Agent, BaseLLM, Crew, Task
from crewai.events.types.llm_events import LLMCallType
from crewai.llms.base_llm import llm_call_context
from crewai.tools import tool
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from playing import AGENT, ANSWER, HELPER, PAUSE_S, TASK, play

from headcount.adapters import crewai

crewai.instrument()


class Scripted(BaseLLM):
    """Calls its tool once, then answers, in the words of the framework's own loop."""

    fault: str = ""
    action: str = "look_up"
    given: str = "{}"

    def call(
        self,
        messages: Any,
        tools: Any = None,
        callbacks: Any = None,
        available_functions: Any = None,
        from_task: Any = None,
        from_agent: Any = None,
        response_model: Any = None,
    ) -> Any:
        with llm_call_context():
            return self._answer(messages, {"from_task": from_task, "from_agent": from_agent})

    def _answer(self, messages: Any, about: dict[str, Any]) -> str:
        self._emit_call_started_event(messages, **about)
        if self.fault == "hangs":
            threading.Event().wait()
        if self.fault == "broken":
            self._emit_call_failed_event("as told", **about)
            raise RuntimeError("as told")
        if self.stream:
            self._emit_stream_chunk_event("Thought", **about)
            time.sleep(PAUSE_S)
        called = re.search(rf"Observation: (found|started|{ANSWER})", str(messages)) is not None
        answer = (
            f"Thought: I know\nFinal Answer: {ANSWER}"
            if called
            else f"Thought: look\nAction: {self.action}\nAction Input: {self.given}\n"
        )
        self._emit_call_completed_event(answer, LLMCallType.LLM_CALL, **about, usage={"completion_tokens": 7})
        return answer

    async def acall(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(*args, **kwargs)


@tool("look_up")
def look_up() -> str:
    """Look it up."""
    return "found"


@tool("look_up")
def slow_look_up() -> str:
    """Look it up, slowly."""
    time.sleep(1)
    return "found"


def researcher(fault: str = "", look: Any = look_up, stream: bool = False) -> Agent:
    model = Scripted(model="scripted", fault=fault, stream=stream)
    return Agent(role=AGENT, goal=TASK, backstory="-", llm=model, tools=[look], max_retry_limit=0)


def play_crew(*agents: Agent) -> None:
    # The last task of a crew may not be asynchronous beside another that is.
    last = len(agents) - 1
    tasks = [
        Task(description=f"{TASK} {place}", expected_output="it", agent=agent, async_execution=place < last)
        for place, agent in enumerate(agents)
    ]
    try:
        Crew(name="lead", agents=list(agents), tasks=tasks, verbose=False).kickoff()
    except (RuntimeError, TimeoutError) as error:
        print(error)


def cancelled() -> None:
    """The researcher has no more than a second: the one way to stop an agent, which is told as its error."""

    @tool("look_up")
    def look_up() -> str:
        """Look it up, for too long."""
        time.sleep(3)
        return "found"

    agent = researcher(look=look_up)
    agent.max_execution_time = 1
    play_crew(agent)


def nested() -> None:
    """The researcher delegates to a coworker."""
    asked = {"task": TASK, "context": "-", "coworker": HELPER}
    model = Scripted(model="scripted", action="Delegate work to coworker", given=json.dumps(asked))
    about: dict[str, Any] = {"goal": TASK, "backstory": "-", "max_retry_limit": 0}
    helper = Agent(role=HELPER, llm=Scripted(model="scripted"), tools=[look_up], **about)
    agent = Agent(role=AGENT, llm=model, allow_delegation=True, **about)
    task = Task(description=TASK, expected_output="it", agent=agent)
    Crew(name="lead", agents=[agent, helper], tasks=[task], verbose=False).kickoff()


def not_forwarded() -> None:
    kept = []

    @tool("start")
    def start() -> str:
        """Start the researcher and forget it."""
        context = contextvars.copy_context()
        kept.append(threading.Thread(target=context.run, args=(play_crew, researcher(look=slow_look_up))))
        kept[0].start()
        time.sleep(0.3)
        return "started"

    model = Scripted(model="scripted", action="start")
    play_crew(Agent(role="writer", goal=TASK, backstory="-", llm=model, tools=[start], max_retry_limit=0))
    kept[0].join()


def stamps() -> None:
    """A span of the program's own that begins in the child carries its run, and none outside does."""
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    trace.set_tracer_provider(provider)

    @tool("look_up")
    def traced() -> str:
        """Look it up."""
        with provider.get_tracer("own").start_as_current_span("inside"):
            return "found"

    play_crew(researcher(look=traced))
    with provider.get_tracer("own").start_as_current_span("outside"):
        pass
    runs = {span.name: (span.attributes or {}).get("subagent.run.id") for span in kept.get_finished_spans()}
    assert runs["inside"], runs
    assert runs["outside"] is None, runs


if __name__ == "__main__":
    play(
        completes=lambda: play_crew(researcher()),
        parallel=lambda: play_crew(researcher(), researcher()),
        error=lambda: play_crew(researcher("broken")),
        hang=lambda: play_crew(researcher("hangs")),
        not_forwarded=not_forwarded,
        cancelled=cancelled,
        nested=nested,
        streams=lambda: play_crew(researcher(stream=True)),
        stamps=stamps,
    )
