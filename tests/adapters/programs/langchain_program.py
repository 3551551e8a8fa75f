"""A lead whose tool invokes another agent; and a deep agent with a sub-agent. The model is a chat model that answers as told."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from playing import AGENT, ANSWER, HELPER, PAUSE_S, TASK, play

from headcount.adapters import langchain

langchain.instrument()
numbers = count(1)


class Scripted(BaseChatModel):
    """Calls each of its tools once, in one answer, then answers."""

    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    fault: str = ""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        if self.fault == "broken":
            raise RuntimeError("as told")
        if self.fault == "hangs":
            threading.Event().wait()
        done = any(message.type == "tool" for message in messages)
        calls = [] if done else [{"name": n, "args": a, "id": f"call-{next(numbers)}"} for n, a in self.calls]
        usage = {"input_tokens": 1, "output_tokens": 7, "total_tokens": 8}
        answer = AIMessage("" if calls else ANSWER, tool_calls=calls, usage_metadata=usage)
        return ChatResult(generations=[ChatGeneration(message=answer)])

    async def _astream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        whole = self._generate(messages).generations[0].message
        for part in (AIMessageChunk(""), AIMessageChunk(whole.content, tool_calls=whole.tool_calls)):
            yield ChatGenerationChunk(message=part)
            await asyncio.sleep(PAUSE_S)


@tool
def look_up() -> str:
    """Look it up."""
    return "found"


def researcher(fault: str = "", tools: Any = None) -> Any:
    model = Scripted(calls=(("look_up", {}),), fault=fault)
    return create_agent(model, tools or [look_up], name=AGENT)


def asked() -> dict[str, Any]:
    return {"messages": [HumanMessage(TASK)]}


async def lead(child: Any, number: int = 1) -> None:
    @tool
    async def research() -> str:
        """Ask the researcher."""
        try:
            return str((await child.ainvoke(asked()))["messages"][-1].content)
        except RuntimeError as error:
            return f"it failed: {error}"

    agent = create_agent(Scripted(calls=(("research", {}),) * number), [research], name="lead")
    await agent.ainvoke(asked(), {"configurable": {"thread_id": "chat-17"}})


async def streams() -> None:
    @tool
    async def research() -> str:
        """Ask the researcher, and hear it out."""
        async for _ in researcher().astream(asked(), stream_mode="messages"):
            pass
        return ANSWER

    await create_agent(Scripted(calls=(("research", {}),)), [research], name="lead").ainvoke(asked())


async def cancelled() -> None:
    """The lead gives its researcher no more than a moment."""

    @tool
    async def look_up() -> str:
        """Look it up, for ever."""
        await asyncio.Event().wait()
        return "found"

    @tool
    async def research() -> str:
        """Ask the researcher."""
        try:
            answer = await asyncio.wait_for(researcher(tools=[look_up]).ainvoke(asked()), PAUSE_S)
            return str(answer["messages"][-1].content)
        except TimeoutError:
            return "it took too long"

    await create_agent(Scripted(calls=(("research", {}),)), [research], name="lead").ainvoke(asked())


async def nested() -> None:
    """The researcher asks an assistant of its own."""
    helper = create_agent(Scripted(), [], name=HELPER)

    @tool
    async def ask() -> str:
        """Ask the assistant."""
        return str((await helper.ainvoke(asked()))["messages"][-1].content)

    await lead(create_agent(Scripted(calls=(("ask", {}),)), [ask], name=AGENT))


async def not_forwarded() -> None:
    kept = []

    @tool("look_up")
    async def slow_look_up() -> str:
        """Look it up, slowly."""
        await asyncio.sleep(1)
        return "found"

    @tool
    async def start() -> str:
        """Start the researcher and forget it."""
        kept.append(asyncio.create_task(researcher(tools=[slow_look_up]).ainvoke(asked())))
        await asyncio.sleep(0.3)
        return "started"

    await create_agent(Scripted(calls=(("start", {}),)), [start], name="lead").ainvoke(asked())


def deepagents() -> None:
    from deepagents import create_deep_agent

    child = {
        "name": AGENT,
        "description": "finds answers",
        "system_prompt": "find",
        "tools": [look_up],
        "model": Scripted(calls=(("look_up", {}),)),
    }
    call = ("task", {"description": TASK, "subagent_type": AGENT})
    create_deep_agent(model=Scripted(calls=(call,)), subagents=[child]).invoke(asked())


if __name__ == "__main__":
    play(
        completes=lambda: lead(researcher()),
        parallel=lambda: lead(researcher(), 2),
        error=lambda: lead(researcher("broken")),
        hang=lambda: lead(researcher("hangs")),
        not_forwarded=not_forwarded,
        cancelled=cancelled,
        nested=nested,
        deepagents=deepagents,
        streams=streams,
    )
