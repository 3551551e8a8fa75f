"""The keep-alive of open children: one thread a process says for each of them that the process lives, and nothing more."""

from __future__ import annotations

import threading
import time
import weakref
from typing import TYPE_CHECKING, Final

from headcount.guard import complain, guarded, nothing

if TYPE_CHECKING:
    from headcount.child import Child

THREAD_NAME: Final = "headcount-heartbeat"


class Heartbeat:
    """The open children of this process and the thread that speaks for them. No lock is waited for, as in the outbox."""

    def __init__(self) -> None:
        self.after_fork()

    def after_fork(self) -> None:
        """Begin with none: the children that were open before the fork are the parent's."""
        self._open: dict[int, weakref.ref[Child]] = {}
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    @guarded(nothing)
    def begin(self, child: Child, interval_s: float) -> None:
        """Speak for a child from now on, as often as told; one that is abandoned falls silent by itself."""
        if interval_s <= 0:
            return
        key, spoken_for = id(child), self._open
        spoken_for[key] = weakref.ref(child, lambda gone: spoken_for.pop(key, None))
        if self._thread is None:
            self._start(interval_s)

    @guarded(nothing)
    def end(self, child: Child) -> None:
        """Speak for it no more."""
        self._open.pop(id(child), None)

    def _start(self, interval_s: float) -> None:
        if not self._starting.acquire(blocking=False):
            return
        try:
            if self._thread is None:
                thread = threading.Thread(
                    target=self._speak, args=(interval_s,), name=THREAD_NAME, daemon=True
                )
                thread.start()
                self._thread = thread
        except RuntimeError as error:
            complain("no heartbeat", "headcount: the heartbeat thread cannot be started: %s", error)
        finally:
            self._starting.release()

    def _speak(self, interval_s: float) -> None:
        while True:
            time.sleep(interval_s)
            for reference in list(self._open.values()):
                _beat(reference())


def _beat(child: Child | None) -> None:
    # A function of its own, so that the sleeping thread holds no reference to the last one.
    if child is not None:
        child.heartbeat()


heartbeat = Heartbeat()
"""The one of this process."""
