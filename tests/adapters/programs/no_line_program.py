"""A program that knows nothing of headcount; `opentelemetry-instrument` and the environment are all there is."""

from __future__ import annotations

import asyncio

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel


async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    if len(messages) == 1 and info.function_tools:
        return ModelResponse(parts=[ToolCallPart("research", {})])
    return ModelResponse(parts=[TextPart("the answer is 42")])


child = Agent(FunctionModel(answer), name="researcher")
lead = Agent(FunctionModel(answer), name="lead")


@lead.tool_plain
async def research() -> str:
    return (await child.run("find the answer")).output


asyncio.run(lead.run("find the answer"))
