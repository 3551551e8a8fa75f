"""The collector's own numbers are kept while it serves, so that refusals and queues can be seen afterwards."""

from __future__ import annotations

import time
from pathlib import Path

from headcount_collector.metrics import counter, gauge
from headcount_collector.settings import load_settings
from headcount_collector.store.client import Store
from headcount_collector.store.migrate import migrate
from headcount_collector.watch.listener import Host
from headcount_collector.watch.tick import TickReport
from headcount_collector.watch.verdicts import Evaluation
from headcount_dashboards.numbers import EVERY_NS, KeptNumbers
from tests.collector.running import PATIENCE_S, running_collector

T0 = 1_796_000_000_000_000_000


def report(at: int) -> TickReport:
    return TickReport(Evaluation(at, 0, 0, 0, 0, 0, 0, 0, "ok", at), {}, ())


def test_numbers_are_kept_every_few_seconds_and_no_oftener(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    try:
        migrate(store, retention_days=3650)
        taken: list[float] = [0.0]

        def numbers() -> list[object]:
            taken[0] += 1
            return [
                gauge("headcount_queued_requests", "", taken[0]),
                counter("headcount_commits_total", "", 7),
            ]

        kept = KeptNumbers(Host(store, load_settings(), lambda body: None, numbers))  # type: ignore[arg-type,return-value]  # nothing is submitted
        for step in (0, 1, EVERY_NS - 1, EVERY_NS, 2 * EVERY_NS):
            kept.after_tick(report(T0 + step))
        rows = store.query("SELECT value FROM collector_number WHERE name = 'queued_requests' ORDER BY at")
        assert rows == [(1.0,), (2.0,), (3.0,)]
        assert list(kept.metrics()) == []
    finally:
        store.close()


def test_a_store_that_refuses_them_stops_nothing(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    try:
        kept = KeptNumbers(Host(store, load_settings(), lambda body: None, lambda: [gauge("x", "", 1)]))  # type: ignore[arg-type,return-value]  # nothing is submitted
        kept.after_tick(report(T0))
    finally:
        store.close()


def test_a_running_collector_keeps_its_refusals(tmp_path: Path) -> None:
    with running_collector(tmp_path) as running:
        assert running.post("/v1/traces", b"no protobuf", "application/x-protobuf").status == 400
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            rows = running.collector.store.query("SELECT DISTINCT toString(name) FROM collector_number")
            if rows:
                break
        assert {"queued_requests", "accepted_spans_total"} <= {name for (name,) in rows}
