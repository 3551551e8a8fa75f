"""Reads what processes that are no more left in the spool, one batch at a time, and removes what was sent."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from opentelemetry.sdk.trace import ReadableSpan

from headcount import spooled
from headcount.spool import SUFFIX, lock

OLDEST_S: Final = 7 * 86_400
"""Files that nobody sent for so long are removed: their runs are judged by now."""


def batches_left(folder: Path, size: int) -> Iterator[list[ReadableSpan]]:
    """Yield the spans of every file without a living writer; a file goes once all of its batches were asked for.

    Whoever does not ask for the next batch, because this one did not go, leaves the file as it is.
    """
    for path in _by_age(folder):
        with _adopted(path) as descriptor:
            if descriptor is None:
                continue
            if os.fstat(descriptor).st_mtime >= time.time() - OLDEST_S:
                with os.fdopen(descriptor, "rb", closefd=False) as file:
                    spans = spooled.decode(file.read())
                while batch := list(islice(spans, size)):
                    yield batch
            path.unlink(missing_ok=True)


def _by_age(folder: Path) -> list[Path]:
    found = []
    for path in folder.glob(f"*{SUFFIX}"):
        with contextlib.suppress(OSError):
            found.append((path.stat().st_mtime_ns, path))
    return [path for _, path in sorted(found)]


@contextlib.contextmanager
def _adopted(path: Path) -> Iterator[int | None]:
    """Hold the lock of a regular file of this user; None where its process lives, or it is none of ours."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        yield None
        return
    try:
        found = os.fstat(descriptor)
        ours = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and lock(descriptor)
        # Another process may have sent and removed it in between.
        yield descriptor if ours and os.fstat(descriptor).st_nlink else None
    finally:
        os.close(descriptor)
