"""Group commit: requests that arrive while an insert runs share the next one, and are answered when it is done."""

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
    """One thread that writes, a bounded queue before it that is fair between senders.

    After an insert it waits until as many requests are there as were answered and queued when it ended, so that the
    senders that were just answered come back into one group and do not split into two alternating halves. It waits
    no longer than `linger_s`, and only while they come: not once `gap_s` passed without one. A request that finds the
    committer idle does not wait.
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
        linger_s: float = 0.08,
        gap_s: float = 0.01,
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._store = store
        self._counters = counters
        self._on_commit = on_commit
        self._signal = signal
        self._group_bytes = group_bytes
        self._linger_s = linger_s
        self._gap_s = gap_s
        self._clock_ns = clock_ns
        self._queue: FairQueue[_Waiting] = FairQueue(queue_bytes, queue_requests)
        self._received_ns = 0
        self._closing = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="headcount-commit", daemon=True)
        self._thread.start()

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
        self._thread.join()

    def _run(self) -> None:
        expected, until_s = 0, 0.0
        while group := self._next_group(expected, until_s):
            try:
                self._commit(group)
            except Exception as error:  # the thread must outlive whatever a store or a callback does
                log.exception("commit failed in an unforeseen way")
                _fail(group, StoreFailed(f"the store failed: {error}"))
            expected, until_s = len(group) + len(self._queue), time.monotonic() + self._linger_s
            self._release(group)

    def _next_group(self, expected: int, until_s: float) -> list[_Waiting]:
        with self._changed:
            while not self._queue:
                if self._closing:
                    return []
                self._changed.wait()
            while len(self._queue) < expected and not self._closing:
                rest_s = min(self._gap_s, until_s - time.monotonic())
                if rest_s <= 0 or not self._changed.wait(rest_s):
                    break
            group = self._queue.take(self._group_bytes)
            for waiting in group:
                waiting.done.set_running_or_notify_cancel()  # from here on a sender that hangs up changes nothing
            return group

    def _release(self, group: list[_Waiting]) -> None:
        with self._changed:
            self._queue.release(group)

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
        self._received_ns = max(self._clock_ns(), self._received_ns + 1)
        began_s = time.monotonic()
        self._store.commit([waiting.body for waiting in group], self._received_ns)
        took_s = time.monotonic() - began_s
        self._counters.committed(
            self._signal, sum(waiting.spans for waiting in group), self._received_ns, took_s
        )
        for waiting in group:
            if not waiting.done.done():
                waiting.done.set_result(self._received_ns)
        try:
            self._on_commit(self._received_ns)
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
