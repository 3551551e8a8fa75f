"""An orchestrator that misbehaves on purpose: every round it hands work to children of each kind, good and bad.

HEADCOUNT_ENDPOINT=http://127.0.0.1:4318 python docs/deploy/agent.py [--rounds N] [--pause SECONDS] [--speed FACTOR]
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass
from uuid import uuid4

import headcount


@dataclass(frozen=True)
class Pace:
    """How fast a round goes; `speed` 60 turns a minute into a second."""

    speed: float

    def rest(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds / self.speed)

    def of(self, seconds: float) -> float:
        """Return a length of time at this pace."""
        return seconds / self.speed


def _works(child: headcount.Child, pace: Pace, tools: int) -> None:
    for _ in range(tools):
        with child.model_request(stream=True) as request:
            pace.rest(1)
            request.first_token()
        with child.tool("Read"):
            pace.rest(2)


def _id(kind: str) -> str:
    return f"{kind}-{uuid4().hex[:8]}"


def returns(pace: Pace) -> None:
    """Do the work; the answer reaches the owner."""
    run = headcount.dispatch("reviewer", id=_id("returns"), prompt="find what is wrong", expected=pace.of(60))
    with headcount.child(run) as child:
        _works(child, pace, 4)
        child.result("three findings")
    run.received(source="notification", result="three findings")
    run.forwarded()


def is_lost_on_the_way_back(pace: Pace) -> None:
    """Do the work; nobody is told."""
    run = headcount.dispatch("researcher", id=_id("lost"), prompt="look it up", expected=pace.of(60))
    with headcount.child(run) as child:
        _works(child, pace, 3)
        child.result("the answer", location="file:///tmp/answer.md")


def is_never_heard(pace: Pace) -> None:
    """Be dispatched, and never start."""
    headcount.dispatch("reviewer", id=_id("unheard"), prompt="build it", expected=pace.of(30))


def fails_in_silence(pace: Pace) -> None:
    """Fail; nobody is told."""
    run = headcount.dispatch("tester", id=_id("fails"), prompt="run the tests", expected=pace.of(60))
    try:
        with headcount.child(run) as child:
            _works(child, pace, 1)
            raise RuntimeError("out of memory")
    except RuntimeError:
        pass


def looks_busy(pace: Pace) -> None:
    """Call the same tool with the same failure, again and again, past the deadline."""
    run = headcount.dispatch("fixer", id=_id("busy"), prompt="make it pass", expected=pace.of(20))
    with headcount.child(run) as child:
        for _ in range(8):
            try:
                with child.tool("Bash"):
                    pace.rest(4)
                    raise RuntimeError("command not found")
            except RuntimeError:
                pass
        child.result("gave up")
    run.received(source="notification", result="gave up")
    run.forwarded()


KINDS: tuple[Callable[[Pace], None], ...] = (
    returns,
    is_lost_on_the_way_back,
    is_never_heard,
    fails_in_silence,
    looks_busy,
)


def play(rounds: int, pause_s: float, pace: Pace) -> None:
    """Hand out work, round by round; 0 rounds: without end."""
    number = 0
    while rounds == 0 or number < rounds:
        number += 1
        with headcount.session(f"round-{number}-{int(time.time())}"):
            threads = [threading.Thread(target=copy_context().run, args=(kind, pace)) for kind in KINDS]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            headcount.flush()
        if number != rounds:
            time.sleep(pause_s)


def main() -> None:
    """Read the options and play."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=0, help="0: without end")
    options.add_argument("--pause", type=float, default=30.0, help="seconds between two rounds")
    options.add_argument("--speed", type=float, default=1.0)
    chosen = options.parse_args()
    headcount.configure(service_name="misbehaving-agent")
    play(chosen.rounds, chosen.pause, Pace(chosen.speed))
    headcount.shutdown()


if __name__ == "__main__":
    main()
