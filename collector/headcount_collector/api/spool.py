"""Evidence from hooks on its way into the store: on disk before the agent is answered, committed behind its back."""

from __future__ import annotations

import itertools
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

from headcount_collector.receive.errors import Malformed

log = logging.getLogger(__name__)

Submit = Callable[[bytes], "Future[int]"]
"""Takes a serialized ExportTraceServiceRequest; the future is done when it is in the store. Raises Refused or Busy,
as does the future: Malformed for what can never be stored, anything else for what may be later."""
_RETRY_S = 1.0
_TOGETHER = 256
"""So many messages are offered to the store at once."""


class Spool:
    """A folder of messages that were acknowledged and are not yet in the store; one file each, removed after its commit.

    A process that dies leaves its files, and the next one commits them: writing twice does no harm, since the
    identity of an event follows from what it says. `put` may be called from any thread.
    """

    def __init__(self, folder: Path, submit: Submit, *, most: int = 10_000) -> None:
        self._folder = folder
        self._submit = submit
        self._most = most
        self._waiting: deque[Path] = deque()
        self._number = itertools.count()
        self._news = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="headcount-spool", daemon=True)
        self.committed = 0
        self.dropped = 0
        self.refused = 0
        self.failure: str | None = None

    def start(self) -> None:
        """Take up what an earlier process left, and begin to commit."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for torn in self._folder.glob("*.part"):
            torn.unlink()
        self._waiting.extend(sorted(self._folder.glob("*.pb")))
        self._thread.start()

    def put(self, message: bytes) -> bool:
        """Keep a message; False (and counted) where too many wait or the disk refuses."""
        name = f"{time.time_ns():020d}-{next(self._number):06d}"
        part, path = self._folder / f"{name}.part", self._folder / f"{name}.pb"
        if len(self._waiting) >= self._most:
            self._drop(f"{self._most} messages wait already")
            return False
        try:
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(message)
            part.rename(path)
        except OSError as error:
            self._drop(str(error))
            return False
        with self._news:
            self._waiting.append(path)
            self._news.notify()
        return True

    def close(self) -> None:
        """Commit what waits and stop; where the store fails, it stays on disk for the next process."""
        with self._news:
            self._closing = True
            self._news.notify()
        if self._thread.is_alive():
            self._thread.join(timeout=30)

    @property
    def waiting(self) -> int:
        """How many messages are acknowledged and not yet in the store."""
        return len(self._waiting)

    def _drop(self, why: str) -> None:
        with self._news:
            self.dropped += 1
        log.error("evidence of a hook was dropped: %s", why)

    def _run(self) -> None:
        while paths := self._next():
            if not self._all_committed(paths):
                with self._news:
                    self._news.wait_for(lambda: self._closing, timeout=_RETRY_S)

    def _next(self) -> list[Path]:
        with self._news:
            self._news.wait_for(lambda: self._closing or self._waiting)
            if self._closing and self.failure is not None:
                return []
            return list(itertools.islice(self._waiting, _TOGETHER))

    def _all_committed(self, paths: list[Path]) -> bool:
        """Commit files together, from the oldest on; the first that does not get in stays, with all after it."""
        try:
            for path, done in [(path, self._submit(path.read_bytes())) for path in paths]:
                try:
                    done.result()
                    self.committed += 1
                except Malformed as error:
                    self._refuse(error)
                path.unlink(missing_ok=True)
                self._waiting.popleft()
        except Exception as error:  # noqa: BLE001  # what was acknowledged is tried until it is in
            self.failure = f"{type(error).__name__}: {error}"
            log.warning("hooks wait for the store: %s", self.failure)
            return False
        self.failure = None
        return True

    def _refuse(self, error: Malformed) -> None:
        self.refused += 1
        log.error("evidence of a hook was refused by the store: %s", error)
