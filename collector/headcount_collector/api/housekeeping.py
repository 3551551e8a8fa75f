"""Once a minute: how large the store is, whether the disk has room, and the oldest evidence out where it has not."""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Iterator

from headcount_collector.metrics import Metric, counter, gauge
from headcount_collector.settings import Settings
from headcount_collector.store import Store
from headcount_collector.store.size import Size, shrink, sizes

log = logging.getLogger(__name__)

_EVERY_S = 60.0
_GIB = 1024**3
_LOW_BYTES = 512 * 1024**2


class Housekeeping:
    """Keeps the store within its budget, and knows how it stood the last time."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._budget = round(settings.disk_budget_gib * _GIB)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headcount-housekeeping", daemon=True)
        self.sizes: list[Size] = []
        self.dropped = 0
        self.free_bytes: int | None = None

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """Stop."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=30)

    def look(self) -> None:
        """Measure, and delete what is over the budget. Raises StoreError or OSError."""
        if self._store.folder is not None:
            self.free_bytes = shutil.disk_usage(self._store.folder).free
        if self._budget:
            for partition in shrink(self._store, self._budget):
                self.dropped += 1
                log.warning("the store is over its budget: %s was deleted", partition)
        self.sizes = sizes(self._store)

    def unready(self) -> str | None:
        """Say if the disk is about to be full."""
        if self.free_bytes is not None and self.free_bytes < _LOW_BYTES:
            return (
                f"the disk of the store has {self.free_bytes // 1024**2} MiB left: make room, or set disk_budget_gib or "
                "a shorter retention_days"
            )
        return None

    def metrics(self) -> Iterator[Metric]:
        """Return what was measured last."""
        for name, says, values in (
            ("headcount_store_bytes", "Bytes on disk.", {size.table: size.bytes for size in self.sizes}),
            ("headcount_store_rows", "Rows.", {size.table: size.rows for size in self.sizes}),
            ("headcount_store_parts", "Parts.", {size.table: size.parts for size in self.sizes}),
        ):
            yield Metric(name, "gauge", says, values, "table")
        yield counter("headcount_dropped_partitions_total", "Deleted to keep the disk budget.", self.dropped)
        if self.free_bytes is not None:
            yield gauge("headcount_disk_free_bytes", "Room on the disk of the store.", self.free_bytes)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self.look()
            except Exception as error:  # noqa: BLE001  # the store may be away; there is a next time
                log.warning("the size of the store is not known: %s", error)
            self._stop.wait(_EVERY_S)
