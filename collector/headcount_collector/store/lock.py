"""One process a data folder: the lock that says who has it, before the engine fails without words."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from headcount_collector.store.errors import StoreLocked

try:
    import fcntl
except ImportError:  # Windows has no flock; the engine itself does not run there
    fcntl = None  # type: ignore[assignment]  # the module is absent, which every use checks


class FolderLock:
    """Hold `folder` until closed or until the process dies, however it dies."""

    def __init__(self, folder: Path) -> None:
        """Take the lock. Raises StoreLocked naming the process that has it, and its port if it told one."""
        self._path = folder / "headcount.lock"
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if fcntl is not None:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                holder = _read(self._descriptor)
                os.close(self._descriptor)
                raise StoreLocked(_who(folder, holder)) from None
        self.tell()

    def tell(self, port: int | None = None) -> None:
        """Write this process (and the port it serves on) into the lock file, for whoever finds it taken."""
        holder = json.dumps({"pid": os.getpid(), "port": port}).encode()
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, holder, 0)

    def close(self) -> None:
        """Give the folder back. The file stays: removing it would race with the next holder."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _read(descriptor: int) -> dict[str, int | None]:
    try:
        holder = json.loads(os.pread(descriptor, 4096, 0))
    except ValueError:
        return {}
    return holder if isinstance(holder, dict) else {}


def _who(folder: Path, holder: dict[str, int | None]) -> str:
    process = f"process {holder['pid']}" if holder.get("pid") else "another process"
    if port := holder.get("port"):
        return (
            f"the data folder {folder} is in use by {process}, which serves on port {port}: "
            f"use it there (--url http://127.0.0.1:{port}), stop it, or give another folder with --data"
        )
    return f"the data folder {folder} is in use by {process}: stop it, or give another folder with --data"
