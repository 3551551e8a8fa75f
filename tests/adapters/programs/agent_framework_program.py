"""A lead that has the researcher as a tool, over a chat client that answers as told, in the framework's own layers."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from itertools import count
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    Executor,
    FunctionInvocationLayer,
    Message,
    UsageDetails,
    WorkflowBuilder,
    WorkflowContext,
    handler,
    tool,
)
from agent_framework.observability import ChatTelemetryLayer
from playing import AGENT, ANSWER, HELPER, PAUSE_S, TASK, play

from headcount.adapters import agent_framework

agent_framework.instrument()
numbers = count(1)


class Scripted(
    FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], ChatTelemetryLayer[Any], BaseChatClient[Any]
):
    """Calls its tools in one answer, then answers."""

    OTEL_PROVIDER_NAME = "scripted"

    def __init__(self, *calls: tuple[str, dict[str, Any]], fault: str = "") -> None:
        super().__init__()
        self.calls = calls
        self.fault = fault

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Any:
        return self._build_response_stream(self._updates(messages)) if stream else self._answer(messages)

    async def _updates(self, messages: Sequence[Message]) -> AsyncIterator[ChatResponseUpdate]:
        answer = await self._answer(messages)
        yield ChatResponseUpdate(role="assistant", contents=[])
        await asyncio.sleep(PAUSE_S)
        for message in answer.messages:
            yield ChatResponseUpdate(role="assistant", contents=message.contents)

    async def _answer(self, messages: Sequence[Message]) -> ChatResponse[Any]:
        if self.fault == "broken":
            raise RuntimeError("as told")
        if self.fault == "hangs":
            await asyncio.Event().wait()
        answered = any(
            content.type == "function_result" for message in messages for content in message.contents
        )
        contents = [
            Content.from_function_call(f"call-{next(numbers)}", name, arguments=given)
            for name, given in (() if answered else self.calls)
        ]
        said: list[Any] = contents or [ANSWER]
        usage = UsageDetails(output_token_count=7)
        return ChatResponse(messages=[Message(role="assistant", contents=said)], usage_details=usage)


@tool
async def look_up() -> str:
    """Look it up."""
    return "found"


@tool(name="look_up")
async def slow_look_up() -> str:
    """Look it up, slowly."""
    await asyncio.sleep(1)
    return "found"


def researcher(fault: str = "", look: Any = look_up) -> Agent[Any]:
    return Agent(Scripted(("look_up", {}), fault=fault), name=AGENT, tools=[look])


async def lead(child: Agent[Any], number: int = 1) -> None:
    calls = [("research", {"task": TASK})] * number
    await Agent(Scripted(*calls), name="lead", tools=[child.as_tool(name="research")]).run(TASK)


async def streams() -> None:
    @tool
    async def research() -> str:
        """Ask the researcher, and hear it out."""
        stream = researcher().run(TASK, stream=True)
        async for _ in stream:
            pass
        return (await stream.get_final_response()).text

    await Agent(Scripted(("research", {})), name="lead", tools=[research]).run(TASK)


async def cancelled() -> None:
    """The lead gives its researcher no more than a moment."""

    @tool
    async def research() -> str:
        """Ask the researcher."""
        try:
            return (await asyncio.wait_for(researcher("hangs").run(TASK), PAUSE_S)).text
        except TimeoutError:
            return "it took too long"

    await Agent(Scripted(("research", {})), name="lead", tools=[research]).run(TASK)


async def nested() -> None:
    """The researcher asks an assistant of its own."""
    ask = Agent(Scripted(), name=HELPER).as_tool(name="ask")
    await lead(Agent(Scripted(("ask", {"task": TASK})), name=AGENT, tools=[ask]))


async def not_forwarded() -> None:
    kept = []

    @tool
    async def start() -> str:
        """Start the researcher and forget it."""
        kept.append(asyncio.create_task(researcher(look=slow_look_up).run(TASK)))
        await asyncio.sleep(0.5)
        return "started"

    await Agent(Scripted(("start", {})), name="lead", tools=[start]).run(TASK)


async def workflow() -> None:
    """A researcher whose answer an edge carries to a writer."""
    writer = Agent(Scripted(), name="writer")
    first = researcher()
    await WorkflowBuilder(start_executor=first).add_edge(first, writer).build().run(TASK)


async def edge_dropped() -> None:
    """A researcher whose answer is addressed to nobody: no edge carries it."""
    agent = researcher()

    class Desk(Executor):
        @handler
        async def ask(self, text: str, context: WorkflowContext[str]) -> None:
            answer = await agent.run(text)
            await context.send_message(answer.text, target_id="nobody")

    class Reader(Executor):
        @handler
        async def read(self, text: str, context: WorkflowContext[Any, str]) -> None:
            await context.yield_output(text)

    desk, reader = Desk("desk"), Reader("reader")
    await WorkflowBuilder(start_executor=desk).add_edge(desk, reader).build().run(TASK)


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
        workflow=workflow,
        edge_dropped=edge_dropped,
    )
