"""A store that blocks and fails on command, for the committer's tests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence


class RecordingStore:
    """Takes what it is given, once `gate` is open; fails as `failure` says."""

    def __init__(self, failure: Callable[[Sequence[bytes]], Exception | None] = lambda bodies: None) -> None:
        self.groups: list[list[bytes]] = []
        self.received: list[int] = []
        self.entered = threading.Semaphore(0)
        self.gate = threading.Event()
        self._failure = failure

    def commit(self, bodies: Sequence[bytes], received_ns: int) -> None:
        """Wait for the gate, then record or fail."""
        self.entered.release()
        assert self.gate.wait(30)
        if error := self._failure(bodies):
            raise error
        self.groups.append(list(bodies))
        self.received.append(received_ns)

    def insert(self, table: str, rows: Sequence[Sequence[object]], columns: Sequence[str]) -> None:
        """Log records are no matter of these tests."""
        raise AssertionError(f"nothing is inserted into {table}")
