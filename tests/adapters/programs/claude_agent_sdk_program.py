"""A session of the real harness through its SDK; the prompt is the scripted model's script."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, HookMatcher, query
from playing import HANG_S, play

from headcount.adapters import claude_agent_sdk


async def ask(prompt: str, hooks: Any = None) -> None:
    options = ClaudeAgentOptions(
        hooks=hooks,
        allowed_tools=["Bash", "Agent", "Task"],
        env={
            "ANTHROPIC_BASE_URL": os.environ["MODEL_URL"],
            "ANTHROPIC_API_KEY": "none",
            "HOME": os.environ["HOME"],
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
        setting_sources=[],
    )
    session = query(prompt=prompt, options=claude_agent_sdk.watched(options))
    async for _ in claude_agent_sdk.messages(session):
        pass


async def hang() -> None:
    await asyncio.wait_for(ask("DISPATCH CHILD_HANG"), 20 + HANG_S)


async def not_forwarded() -> None:
    """The child is done, and before its owner hears of it the whole session is killed."""

    async def kill(body: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        # The harness waits for this hook before it goes on; the other one, which reports, is called beside it.
        for poster in list(claude_agent_sdk._posters.values()):
            await asyncio.to_thread(poster.flush)
        os.killpg(os.getpgrp(), signal.SIGKILL)
        return {}

    await ask("DISPATCH BACKGROUND", {"SubagentStop": [HookMatcher(hooks=[late(kill)])]})


def late(hook: Any) -> Any:
    async def after_others(*given: Any) -> Any:
        await asyncio.sleep(1)
        return await hook(*given)

    return after_others


if __name__ == "__main__":
    play(
        completes=lambda: ask("DISPATCH"),
        parallel=lambda: ask("DISPATCH N=2"),
        error=lambda: ask("DISPATCH CHILD_ERROR"),
        hang=hang,
        background=lambda: ask("DISPATCH BACKGROUND"),
        not_forwarded=not_forwarded,
    )
