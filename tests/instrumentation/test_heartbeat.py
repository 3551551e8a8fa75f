"""The heartbeat of open runs: liveness from one thread, announced, off by setting, silent when the child is over."""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable

import pytest

import headcount
from headcount import heartbeat

from .receiver import ReceivedSpan, Receiver


@pytest.fixture(autouse=True)
def _fresh_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = heartbeat.Heartbeat()
    for module in ("headcount.child", "headcount.configuration"):
        monkeypatch.setattr(sys.modules[module], "heartbeat", fresh)


def beats(spans: list[ReceivedSpan]) -> list[object]:
    return [span.attributes["subagent.run.id"] for span in spans if span.event == "heartbeat"]


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_every_open_child_beats_from_one_thread_until_it_ends(receiver: Receiver) -> None:
    headcount.configure(receiver.endpoint, heartbeat_s=0.02, linger_s=0.0)
    before = set(threading.enumerate())
    children = [headcount.child(headcount.dispatch("reviewer")) for _ in range(3)]
    for child in children:
        child.start()
    wait_until(lambda: len(set(beats(list(receiver.spans)))) == 3)
    threads = [thread for thread in threading.enumerate() if thread.name == heartbeat.THREAD_NAME]
    assert len(set(threads) - before) == 1
    for child in children:
        child.finish()
    headcount.flush()
    last = [max(i for i, span in enumerate(receiver.spans) if span.event == "child_done")]
    assert beats(receiver.spans[last[0] + 1 :]) == []


def test_the_keep_alive_is_announced_where_it_holds(receiver: Receiver) -> None:
    headcount.configure(receiver.endpoint, heartbeat_s=0.02)
    with headcount.child(headcount.dispatch("reviewer")):
        wait_until(lambda: bool(beats(list(receiver.spans))))
    headcount.shutdown()
    announced = {
        str(span.event): span.attributes.get("subagent.producer.keepalive_ms") for span in receiver.spans
    }
    assert (announced["dispatch"], announced["start"], announced["heartbeat"]) == (None, 20, 20)


def test_zero_switches_it_off(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADCOUNT_HEARTBEAT", "0")
    headcount.configure(receiver.endpoint)
    before = {thread.ident for thread in threading.enumerate() if thread.name == heartbeat.THREAD_NAME}
    with headcount.child(headcount.dispatch("reviewer")):
        after = {thread.ident for thread in threading.enumerate() if thread.name == heartbeat.THREAD_NAME}
    headcount.shutdown()
    assert before == after
    assert all("subagent.producer.keepalive_ms" not in span.attributes for span in receiver.spans)


def test_an_abandoned_child_falls_silent(receiver: Receiver) -> None:
    headcount.configure(receiver.endpoint, heartbeat_s=0.02, linger_s=0.0)
    kept, dropped = (headcount.child(headcount.dispatch("reviewer"), child_session=name) for name in "ab")
    kept.start()
    dropped.start()
    abandoned, alive = dropped.run.id, kept.run.id
    wait_until(lambda: abandoned in beats(list(receiver.spans)))
    del dropped
    gc.collect()
    headcount.flush()
    before = len(receiver.spans)
    wait_until(lambda: beats(list(receiver.spans)[before:]).count(alive) > 5)
    assert abandoned not in beats(list(receiver.spans)[before:])
    kept.finish()
    headcount.shutdown()
