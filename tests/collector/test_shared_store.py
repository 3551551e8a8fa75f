"""Two collectors on one ClickHouse endpoint: both take evidence, one judges, and the other takes over."""

from __future__ import annotations

import contextlib
from pathlib import Path

from headcount_collector.api.collector import Collector
from headcount_collector.settings import load_settings
from tests.collector.clickhouse_endpoint import clickhouse_endpoint
from tests.collector.dispatched import dispatch
from tests.collector.running import eventually


def status_of(collector: Collector, run: str) -> str:
    rows = collector.store.query("SELECT status FROM verdict FINAL WHERE run_id = {r:String}", {"r": run})
    return str(rows[0][0]) if rows else ""


def test_one_of_two_judges_and_what_either_took_is_judged(tmp_path: Path) -> None:
    with clickhouse_endpoint(tmp_path / "server") as server, contextlib.ExitStack() as second_closes:
        settings = [
            load_settings(
                data=tmp_path / name, store=f"{server.url}/headcount", tick_s=0.2, http="127.0.0.1:0"
            )
            for name in ("one", "two")
        ]
        with Collector.open(settings[0]) as one:
            assert eventually(lambda: one.watch.health["judges"])
            two = second_closes.enter_context(Collector.open(settings[1]))
            assert eventually(lambda: two.lease is not None and two.lease.other)
            two.intake.committer.submit(dispatch("by the other"), 1).result(60)
            assert eventually(lambda: status_of(one, "by the other") == "active")
            assert not two.watch.health["judges"]
            assert eventually(lambda: two.unready() == [])
        assert eventually(lambda: two.watch.health["judges"])
        two.intake.committer.submit(dispatch("afterwards"), 1).result(60)
        assert eventually(lambda: status_of(two, "afterwards") == "active")
