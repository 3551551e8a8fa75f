"""Keeps the collector's own numbers in the store while it serves, so that dashboards show queue and refusals over time."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

from fastapi import APIRouter

from headcount_collector.metrics import Metric
from headcount_collector.store.errors import StoreError
from headcount_collector.watch.listener import Host
from headcount_collector.watch.tick import Tick, TickReport

log = logging.getLogger(__name__)

EVERY_NS = 15 * 1_000_000_000
_COLUMNS = ["at", "name", "label", "value"]


class KeptNumbers:
    """A listener of `headcount serve` that writes its numbers every few seconds."""

    routes: APIRouter

    def __init__(self, host: Host) -> None:
        self._host = host
        self._kept_at = 0
        self.routes = APIRouter()

    @property
    def next_due(self) -> int | None:
        """Want no tick of its own: a serving collector ticks anyway."""
        return None

    def start(self, watched: Tick) -> None:
        """Begin with the first tick."""

    def rest(self) -> None:
        """Keep nothing while another process judges: there is no tick."""

    def failed(self, at: int) -> None:
        """Keep nothing of an evaluation that failed."""

    def after_tick(self, report: TickReport) -> None:
        """Write the numbers where the last ones are old enough. A store that refuses them stops nothing."""
        at = report.evaluation.at
        if at - self._kept_at < EVERY_NS:
            return
        self._kept_at = at
        rows = [(at // 1_000_000, *row) for row in _rows(self._host.numbers())]
        try:
            self._host.store.insert("collector_number", rows, _COLUMNS)
        except StoreError as error:
            log.warning("the collector's numbers are not kept: %s", error)

    def metrics(self) -> Iterable[Metric]:
        """Have no numbers of its own."""
        return ()

    def close(self) -> None:
        """Hold nothing."""


def serve_listener(host: Host) -> KeptNumbers:
    """Return the listener of a collector; named by an entry point."""
    return KeptNumbers(host)


def _rows(metrics: Iterable[Metric]) -> Iterator[tuple[str, str, float]]:
    for metric in metrics:
        for label, value in metric.values.items():
            yield metric.name.removeprefix("headcount_"), label, float(value)
