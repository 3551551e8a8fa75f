"""A session of the real harness through its SDK; the prompt is the scripted model's script."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, HookMatcher, TaskNotificationMessage, query
from playing import play

from headcount.adapters import claude_agent_sdk


def session(prompt: str, hooks: Any = None) -> AsyncIterator[Any]:
    options = ClaudeAgentOptions(
        hooks=hooks,
        allowed_tools=["Bash", "Agent", "Task", "TaskStop"],
        env={
            "ANTHROPIC_BASE_URL": os.environ["MODEL_URL"],
            "ANTHROPIC_API_KEY": "none",
            "HOME": os.environ["HOME"],
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
        setting_sources=[],
    )
    return query(prompt=prompt, options=claude_agent_sdk.watched(options))


async def ask(prompt: str, hooks: Any = None) -> None:
    async for _ in claude_agent_sdk.messages(session(prompt, hooks)):
        pass


async def without_last_hooks() -> None:
    """The hooks of the turn that takes the answer up are lost, as those that wait at the end of a program may be."""
    async for message in claude_agent_sdk.messages(session("DISPATCH BACKGROUND CHILD_SLOW")):
        if isinstance(message, TaskNotificationMessage):
            for poster in claude_agent_sdk._posters.values():
                poster.put = lambda body: None


async def kill_session() -> None:
    """End the program and the harness by force, once what the hooks said until now is posted."""
    await asyncio.sleep(1)
    for poster in list(claude_agent_sdk._posters.values()):
        await asyncio.to_thread(poster.flush, 60)
    os.killpg(os.getpgrp(), signal.SIGKILL)


async def hang() -> None:
    """The child asks its model, which never answers; some time later the session is killed."""
    kept = []

    async def later(body: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        kept.append(asyncio.create_task(kill_session()))
        return {}

    await ask("DISPATCH CHILD_HANG", {"SubagentStart": [HookMatcher(hooks=[later])]})


async def not_forwarded() -> None:
    """The child is done, and before its owner hears of it the whole session is killed."""

    async def at_once(body: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        # The harness waits for this hook before it goes on; the one that reports is called beside it.
        await kill_session()
        return {}

    await ask("DISPATCH BACKGROUND CHILD_SLOW", {"SubagentStop": [HookMatcher(hooks=[at_once])]})


if __name__ == "__main__":
    play(
        completes=lambda: ask("DISPATCH"),
        parallel=lambda: ask("DISPATCH N=2"),
        error=lambda: ask("DISPATCH CHILD_ERROR"),
        hang=hang,
        background=lambda: ask("DISPATCH BACKGROUND"),
        not_forwarded=not_forwarded,
        without_last_hooks=without_last_hooks,
        nested=lambda: ask("DISPATCH CHILD_NESTS"),
        stopped=lambda: ask("DISPATCH BACKGROUND CHILD_HANG THEN_STOP"),
    )
