"""`kill -9` between two messages: the next process repeats none, forgets none, and closes what was delivered."""

from __future__ import annotations

import time
from pathlib import Path

from headcount_collector.evidence.record import Record, export_request
from tests.collector.running import eventually
from tests.e2e.processes import Served, serving

from .peers import peer
from .test_api import lost

PROTOBUF = "application/x-protobuf"


def test_a_killed_collector_is_taken_up_where_it_stopped(tmp_path: Path) -> None:
    with peer() as hook:
        config = tmp_path / "headcount.toml"
        config.write_text(
            'tick_s = 0.2\n[policy]\ndelivery_grace = "300ms"\nwindow = "15s"\nwarm_up = "1s"\n'
            f'[alerts.receivers.hook]\nchannels = [{{type = "webhook", url = "{hook.url}"}}]\n'
            '[alerts.route]\nreceiver = "hook"\n'
        )
        arguments = ("--config", str(config), "--grpc", "off")
        with serving(tmp_path / "data", *arguments) as first:
            first.post("/v1/traces", export_request(lost("r1", "s1")).SerializeToString(), PROTOBUF)
            (told,) = hook.wait_for(1)
            number = told.json["incident"]
            eventually(lambda: first.get("/api/v1/alerts/outbox")["messages"][0]["outcome"] == "sent")
            first.process.kill()
        with serving(tmp_path / "data", *arguments) as second:
            hook.wait_for(2)
            at = time.time_ns()
            answer = [
                Record(
                    "completion_received", at, "r1", "s1", {"subagent.result.source": "relay"}, service="svc"
                ),
                Record(
                    "completion_forwarded",
                    at + 1,
                    "r1",
                    "s1",
                    {"subagent.forwarded_to_main": True},
                    service="svc",
                ),
            ]
            second.post("/v1/traces", export_request(answer).SerializeToString(), PROTOBUF)
            eventually(lambda: _state(second, number) == "closed")
            eventually(lambda: hook.asked[-1].json["step"] == "closed")
            decisions = second.get(f"/api/v1/incidents/{number}")["decisions"]
    ours = [asked.json for asked in hook.asked if asked.json["incident"] == number]
    ladder = [message["step"] for message in ours if message["step"] != "updated"]
    assert ladder[:2] == ["notified", "reminded"]
    assert ladder[-1] == "closed"
    assert ladder.count("notified") == 1
    assert [d["decision"] for d in decisions].count("opened") == 1
    assert not any(message["repeat"] for message in ours)


def _state(served: Served, number: str) -> str:
    return str(served.get(f"/api/v1/incidents/{number}")["state"])
