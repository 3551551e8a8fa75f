"""Two collectors on one store: who judges sends, who does not keeps still, and who judges again reads what happened."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headcount_alerts.errors import Resting
from headcount_alerts.service import Alerts
from headcount_alerts.serving import ServedAlerts
from headcount_alerts.silence import Matcher, new_silence
from headcount_collector.api.collector import Collector
from headcount_collector.evidence.record import Record, export_request
from headcount_collector.settings import load_settings
from tests.collector.clickhouse_endpoint import clickhouse_endpoint
from tests.collector.running import eventually

from .peers import Peer, peer
from .test_api import lost


def alerts_of(collector: Collector) -> Alerts:
    (found,) = [one.alerts for one in collector.listeners if isinstance(one, ServedAlerts)]
    return found


def tell(collector: Collector, *records: Record) -> None:
    collector.intake.committer.submit(export_request(records).SerializeToString(), len(records)).result(60)


def forwarded(run: str, session: str) -> list[Record]:
    at = time.time_ns()
    received = {"subagent.result.source": "relay"}
    return [
        Record("completion_received", at, run, session, received, service="svc"),
        Record(
            "completion_forwarded", at + 1, run, session, {"subagent.forwarded_to_main": True}, service="svc"
        ),
    ]


def said(server: Peer) -> list[tuple[str, str]]:
    return [(asked.json["session"], asked.json["step"]) for asked in server.asked]


def hand_over(giver: Collector, taker: Collector) -> Callable[[], None]:
    """Let one judge no more and the other begin; return what lets the first try again."""
    assert giver.lease is not None
    former = giver.watch._leads
    giver.watch._leads = lambda: False
    assert eventually(lambda: not giver.watch.health["judges"])
    giver.lease.release()
    assert eventually(lambda: taker.watch.health["judges"])

    def again() -> None:
        giver.watch._leads = former

    return again


def test_the_lease_takes_the_incidents_with_it_there_and_back(tmp_path: Path) -> None:
    with (
        peer() as server,
        clickhouse_endpoint(tmp_path / "server") as engine,
        contextlib.ExitStack() as closing,
    ):
        hook = {"type": "webhook", "url": server.url, "rate_per_minute": 6000}
        alerts: dict[str, Any] = {"receivers": {"hook": {"channels": [hook]}}, "route": {"receiver": "hook"}}
        one, two = (
            closing.enter_context(
                Collector.open(
                    load_settings(
                        data=tmp_path / name,
                        store=f"{engine.url}/headcount",
                        tick_s=0.2,
                        http="127.0.0.1:0",
                        policy={"delivery_grace": "300ms", "warm_up": "100ms"},
                        alerts=alerts,
                    )
                )
            )
            for name in ("one", "two")
        )
        assert eventually(lambda: one.watch.health["judges"])
        tell(one, *lost("r1", "s1"))
        server.wait_for(1)
        with pytest.raises(Resting, match="does not judge now"):
            alerts_of(two).silence(new_silence([Matcher("agent", "=", "x")], 0, 1))

        again = hand_over(one, two)
        tell(one, *forwarded("r1", "s1"))
        server.wait_for(2)
        tell(two, *lost("r2", "s2"))
        server.wait_for(3)
        (second,) = [i for i in alerts_of(two).ladder.open.values() if i.session == "s2"]
        with pytest.raises(Resting):
            alerts_of(one).acknowledge(second.id, "anna")

        again()
        hand_over(two, one)
        assert list(alerts_of(one).ladder.open) == [second.id]
        assert alerts_of(one).acknowledge(second.id, "anna").acknowledgement is not None
        tell(two, *forwarded("r2", "s2"))
        eventually(lambda: ("s2", "closed") in said(server))
    ladder = [(session, step) for session, step in said(server) if session and step != "updated"]
    assert ladder == [("s1", "notified"), ("s1", "closed"), ("s2", "notified"), ("s2", "closed")]
