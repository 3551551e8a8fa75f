"""The last hop in the host: a bounded queue of lifecycle spans and the one thread that exports them.

`put` takes no lock of ours: `SimpleQueue.put` is reentrant, so that a signal handler or a finaliser that runs in the
middle of a `put` may call it again. With a spool, a span is on disk before `put` returns.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import Final

from opentelemetry import context
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from headcount.guard import complain, logger
from headcount.left_behind import batches_left
from headcount.spool import Spool

WORKER_NAME: Final = "headcount-export"
BATCH_SIZE: Final = 512
ROUTINE_SHARE: Final = 0.75
"""Share of the queue that output and heartbeats may fill; the rest is kept for what changes a verdict."""
FAILURES_BEFORE_SMALLER: Final = 3
FAILURES_BEFORE_SUSPICION: Final = 12
"""An outage fails as often, and trying the second span before the first costs the order."""
STRIKES: Final = 3
LOOK_ROUND_S: Final = 30.0
"""So often at most, after an export that went, files of dead processes are looked for."""
LAST_WORD_S: Final = 0.2
"""Time for the worker to count what it holds, once its exporter was stopped."""
UNREACHABLE: Final = "at the end the collector cannot be reached"


class Flush:
    """A mark in the queue: `done` is set once everything put before it was exported, or given up.

    The worker ends with the `last` one.
    """

    __slots__ = ("complete", "done", "last")

    def __init__(self, *, last: bool = False) -> None:
        self.done = threading.Event()
        self.complete = False
        self.last = last


class Outbox:
    """Hand lifecycle spans to an exporter, in order, at most `linger_s` after they were put.

    `connect` makes the exporter, in the worker thread and again after a fork: sockets are never shared, and what the
    exporter imports is never waited for by the host. What fails is kept and tried again while there is room.
    """

    def __init__(
        self,
        connect: Callable[[], SpanExporter],
        *,
        capacity: int,
        linger_s: float,
        first_retry_s: float = 0.25,
        longest_retry_s: float = 5.0,
        spool: Spool | None = None,
    ) -> None:
        self._connect = connect
        self._capacity = capacity
        self._linger_s = linger_s
        self._first_retry_s = first_retry_s
        self._longest_retry_s = longest_retry_s
        self._spool = spool
        self._begin()

    def after_fork(self) -> None:
        """Begin empty: what was queued belongs to the parent, whose worker still has it."""
        if self._spool is not None:
            self._spool.after_fork()
        self._begin()

    def _begin(self) -> None:
        self.sent = 0
        self.dropped = 0
        self.spooled = 0
        self._left: Iterator[list[ReadableSpan]] | None = None
        self._owing = False
        self._look_round_at = 0.0
        self._left_until = 0.0
        self._done = 0
        self._journal_done_at = 0
        """How many of what was queued must be done until all that the resting journal has is exported."""
        self._gave_up = False
        self._queue: SimpleQueue[ReadableSpan | Flush] = SimpleQueue()
        self._held: deque[ReadableSpan | Flush] = deque()
        self._awaited: deque[Flush] = deque()
        self._hurry = threading.Event()
        self._starting = threading.Lock()
        self._worker: threading.Thread | None = None
        self._exporter: SpanExporter | None = None
        self._exporter_shut = False
        self._last: Flush | None = None
        self._closing = False
        self._stopped = False
        self._failures = 0
        self._strikes = 0
        self._size = BATCH_SIZE

    def put(self, span: ReadableSpan, *, routine: bool = False) -> None:
        """Queue a span without blocking; one too many is dropped and counted, `routine` ones first."""
        room = self._capacity * ROUTINE_SHARE if routine else self._capacity
        if self._closing:
            self._lose(1, "headcount was shut down")
            return
        if self._queue.qsize() + len(self._held) >= room:
            if self._spool is not None and self._spool.overflow(span):
                self.spooled += 1
            else:
                self._lose(1, "the queue is full")
            return
        self._queue.put(span)
        # After it is queued: so a journal is never emptied of what is not counted as waiting.
        if self._spool is not None:
            self._spool.keep(span)
        if self._worker is None:
            self._start()

    @property
    def queued(self) -> int:
        """Spans that wait for export."""
        return self._queue.qsize() + len(self._held)

    def flush(self, timeout_s: float) -> bool:
        """Export what was put so far; return whether all of it went within the time."""
        if self._worker is None and not self.queued:
            return True
        mark = Flush()
        self._mark(mark)
        return mark.done.wait(timeout_s) and mark.complete

    def retire(self) -> None:
        """Take no more and end once what is there was exported, without waiting for it."""
        if self._closing:
            return
        self._closing = True
        if self._worker is not None or self.queued:
            self._last = Flush(last=True)
            self._mark(self._last)

    def close(self, timeout_s: float) -> bool:
        """Retire and wait for it at most `timeout_s`; return whether all of it went.

        In the time that remains what other processes left is sent too: a program that is short has no other.
        """
        self._left_until = time.monotonic() + timeout_s
        self.retire()
        last = self._last
        if last is None:
            return True
        if last.done.wait(timeout_s):
            return last.complete
        self._shut_exporter()
        if last.complete:
            return True
        if not last.done.wait(LAST_WORD_S):
            self._leave(self.queued)
        return False

    def _mark(self, mark: Flush) -> None:
        self._awaited.append(mark)
        self._queue.put(mark)
        self._hurry.set()
        if self._worker is None and not self._start() and mark.last:
            self._work()

    def _start(self) -> bool:
        """Start the worker; return False where the interpreter, shutting down, has no more threads to give."""
        # Not waiting for the lock: whoever holds it starts the thread, in another thread or further up this stack.
        if not self._starting.acquire(blocking=False):
            return True
        try:
            if self._worker is None:
                worker = threading.Thread(target=self._work, name=WORKER_NAME, daemon=True)
                worker.start()
                self._worker = worker
            return True
        except RuntimeError as error:
            complain("no thread", "headcount: the export worker cannot be started: %s", error)
            return False
        finally:
            self._starting.release()

    def _work(self) -> None:
        # The key has no public name; without it the host's HTTP instrumentation would trace our exports.
        key = getattr(context, "_SUPPRESS_INSTRUMENTATION_KEY", "suppress_instrumentation")
        token = context.attach(context.set_value(key, True))
        while not self._stopped:
            try:
                self._collect()
                self._export_held()
                self._turn_journals()
                self._send_left()
            except Exception as error:  # noqa: BLE001  # the thread must survive, or all later events are lost
                complain(
                    f"export: {type(error).__name__}", "headcount: the export worker failed", error=error
                )
                self._pause(self._longest_retry_s)
        self._shut_exporter()
        context.detach(token)

    def _shut_exporter(self) -> None:
        if self._exporter is not None and not self._exporter_shut:
            self._exporter_shut = True
            self._exporter.shutdown()

    def _collect(self) -> None:
        """Wait for something to export and let more gather; top up what is held."""
        if not self._held and not self._owing:
            self._held.append(self._queue.get())
            if not self._awaited:
                self._pause(self._linger_s)
        while len(self._held) < BATCH_SIZE:
            try:
                self._held.append(self._queue.get_nowait())
            except Empty:
                return

    def _export_held(self) -> None:
        while self._held:
            batch = self._head()
            if not batch:
                self._release(self._held.popleft(), complete=True)
            elif self._export(batch):
                self._discard_head(len(batch))
                self._recovered()
            elif self._closing:
                self._give_up()
            else:
                self._failed()
                return

    def _turn_journals(self) -> None:
        """Empty the resting journal once all of it is exported, and let the other one rest.

        Not only when nothing is queued: under steady load that moment does not come, and the file would only grow.
        """
        if self._gave_up:  # what waits no more did not go: it stays on disk
            return
        # Twice, so that both are empty where nothing waits.
        for _ in range(2):
            if self._spool is not None and self._done >= self._journal_done_at:
                self._spool.drained()
                self._journal_done_at = self._done + self.queued

    def _send_left(self) -> None:
        """Send one batch of what was left on disk, once everything that was taken from the queue went."""
        if self._spool is None or self._held or self._closing:
            return
        if self._left is None:
            overflowed = self._spool.release_overflow()
            if not overflowed and not self._owing and time.monotonic() < self._look_round_at:
                return
            self._look_round_at = time.monotonic() + LOOK_ROUND_S
            self._owing = True
            self._left = batches_left(self._spool.folder, BATCH_SIZE)
        batch = next(self._left, None)
        if batch is None:
            self._left, self._owing = None, False
        elif self._export(batch):
            self._recovered()
        else:
            self._left = None
            self._failed()

    def _send_last(self, spool: Spool) -> None:
        """Send what was left on disk while the end may still wait for it."""
        batches = batches_left(spool.folder, BATCH_SIZE)
        while time.monotonic() < self._left_until:
            batch = next(batches, None)
            if batch is None or not self._export(batch):
                return

    def _head(self) -> list[ReadableSpan]:
        """Return the next spans to export: up to the present size, none beyond a mark."""
        batch: list[ReadableSpan] = []
        for item in self._held:
            if isinstance(item, Flush) or len(batch) >= self._size:
                break
            batch.append(item)
        return batch

    def _discard_head(self, count: int) -> None:
        self._done += count
        for _ in range(count):
            self._held.popleft()

    def _release(self, mark: Flush | ReadableSpan, complete: bool) -> None:
        if isinstance(mark, Flush):
            self._done += 1
            self._awaited.remove(mark)
            self._stopped = self._stopped or mark.last
            mark.complete = complete
            self._turn_journals()
            if mark.last and self._spool is not None:
                self._spool.close(complete=complete)
                self._send_last(self._spool)
            mark.done.set()

    def _export(self, batch: list[ReadableSpan]) -> bool:
        try:
            if self._exporter is None:
                self._exporter = self._connect()
            sent = self._exporter.export(batch) is SpanExportResult.SUCCESS
        except Exception as error:  # noqa: BLE001  # exporters up to 1.40 raise when the connection fails
            logger.debug("headcount: export failed: %s", error)
            sent = False
        if sent:
            self.sent += len(batch)
        return sent

    def _recovered(self) -> None:
        if self._failures:
            logger.warning("headcount: lifecycle spans are exported again")
        self._failures = 0
        self._size = min(BATCH_SIZE, self._size * 2)

    def _failed(self) -> None:
        """Wait and make the next attempt smaller: one span that nobody takes must not hold up the others."""
        if not self._failures:
            logger.warning("headcount: lifecycle spans cannot be exported; they are kept and tried again")
        self._failures += 1
        if self._failures >= FAILURES_BEFORE_SMALLER:
            self._size = (min(self._size, len(self._held)) + 1) // 2
        if self._failures >= FAILURES_BEFORE_SUSPICION and self._size == 1:
            self._suspect_head()
        self._pause(min(self._longest_retry_s, self._first_retry_s * 2 ** min(self._failures - 1, 8)))

    def _suspect_head(self) -> None:
        """Give up the first span once others went three times where it did not."""
        second = self._held[1] if len(self._held) > 1 else None
        if not isinstance(second, ReadableSpan) or not self._export([second]):
            return
        del self._held[1]
        self._done += 1
        self._strikes += 1
        if self._strikes >= STRIKES:
            self._strikes = 0
            self._discard_head(1)
            self._lose(1, "the collector refuses one for good")

    def _give_up(self) -> None:
        """Count what cannot be exported at the end; with a spool it stays on disk for the next process."""
        self._gave_up = True
        spans = [item for item in self._held if isinstance(item, ReadableSpan)]
        marks = [item for item in self._held if isinstance(item, Flush)]
        self._held.clear()
        self._leave(len(spans))
        for mark in marks:
            self._release(mark, complete=False)

    def _pause(self, seconds: float) -> None:
        self._hurry.wait(seconds)
        if not self._closing:
            self._hurry.clear()

    def _leave(self, count: int) -> None:
        if self._spool is None or not self._spool.usable:
            self._lose(count, UNREACHABLE)
        elif count:
            self.spooled += count
            complain("spooled", "headcount: %d lifecycle spans stay on disk: %s", count, UNREACHABLE)

    def _lose(self, count: int, why: str) -> None:
        self.dropped += count
        complain(f"dropped: {why}", "headcount: %d lifecycle spans dropped: %s", count, why)
