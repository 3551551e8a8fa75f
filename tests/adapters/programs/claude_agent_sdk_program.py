"""A session of the real harness through its SDK; the prompt is the scripted model's script."""

from __future__ import annotations

import asyncio
import os

from claude_agent_sdk import ClaudeAgentOptions, query
from playing import HANG_S, play

from headcount.adapters import claude_agent_sdk


async def ask(prompt: str) -> None:
    options = ClaudeAgentOptions(
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


if __name__ == "__main__":
    play(
        completes=lambda: ask("DISPATCH"),
        parallel=lambda: ask("DISPATCH N=2"),
        error=lambda: ask("DISPATCH CHILD_ERROR"),
        hang=hang,
        not_forwarded=lambda: ask("DISPATCH BACKGROUND"),
    )
