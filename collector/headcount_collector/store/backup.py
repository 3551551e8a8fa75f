"""Backups of the embedded store: taken while it serves, restored into a folder that holds no store yet."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

from headcount_collector.store.client import Store
from headcount_collector.store.errors import StoreError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def back_up(store: Store, name: str | None = None) -> Path:
    """Write every table of the open store to `backups/NAME` in its data folder; by default NAME is the time.

    What is committed before is in it, whole; evidence may come and be judged meanwhile. Raises StoreError.
    """
    if store.folder is None:
        raise StoreError(
            "backup is for the embedded store in a folder: a ClickHouse server has BACKUP of its own"
        )
    name = name or time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    if not _NAME.fullmatch(name):
        raise StoreError(f"{name!r} is no name of a backup: take letters, digits and . _ -")
    target = store.folder.resolve() / "backups" / name
    if target.exists():
        raise StoreError(f"there is a backup {target} already: take another name")
    target.parent.mkdir(mode=0o700, exist_ok=True)
    store.command(f"BACKUP DATABASE `{store.database}` TO File('{_quoted(target)}')")
    return target


def restore(source: Path, folder: Path, database: str = "headcount") -> int:
    """Put a backup into a data folder without a store and return how many spans it holds.

    The folder gets the store that was backed up, of whatever schema; the next `serve` brings it up to date. Raises
    StoreError.
    """
    if not (source / ".backup").is_file():
        raise StoreError(f"{source} is no backup: give the folder that `headcount backup` named")
    if (folder / "engine").exists():
        raise StoreError(
            f"{folder} holds a store already: restore into another folder (--data), then serve from it"
        )
    copied = folder / "backups" / source.resolve().name
    if copied.resolve() != source.resolve():
        copied.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
        shutil.copytree(source, copied, dirs_exist_ok=True)
    store = Store.open(folder, database=database)
    try:
        store.command(f"RESTORE DATABASE `{database}` FROM File('{_quoted(copied.resolve())}')")
        ((spans,),) = store.query("SELECT count() FROM otel_traces")
        return int(spans)
    finally:
        store.close()


def _quoted(path: Path) -> str:
    return str(path).replace("\\", "\\\\").replace("'", "\\'")
