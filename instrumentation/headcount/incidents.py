"""Plays known incidents of delegated work through the shim, as a real agent process would live them, in half a minute.

`python -m headcount.incidents` reports to HEADCOUNT_ENDPOINT (else http://localhost:4318). `headcount demo` runs it
against a collector whose policy counts in seconds. Each function is one incident and an example of the API.
"""

from __future__ import annotations

import asyncio
import sys

import headcount

PATIENCE_S = 6.0
"""When each result is expected: what takes a quarter of an hour in life."""
RESULT = "42 findings, the worst first"


async def zero_tools() -> None:
    """A child asks its model and is never answered. Its twin, asked for the same by mistake, does the work."""
    prompt = "refactor the growth of pets"
    stuck = headcount.dispatch("refactorer", id="zero-tools", prompt=prompt, expected=PATIENCE_S)
    stuck.launched("registered")
    child = headcount.child(stuck)
    child.start()
    child.model_request(stream=True).start()
    await asyncio.sleep(1)
    twin = headcount.dispatch("refactorer", id="its-twin", prompt=prompt, expected=PATIENCE_S)
    await work(twin, steps=3, every_s=1)
    deliver(twin)
    await asyncio.sleep(12)
    stuck.kill("watchdog", rule="wall clock", limit_s=15)


async def mute_teammate() -> None:
    """A teammate works, ends its turn and has no means to send what it found. Its answer stays in its transcript."""
    run = headcount.dispatch(
        "reviewer",
        id="mute-teammate",
        mode="teammate",
        channel="message",
        can_send=False,
        expected=PATIENCE_S,
    )
    child = headcount.child(run)
    child.start()
    await tools(child, steps=2, every_s=1)
    child.idle(has_summary=False, turn_ended=True)


async def first_of_three() -> None:
    """Three work in the background, one is done, and the owner takes that for everything."""
    with headcount.session("three", owner=""):
        runs = [
            headcount.dispatch("analyst", id=f"{place}-of-three", expected=20)
            for place in ("first", "second", "third")
        ]
        first, *others = runs
        working = [asyncio.create_task(work(run, steps=12, every_s=1)) for run in others]
        await work(first, steps=2, every_s=1)
        deliver(first)
        await asyncio.sleep(1)
        headcount.owner_final()
        await asyncio.gather(*working)
        for run in others:
            deliver(run)


async def lost_delivery() -> None:
    """A child is done in time, its notice is not delivered, and somebody fetches the result later."""
    run = headcount.dispatch("researcher", id="lost-delivery", expected=PATIENCE_S)
    await work(run, steps=2, every_s=1, location="file:///tmp/findings.md")
    run.received(source="completion_push", result=RESULT)
    run.forwarded(ok=False, error="the owner's conversation was busy")
    await asyncio.sleep(9)
    run.received(source="polled", result=RESULT)
    run.forwarded()


async def slow_and_well() -> None:
    """A child takes three times as long as expected and never stops moving: slow, not lost."""
    run = headcount.dispatch("migrator", id="slow-and-well", expected=PATIENCE_S)
    await work(run, steps=12, every_s=1.5)
    deliver(run)


async def work(run: headcount.Run, *, steps: int, every_s: float, location: str | None = None) -> None:
    """Do a child's work: some tool calls, then a result."""
    async with headcount.child(run) as child:
        await tools(child, steps=steps, every_s=every_s)
        child.result(RESULT, location=location)


async def tools(child: headcount.Child, *, steps: int, every_s: float) -> None:
    """Ask the model, which answers at once, and call a tool, again and again."""
    for _ in range(steps):
        with child.model_request(stream=True) as request:
            request.first_token()
            request.output(40)
        with child.tool("Read"):
            await asyncio.sleep(every_s)


def deliver(run: headcount.Run) -> None:
    """Hand the result to the owner, as a harness does that works."""
    run.received(source="notification", result=RESULT)
    run.forwarded()


INCIDENTS = (zero_tools, mute_teammate, first_of_three, lost_delivery, slow_and_well)


async def play() -> None:
    """Live through all incidents at once."""
    with headcount.session("demo"):
        await asyncio.gather(*(incident() for incident in INCIDENTS))


def main() -> int:
    """Play, and see that everything was exported; 1 if not."""
    headcount.configure(service_name="demo")
    asyncio.run(play())
    if headcount.flush():
        return 0
    print("headcount: the collector took not all of it; see its log", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
