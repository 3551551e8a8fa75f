"""A lead whose tool runs another agent, with function models that answer as told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from playing import AGENT, ANSWER, HELPER, PAUSE_S, TASK, play
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from headcount.adapters import pydantic_ai

pydantic_ai.instrument()


def calling(*tools: str, fault: str = "") -> FunctionModel:
    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if fault == "broken":
            raise RuntimeError("as told")
        if fault == "hangs":
            await asyncio.Event().wait()
        if len(messages) == 1 and tools:
            return ModelResponse(parts=[ToolCallPart(tool, {}) for tool in tools])
        return ModelResponse(parts=[TextPart(ANSWER)])

    return FunctionModel(answer)


async def parts(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
    if len(messages) == 1:
        yield {0: DeltaToolCall(name="look_up")}
        await asyncio.sleep(PAUSE_S)
        yield {0: DeltaToolCall(json_args="{}")}
    else:
        yield ANSWER[:3]
        await asyncio.sleep(PAUSE_S)
        yield ANSWER[3:]


async def streams() -> None:
    agent, child = Agent(calling("research"), name="lead"), researcher()

    @agent.tool_plain
    async def research() -> str:
        async with child.run_stream(TASK, model=FunctionModel(stream_function=parts)) as result:
            return await result.get_output()

    await agent.run(TASK)


def researcher(fault: str = "", slowly_s: float = 0.0) -> Agent[None, str]:
    agent = Agent(calling("look_up", fault=fault), name=AGENT)

    @agent.tool_plain
    async def look_up() -> str:
        await asyncio.sleep(slowly_s)
        return "found"

    return agent


async def lead(child: Agent[None, str], number: int = 1) -> None:
    agent = Agent(calling(*["research"] * number), name="lead")

    @agent.tool_plain
    async def research() -> str:
        try:
            return (await child.run(TASK)).output
        except RuntimeError as error:
            return f"it failed: {error}"

    await agent.run(TASK)


async def cancelled() -> None:
    """The lead gives its researcher no more than a moment."""
    agent, child = Agent(calling("research"), name="lead"), researcher("hangs")

    @agent.tool_plain
    async def research() -> str:
        try:
            return (await asyncio.wait_for(child.run(TASK), PAUSE_S)).output
        except TimeoutError:
            return "it took too long"

    await agent.run(TASK)


async def nested() -> None:
    """The researcher asks an assistant of its own."""
    helper = Agent(calling(), name=HELPER)
    child = Agent(calling("ask"), name=AGENT)

    @child.tool_plain
    async def ask() -> str:
        return (await helper.run(TASK)).output

    await lead(child)


async def not_forwarded() -> None:
    agent, kept = Agent(calling("start"), name="lead"), []

    @agent.tool_plain
    async def start() -> str:
        kept.append(asyncio.create_task(researcher(slowly_s=1).run(TASK)))
        await asyncio.sleep(0.3)
        return "started"

    await agent.run(TASK)


if __name__ == "__main__":
    play(
        completes=lambda: lead(researcher()),
        parallel=lambda: lead(researcher(), 2),
        error=lambda: lead(researcher("broken")),
        hang=lambda: lead(researcher("hangs")),
        not_forwarded=not_forwarded,
        cancelled=cancelled,
        nested=nested,
        streams=streams,
    )
