"""What the programs share: the scenario is the first argument; a hang ends by itself, as a killed process does."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable

import headcount

AGENT = "researcher"
TASK = "find the answer"
ANSWER = "the answer is 42"
HELPER = "assistant"
"""Whom the researcher asks, where children have children."""
PAUSE_S = 0.5
"""Between the first part of a stream and the rest."""
HANG_S = float(os.environ.get("HEADCOUNT_TEST_HANG_S", "0"))
"""How long a hang lasts; 0: until the child has asked its model, and a second more."""


def end_soon() -> None:
    """End the process without a word of farewell, once what was said until now is exported."""

    def end() -> None:
        time.sleep(HANG_S)
        # Of the dispatch, the start and the request.
        while not HANG_S and (told := headcount.stats()).sent + told.queued < 3:
            time.sleep(0.05)
        time.sleep(1)
        headcount.flush()
        os._exit(0)

    threading.Thread(target=end, daemon=True).start()


def play(**scenarios: Callable[[], Awaitable[object]] | Callable[[], object]) -> None:
    """Play the scenario that the command line names."""
    name = sys.argv[1]
    headcount.configure(service_name="adapter", heartbeat_s=0)
    if name == "hang":
        end_soon()
    played = scenarios[name]()
    if isinstance(played, Awaitable):
        asyncio.run(_whole(played))
    assert headcount.flush(120), "not all of it went"
    faults = headcount.stats().faults
    assert not faults, faults


async def _whole(played: Awaitable[object]) -> None:
    await played
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*others, return_exceptions=True)
