"""Group commit, against stores that block and fail on command."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import pytest

from headcount_collector.receive import Busy, Counters, GroupCommitter, Malformed
from headcount_collector.receive.errors import StoreFailed
from headcount_collector.store import StoreError
from tests.collector.recording_store import RecordingStore

_DATA, _DISK_FULL = 117, 243


@contextmanager
def committing(store: RecordingStore, **settings: Any) -> Iterator[GroupCommitter]:
    committer = GroupCommitter(store, settings.pop("counters", Counters()), **settings)
    try:
        yield committer
    finally:
        store.gate.set()
        committer.close()


def hold(committer: GroupCommitter, store: RecordingStore, body: bytes = b"first") -> Future[int]:
    """Submit `body` and return when the store is writing it."""
    done = committer.submit(body, 1)
    assert store.entered.acquire(timeout=30)
    return done


def test_requests_that_arrive_during_a_commit_share_the_next_one() -> None:
    store = RecordingStore()
    with committing(store) as committer:
        first = hold(committer, store)
        rest = [committer.submit(body, 1) for body in (b"a", b"b", b"c")]
        assert not first.done()
        store.gate.set()
        assert {done.result(30) for done in rest} == {store.received[-1]}
    assert store.groups == [[b"first"], [b"a", b"b", b"c"]]


def test_a_group_is_bounded_and_takes_one_body_at_least() -> None:
    store = RecordingStore()
    with committing(store, group_bytes=4) as committer:
        hold(committer, store)
        for body in (b"aa", b"bb", b"c", b"too long"):
            committer.submit(body, 1)
        store.gate.set()
    assert store.groups == [[b"first"], [b"aa", b"bb"], [b"c"], [b"too long"]]


@pytest.mark.parametrize("bound", [{"queue_requests": 2}, {"queue_bytes": 10}])
def test_a_full_queue_refuses_with_503(bound: dict[str, int]) -> None:
    store = RecordingStore()
    with committing(store, **bound) as committer:
        hold(committer, store)
        waiting = committer.submit(b"fits", 1)
        with pytest.raises(Busy) as refused:
            committer.submit(b"too much", 1)
        assert (refused.value.status, refused.value.retry_after_s) == (503, 1)
        store.gate.set()
        waiting.result(30)


def test_a_body_that_alone_is_above_the_bound_is_taken() -> None:
    store = RecordingStore()
    store.gate.set()
    with committing(store, queue_bytes=3) as committer:
        committer.submit(b"longer than that", 1).result(30)


def test_a_body_the_store_cannot_read_is_refused_alone() -> None:
    store = RecordingStore(
        lambda bodies: StoreError("cannot parse", code=_DATA) if b"poison" in bodies else None
    )
    counters = Counters()
    with committing(store, counters=counters) as committer:
        hold(committer, store)
        before, poison, after = (committer.submit(body, 1) for body in (b"before", b"poison", b"after"))
        store.gate.set()
        with pytest.raises(Malformed, match="cannot parse"):
            poison.result(30)
        assert before.result(30) < after.result(30)
    assert store.groups == [[b"first"], [b"before"], [b"after"]]
    assert (counters.accepted_spans, counters.failed_commits) == (3, 2)


@pytest.mark.parametrize("error", [StoreError("disk full", code=_DISK_FULL), RuntimeError("unforeseen")])
def test_a_failing_store_refuses_the_group_for_a_later_try(error: Exception) -> None:
    store = RecordingStore(lambda bodies: error if b"b" in bodies else None)
    with committing(store) as committer:
        hold(committer, store)
        failed = [committer.submit(body, 1) for body in (b"a", b"b")]
        store.gate.set()
        for done in failed:
            with pytest.raises(StoreFailed) as refused:
                done.result(30)
            assert (refused.value.status, refused.value.retry_after_s) == (503, 1)
        committer.submit(b"again", 1).result(30)


def test_the_receivers_time_increases_though_the_clock_stands_or_is_kept_right() -> None:
    readings = iter([100, 100, 50, 200])
    told: list[int] = []
    store = RecordingStore()
    store.gate.set()
    with committing(store, clock_ns=lambda: next(readings), on_commit=told.append) as committer:
        assert [committer.submit(b"x", 1).result(30) for _ in range(4)] == [100, 101, 102, 200]
    assert told == [100, 101, 102, 200]


def test_the_receivers_time_follows_a_clock_that_is_set_back_once_nothing_of_before_can_come() -> None:
    hour = 3600 * 10**9
    readings = iter([hour, 5, 6, 7, 7, hour, 9])
    steady = iter([0.0, 0.0, 14.0, 16.0, 100.0, 100.0])
    told: list[int] = []
    store = RecordingStore()
    store.gate.set()
    with committing(
        store, clock_ns=lambda: next(readings), steady_s=lambda: next(steady), on_commit=told.append
    ) as committer:
        found = [committer.submit(b"x", 1).result(30) for _ in range(7)]
    assert found == [hour, hour + 1, hour + 2, 7, 8, hour, hour + 1]
    assert told == found


def test_a_listener_that_fails_stops_nothing() -> None:
    def fail(received_ns: int) -> None:
        raise RuntimeError("listener")

    store = RecordingStore()
    store.gate.set()
    with committing(store, on_commit=fail) as committer:
        committer.submit(b"a", 1).result(30)
        committer.submit(b"b", 1).result(30)


def test_a_sender_that_hangs_up_harms_nobody() -> None:
    store = RecordingStore()
    with committing(store) as committer:
        hold(committer, store)
        gone, stays = committer.submit(b"gone", 1), committer.submit(b"stays", 1)
        gone.cancel()
        store.gate.set()
        stays.result(30)


def test_closing_commits_what_waits_and_takes_no_more() -> None:
    store = RecordingStore()
    committer = GroupCommitter(store, Counters())
    hold(committer, store)
    waiting = committer.submit(b"waiting", 1)
    closing = threading.Thread(target=committer.close)
    closing.start()
    store.gate.set()
    closing.join()
    assert waiting.done()
    assert store.groups == [[b"first"], [b"waiting"]]
    with pytest.raises(Busy):
        committer.submit(b"late", 1)
    assert (committer.queued_requests, committer.queued_bytes) == (0, 0)
