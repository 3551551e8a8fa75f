"""Keeps lifecycle spans on disk from `put` to export, so that what a killed process had not sent is sent by the next one.

Two journals take turns: one is written while what stands in the other is exported, then the other is emptied. What the
queue has no room for goes to a third file. The lock on a file says that its process lives; whoever finds one without
sends it. A record is one `write`, which survives the process in the page cache; nothing is synced, so a machine that
loses power may lose the last seconds. A span may be sent twice: it keeps its id and number, by which it counts once.
"""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from typing import Final

from opentelemetry.sdk.trace import ReadableSpan

from headcount import spooled
from headcount.guard import complain

try:
    import fcntl
except ImportError:  # Windows: no spool there
    fcntl = None  # type: ignore[assignment,unused-ignore]  # stands for "not on this system"

SUFFIX: Final = ".spool"


class Journal:
    """One locked file that is appended to. The descriptor closes with the last reference, never under a writer."""

    __slots__ = ("_descriptor", "path", "size")

    def __init__(self, path: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
        self._descriptor = os.open(path, flags, 0o600)
        self.path = path
        self.size = 0
        lock(self._descriptor)

    def append(self, record: bytes) -> None:
        self.size += len(record)
        os.write(self._descriptor, record)

    def empty(self) -> None:
        os.ftruncate(self._descriptor, 0)
        self.size = 0

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError, OSError):
            os.close(self._descriptor)


class Spool:
    """The spool of one process in a folder that processes with the same destination share.

    `keep` and `overflow` may be called from any thread; the rest is the export worker's.
    """

    def __init__(self, folder: Path, *, limit_bytes: int) -> None:
        self.folder = folder
        self._limit_bytes = limit_bytes
        self.after_fork()

    def after_fork(self) -> None:
        """Begin with files of one's own; the inherited ones are the parent's."""
        self.usable = True
        self._stem = f"{os.getpid()}-{os.urandom(6).hex()}"
        self._opening = threading.RLock()
        self._busy = False
        self._journals: tuple[Journal, Journal] | None = None
        self._active = 0
        self._overflow: Journal | None = None
        self._overflows = 0

    def keep(self, span: ReadableSpan) -> bool:
        """Write a span that waits in memory too; return whether the disk has it."""
        try:
            journals = self._journals or self._open()
            if journals is None:
                return False
            journals[self._active].append(spooled.encode(span))
        except (OSError, ValueError) as error:
            self._fail(error)
            return False
        return True

    def overflow(self, span: ReadableSpan) -> bool:
        """Write a span that memory has no room for; return whether the disk had."""
        try:
            if not self.usable or self._open() is None:
                return False
            record = spooled.encode(span)
            journal = self._overflow or self._open_overflow()
            if journal.size + len(record) > self._limit_bytes:
                return False
            journal.append(record)
        except (OSError, ValueError) as error:
            self._fail(error)
            return False
        return True

    def drained(self) -> None:
        """Take note that all that was put so far is exported: empty the journal that is not written now, and swap."""
        journals = self._journals
        if journals is None:
            return
        resting = journals[1 - self._active]
        with contextlib.suppress(OSError):
            if resting.size:
                resting.empty()
        if journals[self._active].size:
            self._active = 1 - self._active

    def release_overflow(self) -> bool:
        """Leave the file of spans that memory had no room for to whoever sends what was left behind, as we do."""
        overflow, self._overflow = self._overflow, None
        return overflow is not None

    def close(self, *, complete: bool) -> None:
        """Give the files up: remove them if all of it went, else leave them to the next process."""
        self.usable = False
        journals, self._journals = self._journals, None
        if complete:
            for journal in journals or ():
                journal.path.unlink(missing_ok=True)
        self._overflow = None

    def _open(self) -> tuple[Journal, Journal] | None:
        with self._opening:
            # The second question is a signal handler's that comes in between.
            if self._journals is None and self.usable and not self._busy:
                self._busy = True
                try:
                    _prepare(self.folder)
                    self._journals = (self._journal("a"), self._journal("b"))
                finally:
                    self._busy = False
            return self._journals

    def _journal(self, name: str) -> Journal:
        return Journal(self.folder / f"{self._stem}-{name}{SUFFIX}")

    def _open_overflow(self) -> Journal:
        with self._opening:
            if self._overflow is None:
                self._overflows += 1
                overflow = self._journal(f"over{self._overflows}")
                # What others left counts too: the bound is the folder's.
                overflow.size = sum(path.stat().st_size for path in self.folder.glob(f"*{SUFFIX}"))
                self._overflow = overflow
            return self._overflow

    def _fail(self, error: Exception) -> None:
        self.usable = False
        complain(f"spool: {type(error).__name__}", "headcount: nothing is kept on disk: %s", error)


def lock(descriptor: int) -> bool:
    """Take the lock of a file until it is closed; return whether nobody else holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _prepare(folder: Path) -> None:
    """Make the folder, for its owner alone; raise where somebody else could write into it."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = folder.stat()
    if found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise PermissionError(f"{folder} is open to others; make it yours alone: chmod 700 {folder}")


def spool_at(folder: Path | None, *, limit_bytes: int) -> Spool | None:
    """Return the spool of a folder; None where there is none to be had."""
    if folder is None:
        return None
    if fcntl is None:
        complain(
            "no file locks",
            "headcount: this system has no file locks (Windows): what is not sent when the process ends is lost; "
            "call headcount.flush() before it ends, or HEADCOUNT_SPOOL=off to say that you know",
        )
        return None
    return Spool(folder, limit_bytes=limit_bytes)
