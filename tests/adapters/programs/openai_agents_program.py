"""A lead that asks a researcher through `Agent.as_tool`, with the SDK's own model class over a scripted transport."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import httpx2 as httpx
from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner, function_tool, set_trace_processors
from openai import AsyncOpenAI
from playing import AGENT, ANSWER, HELPER, PAUSE_S, TASK, play

from headcount.adapters import openai_agents

set_trace_processors([])  # the SDK's own would send to a paid service
openai_agents.instrument()


numbers = count(1)


def call(name: str, **arguments: object) -> dict[str, object]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": f"call_{next(numbers)}", "type": "function", "function": function}


def completion(request: httpx.Request) -> httpx.Response:
    body = json.loads(request.content)
    messages, system = body["messages"], str(body["messages"][0]["content"])
    answered = any(message["role"] == "tool" for message in messages)
    calls: list[dict[str, object]] = []
    if "child" in system:
        if "broken" in system:
            return httpx.Response(
                400, json={"error": {"message": "as told", "type": "invalid_request_error"}}
            )
        calls = [] if answered else [call("look_up")]
    elif not answered and "helper" not in system:
        number = 2 if "two" in system else 1
        tool = body["tools"][0]["function"]
        given = {"input": TASK} if "input" in tool["parameters"]["properties"] else {}
        calls = [call(tool["name"], **given) for _ in range(number)]
    message = {
        "role": "assistant",
        "content": None if calls else ANSWER,
        **({"tool_calls": calls} if calls else {}),
    }
    choice = {"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": message}
    usage = {"prompt_tokens": 1, "completion_tokens": 7, "total_tokens": 8}
    about = {"id": "c", "object": "chat.completion", "created": 1, "model": "scripted"}
    return httpx.Response(200, json={**about, "choices": [choice], "usage": usage})


async def parts_of(message: dict[str, Any]) -> AsyncIterator[bytes]:
    """The same answer as a stream that pauses after its first part."""
    about = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    calls = [{**made, "index": index} for index, made in enumerate(message.get("tool_calls", ()))]
    rest = {"tool_calls": calls} if calls else {"content": message["content"]}
    for delta in ({"role": "assistant", "content": ""}, rest, {}):
        reason = None if delta else "tool_calls" if calls else "stop"
        chunk = {**about, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        yield f"data: {json.dumps(chunk)}\n\n".encode()
        await asyncio.sleep(PAUSE_S if "role" in delta else 0)
    yield b"data: [DONE]\n\n"


async def answer(request: httpx.Request) -> httpx.Response:
    if json.loads(request.content).get("stream"):
        message = completion(request).json()["choices"][0]["message"]
        stream = {"content-type": "text/event-stream"}
        return httpx.Response(200, headers=stream, content=parts_of(message))
    if "hangs" in request.content.decode():
        await asyncio.Event().wait()
    return completion(request)


client = AsyncOpenAI(
    api_key="none",
    base_url="http://127.0.0.1:1/v1",
    max_retries=0,
    http_client=httpx.AsyncClient(transport=httpx.MockTransport(answer)),
)
model = OpenAIChatCompletionsModel(model="scripted", openai_client=client)


@function_tool
def look_up() -> str:
    """Look it up."""
    return "found"


def researcher(what: str = "") -> Agent[None]:
    return Agent(name=AGENT, instructions=f"You are the child. {what}", tools=[look_up], model=model)


async def lead(child: Agent[None], how: str = "") -> None:
    tool = child.as_tool("research", "Ask the researcher.")
    await run(Agent(name="lead", instructions=f"You lead. {how}", tools=[tool], model=model))


async def run(agent: Agent[None]) -> None:
    await Runner.run(agent, TASK, run_config=RunConfig(group_id="chat-17"))


async def streams() -> None:
    @function_tool
    async def research() -> str:
        """Ask the researcher, and hear it out."""
        result = Runner.run_streamed(researcher(), TASK)
        async for _ in result.stream_events():
            pass
        return str(result.final_output)

    await run(Agent(name="lead", instructions="You lead.", tools=[research], model=model))


async def cancelled() -> None:
    """The lead gives its researcher no more than a moment."""

    @function_tool
    async def research() -> str:
        """Ask the researcher."""
        try:
            return str((await asyncio.wait_for(Runner.run(researcher("hangs"), TASK), PAUSE_S)).final_output)
        except TimeoutError:
            return "it took too long"

    await run(Agent(name="lead", instructions="You lead.", tools=[research], model=model))


async def nested() -> None:
    """The researcher asks an assistant of its own."""
    helper = Agent(name=HELPER, instructions="You are the helper.", model=model)
    ask = helper.as_tool("ask", "Ask the assistant.")
    await lead(Agent(name=AGENT, instructions="You ask.", tools=[ask], model=model))


async def not_forwarded() -> None:
    @function_tool
    async def start() -> str:
        """Start the researcher and forget it."""
        asyncio.create_task(Runner.run(researcher(), TASK))  # noqa: RUF006  # forgotten on purpose
        await asyncio.sleep(0.2)
        return "started"

    async def slow_look_up() -> str:
        await asyncio.sleep(1)
        return "found"

    look_up.on_invoke_tool = lambda *_: slow_look_up()
    await run(Agent(name="lead", instructions="You lead.", tools=[start], model=model))


async def handoff() -> None:
    child = Agent(name=AGENT, instructions="You are the child.", tools=[look_up], model=model)
    await run(Agent(name="lead", instructions="You lead.", handoffs=[child], model=model))


if __name__ == "__main__":
    play(
        completes=lambda: lead(researcher()),
        parallel=lambda: lead(researcher(), "two"),
        error=lambda: lead(researcher("broken")),
        hang=lambda: lead(researcher("hangs")),
        not_forwarded=not_forwarded,
        cancelled=cancelled,
        nested=nested,
        handoff=handoff,
        streams=streams,
    )
