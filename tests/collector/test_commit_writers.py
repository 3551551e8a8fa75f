"""Two writers at once, against a store that lets each body go when the test says so."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import pytest

from headcount_collector.receive import Counters, GroupCommitter
from headcount_collector.receive.errors import StoreFailed
from headcount_collector.store import StoreError

_APART = 4
"""Bytes for which a second writer begins here."""


class GatedStore:
    """Each group waits for the gate of its first body, and fails if it is told to."""

    def __init__(self) -> None:
        self.groups: list[list[bytes]] = []
        self.entered = threading.Semaphore(0)
        self.failing: set[bytes] = set()
        self._gates: dict[bytes, threading.Event] = {}
        self._lock = threading.Lock()

    def gate(self, body: bytes) -> threading.Event:
        with self._lock:
            return self._gates.setdefault(body, threading.Event())

    def commit(self, bodies: Sequence[bytes], received_ns: int) -> None:
        with self._lock:
            self.groups.append(list(bodies))
        self.entered.release()
        assert self.gate(bodies[0]).wait(30)
        if bodies[0] in self.failing:
            raise StoreError("disk full", code=243)


@contextmanager
def writing(store: GatedStore, **settings: Any) -> Iterator[GroupCommitter]:
    options: dict[str, Any] = {"writers": 2, "apart_bytes": _APART, "linger_s": 0.0, **settings}
    committer = GroupCommitter(store, Counters(), **options)
    try:
        yield committer
    finally:
        for group in store.groups:
            store.gate(group[0]).set()
        committer.close()


def entered(store: GatedStore) -> None:
    assert store.entered.acquire(timeout=30)


def under_way(committer: GroupCommitter, store: GatedStore, body: bytes) -> Future[int]:
    """Submit `body` and return when the store is writing it."""
    done = committer.submit(body, 1)
    entered(store)
    return done


def test_what_is_worth_an_insert_of_its_own_does_not_wait_for_the_one_under_way() -> None:
    store = GatedStore()
    with writing(store) as committer:
        first, second = (under_way(committer, store, body) for body in (b"first", b"second"))
        store.gate(b"second").set()
        second.result(30)
        assert not first.done()


def test_what_is_small_waits_for_the_insert_under_way_and_goes_together() -> None:
    store = GatedStore()
    with writing(store) as committer:
        under_way(committer, store, b"first")
        small = [committer.submit(body, 1) for body in (b"a", b"b", b"c")]
        store.gate(b"a").set()
        store.gate(b"first").set()
        for done in small:
            done.result(30)
    assert store.groups == [[b"first"], [b"a", b"b", b"c"]]


def test_of_much_that_waits_a_writer_leaves_its_half_to_the_other() -> None:
    store = GatedStore()
    with writing(store, apart_bytes=8) as committer:
        for body in (b"first---", b"second--"):
            under_way(committer, store, body)
        for letter in b"abcdef":
            committer.submit(bytes([letter]) * 4, 1)
        store.gate(b"first---").set()
        entered(store)
        store.gate(b"second--").set()
        entered(store)
    assert store.groups[2:] == [[b"aaaa", b"bbbb", b"cccc", b"dddd"], [b"eeee", b"ffff"]]


def test_the_listener_is_told_only_of_moments_before_which_nothing_is_under_way() -> None:
    store = GatedStore()
    told: list[int] = []
    readings = iter([100, 200])
    with writing(store, on_commit=told.append, clock_ns=lambda: next(readings)) as committer:
        early, late = (under_way(committer, store, body) for body in (b"early", b"later"))
        store.gate(b"later").set()
        assert late.result(30) == 200
        store.gate(b"early").set()
        assert early.result(30) == 100
    assert told == [99, 200]


@pytest.mark.parametrize("failing", [b"early", b"later"])
def test_a_failed_insert_holds_the_listener_back_no_longer_than_it_runs(failing: bytes) -> None:
    store = GatedStore()
    store.failing = {failing}
    told: list[int] = []
    readings = iter([100, 200])
    with writing(store, on_commit=told.append, clock_ns=lambda: next(readings)) as committer:
        early, late = (under_way(committer, store, body) for body in (b"early", b"later"))
        for body, done in ((b"later", late), (b"early", early)):
            store.gate(body).set()
            if body == failing:
                with pytest.raises(StoreFailed):
                    done.result(30)
            else:
                done.result(30)
    assert told[-1] == 200
    assert max(told[:-1]) < 100


def test_closing_waits_for_both() -> None:
    store = GatedStore()
    committer = GroupCommitter(store, Counters(), writers=2, apart_bytes=_APART)
    running = [under_way(committer, store, body) for body in (b"first", b"second")]
    waiting = committer.submit(b"x", 1)
    closing = threading.Thread(target=committer.close)
    closing.start()
    for body in (b"second", b"first", b"x"):
        store.gate(body).set()
    closing.join(30)
    assert all(done.done() for done in (*running, waiting))
    assert (committer.queued_requests, committer.queued_bytes) == (0, 0)
