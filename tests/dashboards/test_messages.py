"""What Grafana tells people: annotations and the message, filled by Go's own templates from what the rules' queries answer."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from headcount_alerts.wording import CLASSES, SIGNALS
from headcount_dashboards.contacts import message_template
from headcount_dashboards.panels import Json
from tests.dashboards import world
from tests.dashboards.asked import Frame, all_rules, ask_rule, rule_queries
from tests.dashboards.conftest import Database

GO = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin:/usr/lib/go/bin")
PROGRAM = Path(__file__).parent / "golang" / "annotations.go"
RULES = {rule["uid"]: rule for rule in all_rules()}
pytestmark = pytest.mark.skipif(GO is None, reason="Go fills the templates: apt-get install golang-go")


def filled(asked: list[Json]) -> list[str]:
    """Return what Go makes of templates."""
    assert GO is not None
    done = subprocess.run(
        [GO, "run", str(PROGRAM)],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    texts: list[str] = json.loads(done.stdout)
    return texts


def instances(rule: Json, database: Database) -> list[Json]:
    """Return labels and values of each alert of a rule, matched as Grafana does: labels that contain those of the alert."""
    frames = {query["refId"]: ask_rule(database.store, query, database.scene) for query in rule_queries(rule)}
    captured = {ref: [_capture(frame, row) for row in frame.rows] for ref, frame in frames.items()}
    return [
        {
            "labels": {**one["Labels"], **rule["labels"], "alertname": rule["title"]},
            "values": {
                ref: next(other for other in rows if other["Labels"].items() >= one["Labels"].items())
                for ref, rows in captured.items()
            },
        }
        for one in captured["A"]
    ]


def _capture(frame: Frame, row: tuple[Any, ...]) -> Json:
    pairs = dict(zip(frame.names, row, strict=True))
    return {
        "Labels": {name: value for name, value in pairs.items() if isinstance(value, str)},
        "Value": next(value for value in row if isinstance(value, float)),
    }


@pytest.fixture(scope="module")
def told(played: Database) -> dict[str, list[dict[str, str]]]:
    """Every annotation of every alert of the played world, by the uid of its rule, with the labels of the alert."""
    places, asked = [], []
    for uid, rule in RULES.items():
        for number, instance in enumerate(instances(rule, played)):
            for name, text in rule["annotations"].items():
                places.append((uid, number, name))
                asked.append({"text": text, **instance})
    found: dict[str, list[dict[str, str]]] = {uid: [] for uid in RULES}
    for (uid, number, name), one, text in zip(places, asked, filled(asked), strict=True):
        if number == len(found[uid]):
            found[uid].append({f"label {key}": str(value) for key, value in one["labels"].items()})
        found[uid][number][name] = text
    return found


def alert_of(told: dict[str, list[dict[str, str]]], uid: str, run: str) -> dict[str, str]:
    return next(alert for alert in told[uid] if alert["label run"] == run)


def test_an_alert_says_what_a_message_of_headcount_says(told: dict[str, list[dict[str, str]]]) -> None:
    alert = next(
        one
        for one in told["hc-class-done_but_not_forwarded"]
        if one["label session"].startswith("09-runbook") or "Result: " in one["description"]
    )
    words = CLASSES["done_but_not_forwarded"]
    lines = alert["description"].splitlines()
    assert words.what in alert["summary"]
    assert ", for " in alert["summary"]
    assert lines[0].startswith("Owner: ")
    assert any(line.startswith("Last progress: ") for line in lines)
    fetch = next(line.removeprefix("Fetch it: ") for line in lines if line.startswith("Fetch it: "))
    assert shlex.split(fetch) == [
        "headcount", "recover", alert["label run"], "--session", alert["label session"],
    ]  # fmt: skip
    assert lines[-2:] == [f"Do: {words.do}", f"Mind: {words.never}"]


def test_an_alert_says_what_is_in_flight(told: dict[str, list[dict[str, str]]]) -> None:
    texts = [alert["description"] for alerts in told.values() for alert in alerts]
    assert any("\nIn flight: wait for queue since 20" in text for text in texts)


def test_a_signal_says_as_much(told: dict[str, list[dict[str, str]]]) -> None:
    alert = alert_of(told, "hc-signal-misdelivered", "signal-misdelivered-page")
    assert SIGNALS["misdelivered"].what in alert["summary"]
    for begin in ("Owner: ", "Last progress: ", "Do: ", "Mind: "):
        assert any(line.startswith(begin) for line in alert["description"].splitlines()), begin
    assert "environment staging" in alert["description"]


def test_no_annotation_has_a_hole(told: dict[str, list[dict[str, str]]]) -> None:
    texts = [text for alerts in told.values() for alert in alerts for text in alert.values()]
    assert len(texts) > 100
    assert [text for text in texts if "<no value>" in text or "%!" in text or "\n\n" in text] == []


def test_links_lead_to_the_run_whatever_its_name(told: dict[str, list[dict[str, str]]]) -> None:
    alert = next(
        alert for alert in told["hc-class-done_but_not_forwarded"] if alert["label session"] == world.SESSION
    )
    assert "var-session=09-runbook-failure-classes%2Fs1&var-run=" in alert["run"]
    assert f"?session={world.SESSION.replace('/', '%2F')}" in alert["page"]


def test_the_message_lists_what_fires_and_what_is_over(told: dict[str, list[dict[str, str]]]) -> None:
    alerts: list[Json] = [
        {"labels": {}, "annotations": alert, "silenceURL": "http://grafana/silence"}
        for alert in told["hc-class-done_but_not_forwarded"][:2]
    ]
    data = {
        "Alerts": {"Firing": alerts, "Resolved": alerts[:1]},
        "CommonLabels": {"alertname": "done", "owner": "lead"},
    }
    title, text = filled(
        [
            {"message": message_template(), "name": f"headcount.{part}", "data": data}
            for part in ("title", "text")
        ]
    )
    assert title.strip() == f"{len(alerts)} open: done, owner lead"
    assert text.count("Do: ") == len(alerts)
    assert text.count("Silence: http://grafana/silence") == len(alerts)
    assert f"Closed: {alerts[0]['annotations']['summary']}" in text
