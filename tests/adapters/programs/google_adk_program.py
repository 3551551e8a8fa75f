"""A lead with an `AgentTool`, over models that answer as told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.genai import types
from playing import AGENT, ANSWER, HELPER, PAUSE_S, TASK, play

from headcount.adapters import google_adk

google_adk.instrument()


class Scripted(BaseLlm):
    """Calls its tools in one answer, then answers."""

    model: str = "scripted"
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    fault: str = ""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        if self.fault == "broken":
            raise RuntimeError("as told")
        if self.fault == "hangs":
            await asyncio.Event().wait()
        parts = [part for content in llm_request.contents for part in content.parts or []]
        if not self.calls or any(part.function_response for part in parts):
            answer = [types.Part(text=ANSWER)]
        else:
            answer = [
                types.Part(function_call=types.FunctionCall(name=name, args=given))
                for name, given in self.calls
            ]
        if stream:
            yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="…")]), partial=True)
            await asyncio.sleep(PAUSE_S)
        usage = types.GenerateContentResponseUsageMetadata(candidates_token_count=7)
        yield LlmResponse(content=types.Content(role="model", parts=answer), usage_metadata=usage)


async def look_up() -> str:
    """Look it up."""
    return "found"


async def slow_look_up() -> str:
    """Look it up, slowly."""
    await asyncio.sleep(1)
    return "found"


def researcher(fault: str = "", tool: Any = look_up) -> LlmAgent:
    model = Scripted(calls=((tool.__name__, {}),), fault=fault)
    return LlmAgent(name=AGENT, model=model, tools=[tool])


async def run(agent: LlmAgent, mode: StreamingMode = StreamingMode.NONE) -> None:
    runner = InMemoryRunner(agent=agent, app_name="app")
    await runner.session_service.create_session(app_name="app", user_id="u", session_id="chat-17")
    message = types.Content(role="user", parts=[types.Part(text=TASK)])
    config = RunConfig(streaming_mode=mode)
    async for _ in runner.run_async(
        user_id="u", session_id="chat-17", new_message=message, run_config=config
    ):
        pass


async def streams() -> None:
    async def research() -> str:
        """Ask the researcher, and hear it out."""
        await run(researcher(), StreamingMode.SSE)
        return "found"

    await run(LlmAgent(name="lead", model=Scripted(calls=(("research", {}),)), tools=[research]))


async def lead(child: LlmAgent, number: int = 1) -> None:
    calls = ((AGENT, {"request": TASK}),) * number
    await run(LlmAgent(name="lead", model=Scripted(calls=calls), tools=[AgentTool(child)]))


async def broken() -> None:
    async def research() -> str:
        """Ask the researcher."""
        try:
            await run(researcher("broken"))
        except RuntimeError as error:
            return f"it failed: {error}"
        return "?"

    await run(LlmAgent(name="lead", model=Scripted(calls=(("research", {}),)), tools=[research]))


async def cancelled() -> None:
    """The lead gives its researcher no more than a moment."""

    async def research() -> str:
        """Ask the researcher."""
        try:
            await asyncio.wait_for(run(researcher("hangs")), PAUSE_S)
        except TimeoutError:
            return "it took too long"
        return "?"

    await run(LlmAgent(name="lead", model=Scripted(calls=(("research", {}),)), tools=[research]))


async def nested() -> None:
    """The researcher asks an assistant of its own."""
    helper = AgentTool(LlmAgent(name=HELPER, model=Scripted()))
    model = Scripted(calls=((HELPER, {"request": TASK}),))
    await lead(LlmAgent(name=AGENT, model=model, tools=[helper]))


async def not_forwarded() -> None:
    kept = []

    async def start() -> str:
        """Start the researcher and forget it."""
        kept.append(asyncio.create_task(run(researcher(tool=slow_look_up))))
        await asyncio.sleep(0.5)
        return "started"

    await run(LlmAgent(name="lead", model=Scripted(calls=(("start", {}),)), tools=[start]))


async def handoff() -> None:
    calls = (("transfer_to_agent", {"agent_name": AGENT}),)
    await run(LlmAgent(name="lead", model=Scripted(calls=calls), sub_agents=[researcher()]))


if __name__ == "__main__":
    play(
        completes=lambda: lead(researcher()),
        parallel=lambda: lead(researcher(), 2),
        error=broken,
        hang=lambda: lead(researcher("hangs")),
        not_forwarded=not_forwarded,
        cancelled=cancelled,
        nested=nested,
        handoff=handoff,
        streams=streams,
    )
