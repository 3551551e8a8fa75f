"""`headcount grafana render`: files that a Grafana reads, the same bytes each time, and no secret in them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer import Typer
from typer.testing import CliRunner

from headcount_alerts.wording import CLASSES
from headcount_dashboards.all_dashboards import dashboards
from headcount_dashboards.cli import commands
from headcount_dashboards.errors import DashboardsError
from headcount_dashboards.links import UIDS
from headcount_dashboards.panels import Json
from headcount_dashboards.provisioning import files_of, render
from headcount_dashboards.queries import Query, sql
from headcount_dashboards.rules import PAGING, rules
from headcount_dashboards.settings import load_settings
from tests.dashboards.asked import DASHBOARDS, panels

SECRETS = {
    "token": "glsa_secret1",
    "clickhouse_password": "secret2",
    "slack_url": "https://slack.example/secret3",
    "discord_url": "https://discord.example/secret4",
    "teams_url": "https://teams.example/secret5",
    "telegram_token": "secret6",
    "webhook_url": "https://other.example/secret7",
}


def all_set(**other: object) -> dict[str, str]:
    return files_of(load_settings(**{**SECRETS, "telegram_chat": "-1", "notifier": "grafana", **other}))


def read(text: str) -> Any:
    return yaml.safe_load(text)


def test_the_same_settings_give_the_same_bytes(tmp_path: Path) -> None:
    made = load_settings()
    render(made, tmp_path)
    first = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    written, gone = render(made, tmp_path)
    assert {path: path.read_bytes() for path in written} == first
    assert gone == []


def test_files_that_are_no_more_are_removed_and_others_stay(tmp_path: Path) -> None:
    render(load_settings(email="a@example.org"), tmp_path)
    points = tmp_path / "alerting" / "headcount-contact-points.yaml"
    old = tmp_path / "dashboards" / "headcount" / "headcount-old.json"
    other = tmp_path / "alerting" / "others.yaml"
    old.write_text("{}")
    other.write_text("apiVersion: 1\n")
    assert points.exists()
    _, gone = render(load_settings(), tmp_path)
    assert set(gone) == {points, old}
    assert other.exists()


def test_no_secret_is_written() -> None:
    text = "".join(all_set().values())
    for secret in SECRETS.values():
        assert secret not in text
    assert "${HEADCOUNT_GRAFANA_SLACK_URL}" in text
    assert "${HEADCOUNT_GRAFANA_CLICKHOUSE_PASSWORD}" in text


def test_every_file_is_of_version_1_and_grafana_expands_nothing_but_our_secrets() -> None:
    for name, text in all_set().items():
        if name.endswith(".json"):
            continue
        document = read(text)
        assert document["apiVersion"] == 1
        # Grafana expands $ everywhere but in the model of a query and in annotations.
        for rule in (rule for group in document.get("groups", []) for rule in group["rules"]):
            rule.pop("annotations")
            for query in rule["data"]:
                query.pop("model")
        left = re.findall(r"\$\S+", json.dumps(document))
        assert all(re.match(r"\$\{HEADCOUNT_GRAFANA_[A-Z_]+\}", found) for found in left), (name, left)


def test_rules_as_files_have_what_the_format_asks_for() -> None:
    document = read(all_set()["alerting/headcount-rules.yaml"])
    made = [rule for group in document["groups"] for rule in group["rules"]]
    for group in document["groups"]:
        assert {"orgId", "name", "folder", "interval", "rules"} == set(group)
    for rule in made:
        assert {"uid", "title", "condition", "data", "dashboardUid", "panelId", "for", "annotations"} <= set(
            rule
        )
        assert len(rule["uid"]) <= 40
        assert not any(key.startswith("__") for key in rule["annotations"])
        assert rule["condition"] in [query["refId"] for query in rule["data"]]
    assert len({rule["uid"] for rule in made}) == len({rule["title"] for rule in made}) == len(made)


def test_each_class_and_each_paging_signal_has_a_rule() -> None:
    found = {rule.labels.get("failure_class") for rule in rules()} | {
        rule.labels.get("signal") for rule in rules()
    }
    assert set(CLASSES) | set(PAGING) <= found


def test_an_outage_is_told_once_and_closes_nothing() -> None:
    document = read(all_set()["alerting/headcount-rules.yaml"])
    for group in document["groups"]:
        for rule in group["rules"]:
            observer = rule["uid"].startswith("hc-observer")
            assert rule["execErrState"] == ("Alerting" if observer else "KeepLast")
            assert rule["noDataState"] == ("Alerting" if observer else "OK")


def test_dashboards_have_stable_uids_and_no_numbers_of_one_grafana() -> None:
    assert [document["uid"] for document in DASHBOARDS] == list(UIDS)
    for document in DASHBOARDS:
        assert document["id"] is None
        assert "version" not in document
        numbers = [panel["id"] for panel in document["panels"]]
        assert numbers == list(range(1, len(numbers) + 1))
        for panel in panels(document):
            assert all(target["datasource"]["uid"] == "${datasource}" for target in panel["targets"])


@pytest.mark.parametrize("document", DASHBOARDS, ids=[d["uid"] for d in DASHBOARDS])
def test_every_panel_is_described_and_none_covers_another(document: Json) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in document["panels"]:
        assert panel["type"] == "row" or panel["description"]
        grid = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(grid["x"], grid["x"] + grid["w"])
            for y in range(grid["y"], grid["y"] + grid["h"])
        }
        assert not cells & taken
        assert grid["x"] + grid["w"] <= 24
        taken |= cells


def test_dashboards_lead_to_each_other_and_to_the_page() -> None:
    text = json.dumps(DASHBOARDS)
    for uid in ("headcount-run", "headcount-session", "headcount-failures"):
        assert f"/d/{uid}?" in text
    assert "http://headcount.example:4318/" in text
    assert "${page:raw}/runs/" in text
    without = json.dumps(dashboards(load_settings()))
    assert "${page:raw}" not in without
    assert all(link["type"] == "dashboards" for d in dashboards(load_settings()) for link in d["links"])


def test_a_message_says_what_to_do_and_links_to_the_run() -> None:
    document = read(
        all_set(page_url="http://page.example", public_url="https://grafana.example")[
            "alerting/headcount-rules.yaml"
        ]
    )
    rule = next(
        r for g in document["groups"] for r in g["rules"] if r["uid"] == "hc-class-done_but_not_forwarded"
    )
    assert CLASSES["done_but_not_forwarded"].do in rule["annotations"]["description"]
    assert CLASSES["done_but_not_forwarded"].never in rule["annotations"]["description"]
    assert rule["annotations"]["run"].startswith(
        "https://grafana.example/d/headcount-run?var-session={{ $labels.session | urlquery }}"
    )
    assert rule["annotations"]["page"].startswith("http://page.example/runs/{{ $labels.run | urlquery }}")


def test_a_template_of_go_is_balanced() -> None:
    text = read(all_set()["alerting/headcount-templates.yaml"])["templates"][0]["template"]
    opened = len(re.findall(r"{{-? ?(?:define|if|range)\b", text))
    assert opened == len(re.findall(r"{{-? ?end\b", text))
    assert text.count("{{") == text.count("}}")


def test_a_query_without_its_place_is_refused() -> None:
    with pytest.raises(DashboardsError, match="no place"):
        sql(Query("rules/observer_silent", {"signal": "x"}))
    with pytest.raises(DashboardsError, match="no place"):
        sql(Query("rules/signal", {"signal": "x' OR 1"}))
    with pytest.raises(DashboardsError, match="there is no query 'fleet/none'"):
        sql("fleet/none")


def test_settings_name_what_is_wrong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEADCOUNT_GRAFANA_URL", "grafana")
    with pytest.raises(DashboardsError, match="HEADCOUNT_GRAFANA_URL: 'grafana' is no URL"):
        load_settings()
    monkeypatch.setenv("HEADCOUNT_GRAFANA_URL", "http://grafana:3000/sub/")
    assert load_settings().url == "http://grafana:3000/sub"
    monkeypatch.setenv("HEADCOUNT_NOTIFIER", "nobody")
    with pytest.raises(DashboardsError, match="HEADCOUNT_NOTIFIER: Input should be 'headcount' or 'grafana'"):
        load_settings()
    monkeypatch.setenv("HEADCOUNT_NOTIFIER", "grafana")
    hook = tmp_path / "hook"
    hook.write_text("https://slack.example/x\n")
    monkeypatch.setenv("HEADCOUNT_GRAFANA_SLACK_URL_FILE", str(hook))
    made = load_settings()
    assert made.slack_url is not None
    assert made.slack_url.get_secret_value() == "https://slack.example/x"
    assert "slack.example" not in repr(made)
    monkeypatch.setenv("HEADCOUNT_GRAFANA_SLACK_URL_FILE", str(tmp_path / "none"))
    with pytest.raises(DashboardsError, match="cannot read the secret"):
        load_settings()
    monkeypatch.delenv("HEADCOUNT_GRAFANA_SLACK_URL_FILE")
    monkeypatch.delenv("HEADCOUNT_NOTIFIER")
    with pytest.raises(DashboardsError, match="go together"):
        load_settings(telegram_token="1:a")


def test_the_command_writes_and_says_where(tmp_path: Path) -> None:
    app = Typer()
    commands(app)
    done = CliRunner().invoke(
        app, ["grafana", "render", "--out", str(tmp_path / "out"), "--mounted-at", "/srv/grafana"]
    )
    assert done.exit_code == 0
    assert "10 files" in done.stdout
    provider = read((tmp_path / "out" / "dashboards" / "headcount.yaml").read_text())["providers"][0]
    assert provider["options"]["path"] == "/srv/grafana/dashboards/headcount"
