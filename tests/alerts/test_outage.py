"""A provider outage end to end: ten thousand runs turn in one tick of a whole collector."""

from __future__ import annotations

import time
from pathlib import Path

from headcount_collector.evidence.record import Record
from tests.collector.running import eventually, running_collector

from .peers import peer
from .test_api import command, incidents, tell

RUNS = 10_000


def test_ten_thousand_runs_give_a_handful_of_messages_and_each_is_found_from_them(tmp_path: Path) -> None:
    hook = {"type": "webhook", "rate_per_minute": 6000}
    with peer() as server:
        alerts = {
            "receivers": {"hook": {"channels": [{**hook, "url": server.url}]}},
            "route": {"receiver": "hook"},
        }
        with running_collector(tmp_path, tick_s=1.0, policy={"expected": "5s"}, alerts=alerts) as running:
            at = time.time_ns() - 20 * 10**9
            worker = {"gen_ai.agent.name": "worker"}
            tell(
                running,
                Record("dispatch", at, "known", "known", worker, service="svc"),
                Record("start", at + 1, "known", "known", {}, service="svc"),
                *(Record("dispatch", at, f"r{n}", f"s{n}", worker, service="svc") for n in range(RUNS)),
            )
            (told, *_) = server.wait_for(1, patience_s=300)
            number = told.json["incident"]
            assert told.json["kind"] == "fleet"
            assert f"headcount incidents --fleet {number}" in told.json["commands"]
            eventually(lambda: running.get(f"/api/v1/incidents?fleet={number}&limit=1").json["total"] >= RUNS)
            for run in ("r0", "r5000", "r9999"):
                (found,) = incidents(running, run=run)
                assert (found["fleet"], found["level"], found["runs"]) == (number, "muted", [run])
            assert "of 10001 incidents" in command(running, "incidents", "--fleet", number)
            page = running.get(f"/incidents/{number}").body.decode()
            assert f'<a href="/incidents?fleet={number}">The 10001 incidents' in page
            assert 'href="/incidents?fleet=' in running.get(f"/incidents?fleet={number}").body.decode()
            (one,) = incidents(running, run="r77")
            assert (
                f'by <a href="/incidents/{number}">' in running.get(f"/incidents/{one['id']}").body.decode()
            )
            evaluations = running.collector.store.query("SELECT count() FROM evaluation WHERE judged > 1000")
        assert evaluations == [(1,)]
        assert len(server.asked) <= 5
