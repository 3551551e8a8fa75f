"""Alerts of a whole collector, asked as programs and people do, with a peer that is told."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from typer.testing import CliRunner

from headcount_alerts.checks import findings
from headcount_collector.evidence.record import Record, export_request
from headcount_collector.settings import load_settings
from tests.collector.running import Running, eventually, running_collector

from .peers import Peer, SlackApi, peer

POLICY = {"delivery_grace": "300ms", "window": "1s"}
SECRET = "slack-signing-secret"


@pytest.fixture(scope="module")
def slack() -> Iterator[tuple[SlackApi, Peer]]:
    api = SlackApi()
    with peer(api) as server:
        yield api, server


@pytest.fixture(scope="module")
def hook() -> Iterator[Peer]:
    with peer() as server:
        yield server


@pytest.fixture(scope="module")
def running(
    tmp_path_factory: pytest.TempPathFactory, slack: tuple[SlackApi, Peer], hook: Peer
) -> Iterator[Running]:
    bot = {
        "type": "slack",
        "token": "xoxb-1",
        "channel": "C1",
        "api": f"{slack[1].url}/api/",
        "signing_secret": SECRET,
    }
    alerts = {
        "url": "https://headcount.example",
        "receivers": {
            "chat": {"channels": [{**bot, "rate_per_minute": 6000}]},
            "hook": {"channels": [{"type": "webhook", "url": hook.url, "rate_per_minute": 6000}]},
            "owner": {"channels": [{"type": "nudge", "url": hook.url, "at_most": 1}]},
        },
        "route": {
            "receiver": "chat",
            "routes": [
                {"match": ["agent=hooked"], "receiver": "hook"},
                {"match": ["agent=nudged"], "receiver": "owner"},
            ],
        },
    }
    with running_collector(tmp_path_factory.mktemp("data"), policy=POLICY, alerts=alerts) as found:
        yield found


def tell(running: Running, *records: Record) -> None:
    running.post("/v1/traces", export_request(records).SerializeToString(), "application/x-protobuf")


def lost(run: str, session: str, agent: str = "worker") -> list[Record]:
    """Return a run whose result nobody was given."""
    at = time.time_ns()
    return [
        Record("dispatch", at - 3 * 10**9, run, session, {"gen_ai.agent.name": agent}, service="svc"),
        Record("start", at - 2 * 10**9, run, session, {}, service="svc"),
        Record(
            "tool_call", at - 10**9, run, session, {"gen_ai.tool.name": "Read"}, phase="ended", service="svc"
        ),
        Record(
            "child_done",
            at,
            run,
            session,
            {"subagent.outcome": "ok", "subagent.result.size": 9},
            service="svc",
        ),
    ]


def incidents(running: Running, **filters: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = running.get(f"/api/v1/incidents?{urlencode(filters)}").json["incidents"]
    return found


def test_a_lost_result_is_an_incident_that_is_told_acknowledged_and_closed_by_its_end(
    running: Running, hook: Peer
) -> None:
    before = len(hook.asked)
    tell(running, *lost("r1", "told", "hooked"))
    hook.wait_for(before + 1)
    (found,) = incidents(running, session="told", state="open")
    assert (found["severity"], found["runs"]) == ("page", ["r1"])
    acknowledged = running.post(f"/api/v1/incidents/{found['id']}/ack", b'{"by": "anna"}')
    assert acknowledged.json["acknowledged"]["by"] == "anna"
    dismissed = running.post("/api/v1/dismiss", b'{"session": "told", "reason": "not needed"}')
    assert dismissed.json == {"dismissed": [{"session": "told", "run": "r1"}]}
    eventually(lambda: incidents(running, session="told", state="closed"))
    shown = running.get(f"/api/v1/incidents/{found['id']}").json
    decisions = [decision["decision"] for decision in shown["decisions"]]
    assert decisions[:3] == ["opened", "joined", "notified"]
    assert decisions[-1] == "closed"
    assert shown["outbox"][-1]["channel"] == "hook/0/webhook"


def test_a_nudge_is_evidence_of_the_observer_and_moves_nothing(running: Running, hook: Peer) -> None:
    before = len(hook.asked)
    tell(running, *lost("r6", "nudged", "nudged"))
    nudge = hook.wait_for(before + 1)[before].json
    assert (nudge["kind"], nudge["runs"], nudge["number"]) == ("headcount-recovery", ["r6"], 1)

    def told() -> list[Any]:
        timeline = running.get("/api/v1/runs/r6?session=nudged").json["timeline"]
        return [event for event in timeline if event["event"] == "nudge"]

    (event,) = eventually(told)
    run = running.get("/api/v1/runs/r6?session=nudged").json
    assert run["status"] in ("done_but_not_forwarded", "blocked")
    assert run["clocks"]["last_activity_at"] < event["at"]
    (found,) = incidents(running, session="nudged", state="open")
    assert found["unmet"] == 1


def test_slacks_button_acknowledges_where_its_signature_is_right(
    running: Running, slack: tuple[SlackApi, Peer]
) -> None:
    api, _ = slack
    tell(running, *lost("r2", "slacked"))
    (found,) = eventually(lambda: incidents(running, session="slacked"))
    message = eventually(
        lambda: next((m for m in api.messages.values() if found["id"] in json.dumps(m)), None)
    )
    (button,) = message["blocks"][-1]["elements"]
    press = {"type": "block_actions", "user": {"id": "U1", "username": "ben"}, "actions": [button]}
    body = urlencode({"payload": json.dumps(press)}).encode()
    stamp = str(int(time.time()))
    signed = hmac.new(SECRET.encode(), f"v0:{stamp}:".encode() + body, hashlib.sha256).hexdigest()
    form = "application/x-www-form-urlencoded"
    forged = running.post("/alerts/slack", body, form, **_slack_headers(stamp, "0" * 64))
    assert forged.status == 401
    old = str(int(time.time()) - 600)
    replayed = hmac.new(SECRET.encode(), f"v0:{old}:".encode() + body, hashlib.sha256).hexdigest()
    assert running.post("/alerts/slack", body, form, **_slack_headers(old, replayed)).status == 401
    answer = running.post("/alerts/slack", body, form, **_slack_headers(stamp, signed))
    assert answer.json["text"] == "ben is on it."
    assert running.get(f"/api/v1/incidents/{found['id']}").json["acknowledged"]["by"] == "ben"


def _slack_headers(stamp: str, signature: str) -> dict[str, str]:
    return {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": f"v0={signature}"}


def test_a_silence_defers_until_it_is_ended(running: Running, hook: Peer) -> None:
    body = json.dumps({"matchers": ["session=quiet"], "duration": "1h", "by": "anna"}).encode()
    silence = running.post("/api/v1/silences", body).json
    before = len(hook.asked)
    tell(running, *lost("r3", "quiet", "hooked"))
    eventually(lambda: [i for i in incidents(running, session="quiet") if i["level"] == "deferred"])
    assert len(hook.asked) == before
    assert silence["id"] in [s["id"] for s in running.get("/api/v1/silences").json["silences"]]
    running.request("DELETE", f"/api/v1/silences/{silence['id']}", None, {})
    hook.wait_for(before + 1)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/api/v1/incidents/none", None, 404),
        ("POST", "/api/v1/incidents/none/ack", b"{}", 404),
        ("POST", "/api/v1/silences", b'{"matchers": ["agent=~.*"], "duration": "1h"}', 422),
        ("POST", "/api/v1/silences", b'{"matchers": ["agent=a"]}', 422),
        ("POST", "/api/v1/silences", b'{"matchers": ["agent=a"], "duration": "soon"}', 422),
        ("DELETE", "/api/v1/silences/none", None, 404),
        ("POST", "/api/v1/dismiss", b"{}", 422),
        ("POST", "/api/v1/alerts/test", b'{"receiver": "none"}', 404),
        ("GET", "/api/v1/alerts/preview?run=none", None, 404),
    ],
)
def test_a_request_that_makes_no_sense_says_why(
    running: Running, method: str, path: str, body: bytes | None, status: int
) -> None:
    answer = running.request(method, path, body, {"Content-Type": "application/json"})
    assert answer.status == status
    assert answer.json["detail"]


def test_the_commands_show_and_change_what_the_api_does(running: Running) -> None:
    tell(running, *lost("r4", "commanded"))
    (found,) = eventually(lambda: incidents(running, session="commanded"))
    assert found["id"] in command(running, "incidents", "--session", "commanded")
    assert "done but not forwarded" in command(running, "incidents", found["id"])
    assert "acknowledged until" in command(running, "ack", found["id"], "--by", "anna")
    assert "chat, then chat, then chat" in command(running, "alerts", "test", "r4")
    assert "chat/0/slack: sent" in command(running, "alerts", "test", "--receiver", "chat")
    assert "chat/0/slack" in command(running, "alerts", "outbox")
    said = command(running, "alerts", "silence", "agent=x", "--for", "1h", "--reason", "move")
    number = said.split()[1]
    assert number in command(running, "alerts", "silences")
    assert "ended" in command(running, "alerts", "unsilence", number)


def test_the_doctor_is_told_whether_a_test_message_arrives(running: Running) -> None:
    settings = load_settings(url=running.url, alerts={"route": {"receiver": "nobody"}})
    found = list(findings(settings))
    assert ("ok", "a test message went out by hook/0/webhook", "") in found
    assert any("no fallback" in what for _, what, _ in found)
    (broken,) = findings(load_settings(alerts={"route": {}}))
    assert broken[:2] == ("wrong", "the table [alerts] cannot be used")


def test_prometheus_sees_incidents_and_the_outbox(running: Running) -> None:
    tell(running, *lost("r5", "counted"))
    eventually(lambda: incidents(running, session="counted"))
    text = running.get("/metrics").body.decode()
    assert 'headcount_open_incidents{severity="page"} ' in text
    assert "headcount_alert_messages_dead_total 0" in text


def test_check_draws_the_tree_and_names_what_is_wrong(tmp_path: Path) -> None:
    config = tmp_path / "headcount.toml"
    config.write_text(
        '[alerts.receivers.chat]\nchannels = [{type = "webhook", url = "http://127.0.0.1:9/"}]\n'
        '[alerts.route]\nreceiver = "chat"\n'
        '[[alerts.route.routes]]\nmatch = ["agent=reviewer"]\nactive = ["Mo-Fr 08:00-18:00"]\n'
        '[[alerts.route.routes]]\nreceiver = "chat"\ngroup = ["service"]\n'
        '[[alerts.route.routes]]\nmatch = ["environment=prod"]\n'
    )
    said = invoke("alerts", "check", "--config", str(config))
    assert "everything → chat" in said
    assert 'agent="reviewer" → as above (Mo-Fr 08:00-18:00)' in said
    assert "everything else → chat, grouped by service" in said
    assert "note: no fallback" in said
    assert "nothing reaches route.routes.2: route.routes.1 takes everything before it" in " ".join(
        said.split()
    )
    said = invoke("alerts", "test", "--config", str(config), "--label", "agent=reviewer")
    assert "route.routes.0: chat, then chat, then chat" in said
    assert "Do not dispatch it again: the work is done." in said
    said = invoke("alerts", "test", "--config", str(config), "--label", "environment=prod")
    assert "route.routes.1: chat, then chat, then chat, grouped by service" in said


def command(running: Running, *arguments: str) -> str:
    return invoke(*arguments, "--url", running.url)


def invoke(*arguments: str) -> str:
    import typer

    from headcount_alerts.cli import commands

    app = typer.Typer()
    commands(app)
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result.output
