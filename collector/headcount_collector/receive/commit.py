"""Group commit: requests that arrive while inserts run share the next one, and are answered when it is done."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol

from headcount_collector.receive.counters import Counters
from headcount_collector.receive.errors import Closing, Malformed, QueueFull, Refused, StoreFailed
from headcount_collector.receive.queue import FairQueue
from headcount_collector.store.errors import StoreError

log = logging.getLogger(__name__)

_SET_BACK_AFTER = 1_000_000_000
"""Nanoseconds; a clock that is less behind the last commit's time is only being kept right."""
_FORMER_TIME_S = 15.0
"""So long commits go on with the time of before a step back."""


class Commits(Protocol):
    """What the committer needs of a store."""

    def commit(self, bodies: Sequence[bytes], received_ns: int) -> None:
        """Write the bodies in one insert; raises StoreError."""


@dataclass(slots=True)
class _Waiting:
    body: bytes
    spans: int
    sender: str
    done: Future[int] = field(default_factory=Future)

    @property
    def size(self) -> int:
        return len(self.body)


class GroupCommitter:
    """Threads that write, a bounded queue before them that is fair between senders.

    After an insert a writer waits until as many requests are there as were answered and queued when it ended, so that
    the senders that were just answered come back into one group and do not split into alternating halves. It waits no
    longer than `linger_s`, and only while they come: not once `gap_s` passed without one. A request that finds nobody
    at work does not wait. Beside one that writes, another begins only with `apart_bytes` or more, and shares evenly
    with it: an insert has a price of its own, which small groups would pay twice.
    """

    def __init__(
        self,
        store: Commits,
        counters: Counters,
        on_commit: Callable[[int], None] = lambda received_ns: None,
        *,
        signal: str = "spans",
        queue_bytes: int = 128 * 1024 * 1024,
        queue_requests: int = 1024,
        group_bytes: int = 32 * 1024 * 1024,
        writers: int = 1,
        apart_bytes: int = 2 * 1024 * 1024,
        linger_s: float = 0.08,
        gap_s: float = 0.01,
        clock_ns: Callable[[], int] = time.time_ns,
        steady_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._counters = counters
        self._on_commit = on_commit
        self._signal = signal
        self._group_bytes = max(1, group_bytes // writers)
        self._apart_bytes = apart_bytes
        self._linger_s = linger_s
        self._gap_s = gap_s
        self._clock_ns = clock_ns
        self._steady_s = steady_s
        self._set_back_at_s: float | None = None
        self._queue: FairQueue[_Waiting] = FairQueue(queue_bytes, queue_requests)
        self._at_work = 0
        self._expected, self._until_s = 0, 0.0
        self._received_ns = 0
        self._under_way: set[int] = set()
        self._closing = False
        self._changed = threading.Condition()
        self._next = threading.Lock()  # held by the one writer that looks for a group
        self._telling = threading.Lock()
        self._threads = [
            threading.Thread(target=self._run, name=f"headcount-commit-{number}", daemon=True)
            for number in range(writers)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def queued_requests(self) -> int:
        """Requests that wait for a commit or are in one."""
        return self._queue.items

    @property
    def queued_bytes(self) -> int:
        """Their bytes."""
        return self._queue.bytes

    @property
    def senders(self) -> int:
        """How many senders they are of."""
        return self._queue.senders

    def submit(self, body: bytes, spans: int, sender: str = "") -> Future[int]:
        """Queue a message of `spans` spans; the result is the receiver's time under which it was committed.

        The future fails with Malformed if the store refused the data, with StoreFailed if it failed itself. Raises
        QueueFull at once if there is no room, or none for this `sender`; Closing once closed. A message alone
        always fits.
        """
        waiting = _Waiting(body, spans, sender)
        with self._changed:
            if self._closing:
                raise Closing("the receiver is shutting down: try again")
            if why := self._queue.full(waiting):
                raise QueueFull(f"{why}: try again")
            self._queue.put(waiting)
            self._changed.notify()
        return waiting.done

    def close(self) -> None:
        """Take no more, commit what waits, and return when the last sender has its answer."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while group := self._next_group():
            try:
                self._commit(group)
            except Exception as error:  # the thread must outlive whatever a store or a callback does
                log.exception("commit failed in an unforeseen way")
                _fail(group, StoreFailed(f"the store failed: {error}"))
            self._release(group)

    def _next_group(self) -> list[_Waiting]:
        with self._next, self._changed:
            while not self._worth_writing():
                if self._closing and not self._queue:
                    return []
                self._changed.wait()
            while len(self._queue) < self._expected and not self._closing:
                rest_s = min(self._gap_s, self._until_s - time.monotonic())
                if rest_s <= 0 or not self._changed.wait(rest_s):
                    break
            group = self._queue.take(self._share_bytes())
            self._at_work += 1
            self._expected = 0
            for waiting in group:
                waiting.done.set_running_or_notify_cancel()  # from here on a sender that hangs up changes nothing
            return group

    def _worth_writing(self) -> bool:
        return bool(self._queue) and (not self._at_work or self._queue.waiting_bytes >= self._apart_bytes)

    def _share_bytes(self) -> int:
        """Return how much one group may hold, so that those that are written at once are of one size."""
        here = self._queue.bytes
        if here < len(self._threads) * self._apart_bytes:
            return self._group_bytes
        return min(self._group_bytes, -(-here // len(self._threads)))

    def _release(self, group: list[_Waiting]) -> None:
        with self._changed:
            self._expected = max(self._expected, len(self._queue)) + len(group)
            self._until_s = time.monotonic() + self._linger_s
            self._at_work -= 1
            self._queue.release(group)
            self._changed.notify()

    def _commit(self, group: list[_Waiting]) -> None:
        try:
            self._write(group)
        except StoreError as error:
            self._counters.commit_failed()
            if len(group) == 1:
                _fail(group, _refusal(error))
            elif error.data_at_fault:
                self._commit_apart(group)
            else:
                _fail(group, _refusal(error))

    def _commit_apart(self, group: list[_Waiting]) -> None:
        """Commit one by one: a body that the store refuses must not harm its neighbours."""
        log.warning("the store refused a group of %d requests; writing them one by one", len(group))
        for waiting in group:
            try:
                self._write([waiting])
            except StoreError as error:
                self._counters.commit_failed()
                _fail([waiting], _refusal(error))

    def _write(self, group: list[_Waiting]) -> None:
        with self._changed:
            received_ns = self._received_ns = self._moment()
            self._under_way.add(received_ns)
        began_s = time.monotonic()
        try:
            self._store.commit([waiting.body for waiting in group], received_ns)
            took_s = time.monotonic() - began_s
            self._answer(group, received_ns, took_s)
        finally:
            self._tell(received_ns)

    def _moment(self) -> int:
        """Return the time of a new commit: later than the last one's, unless the clock was set back."""
        now = self._clock_ns()
        if now > self._received_ns:
            self._set_back_at_s = None
            return now
        if self._received_ns - now > _SET_BACK_AFTER:
            # For a while what comes was dated before the step: by the new time it would have come before it happened.
            if self._set_back_at_s is None:
                self._set_back_at_s = self._steady_s()
            if self._steady_s() - self._set_back_at_s > _FORMER_TIME_S:
                self._set_back_at_s = None
                while now in self._under_way:
                    now += 1
                return now
        return self._received_ns + 1

    def _answer(self, group: list[_Waiting], received_ns: int, took_s: float) -> None:
        self._counters.committed(self._signal, sum(waiting.spans for waiting in group), received_ns, took_s)
        for waiting in group:
            if not waiting.done.done():
                waiting.done.set_result(received_ns)

    def _tell(self, ended_ns: int) -> None:
        """Tell the listener up to which moment nothing is under way, now that the write of `ended_ns` ended."""
        with self._telling:
            with self._changed:
                self._under_way.remove(ended_ns)
                done_ns = min(self._under_way) - 1 if self._under_way else self._received_ns
            try:
                self._on_commit(done_ns)
            except Exception:  # who listens must not undo what is committed
                log.exception("a listener to commits failed")


def _refusal(error: StoreError) -> Refused:
    log.warning("%s", error)
    if error.data_at_fault:
        return Malformed(f"the store cannot read this request: {error}")
    return StoreFailed(f"the store did not take the request, try again: {error}")


def _fail(group: list[_Waiting], error: Refused) -> None:
    for waiting in group:
        if not waiting.done.done():
            waiting.done.set_exception(error)
