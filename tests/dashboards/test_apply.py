"""`headcount grafana apply`: over HTTP against the documented API, and against a real Grafana where one is given."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest
from typer import Typer
from typer.testing import CliRunner

from headcount_dashboards.apply import Change, plan
from headcount_dashboards.cli import commands
from headcount_dashboards.errors import DashboardsError, GrafanaError, NotOurs
from headcount_dashboards.grafana import Grafana
from headcount_dashboards.settings import GrafanaSettings, load_settings
from tests.dashboards.grafana_server import TOKEN, State, serving

SLACK = "https://slack.example/hook"


@pytest.fixture
def state() -> State:
    return State()


@pytest.fixture
def url(state: State) -> Iterator[str]:
    with serving(state) as url:
        yield url


def settings(url: str, **other: object) -> GrafanaSettings:
    return load_settings(url=url, **{"token": TOKEN, "clickhouse_password": "secret", **other})


def changes(url: str, *, refresh_secrets: bool = False, **other: object) -> list[Change]:
    made = settings(url, **other)
    with Grafana(made) as grafana:
        return plan(made, grafana, refresh_secrets=refresh_secrets)


def push(
    url: str, *, between: Callable[[], object] = lambda: None, refresh_secrets: bool = False, **other: object
) -> list[Change]:
    """Plan, let something happen in between, and do it."""
    made = settings(url, **other)
    with Grafana(made) as grafana:
        found = plan(made, grafana, refresh_secrets=refresh_secrets)
        between()
        for change in found:
            change.perform()
    return found


def test_an_empty_grafana_gets_everything_and_then_nothing(url: str, state: State) -> None:
    first = push(url, notifier="grafana", slack_url=SLACK, email="a@example.org")
    assert {change.action for change in first} == {"create"}
    assert [change.kind for change in first] == (
        [
            "data source",
            "folder",
            *["dashboard"] * 6,
            "message template",
            *["contact point"] * 2,
            *["rule group"] * 2,
        ]
    )
    assert len(state.dashboards) == 6
    assert {held["folderUid"] for held in state.dashboards.values()} == {"headcount"}
    assert state.datasources["headcount-clickhouse"]["secureJsonFields"] == {"password": True}
    state.calls.clear()
    assert changes(url, notifier="grafana", slack_url=SLACK, email="a@example.org") == []
    assert state.calls == []


def test_a_plan_changes_nothing(url: str, state: State) -> None:
    assert changes(url)
    assert state.calls == []


def test_a_difference_is_shown_before_it_is_made(url: str, state: State) -> None:
    push(url)
    state.dashboards["headcount-fleet"]["dashboard"]["title"] = "my own title"
    state.dashboards["headcount-fleet"]["dashboard"]["panels"][0]["targets"][0]["rawSql"] = "SELECT\n1"
    state.folders["headcount"]["title"] = "elsewhere"
    state.datasources["headcount-clickhouse"]["jsonData"]["host"] = "other"
    found = {change.name: change for change in push(url)}
    assert set(found) == {"headcount-fleet", "headcount", "headcount-clickhouse"}
    assert '~ title: "my own title" → "headcount: fleet"' in found["headcount-fleet"].lines
    assert "    -1" in found["headcount-fleet"].lines
    assert found["headcount-clickhouse"].lines == ('~ jsonData.host: "other" → "localhost"',)
    assert state.dashboards["headcount-fleet"]["dashboard"]["version"] == 2
    assert changes(url) == []


def test_others_things_are_not_touched(url: str, state: State) -> None:
    push(url, notifier="grafana", slack_url=SLACK)
    mine = {
        "dashboard": {"uid": "mine", "title": "mine", "tags": ["headcount"], "version": 1},
        "folderUid": "",
    }
    state.dashboards["mine"] = mine
    state.contact_points["other"] = {
        "uid": "other", "name": "headcount", "type": "email", "settings": {"addresses": "a@b.c"}, "provenance": "",
    }  # fmt: skip
    state.rules["theirs"] = {
        **state.rules["hc-observer-silent"], "uid": "theirs", "title": "theirs", "ruleGroup": "their group",
    }  # fmt: skip
    state.intervals["headcount", "their group"] = 60
    state.calls.clear()
    assert push(url, notifier="grafana", slack_url=SLACK) == []
    assert {"mine", "other", "theirs"} <= {*state.dashboards, *state.contact_points, *state.rules}


def test_what_we_no_longer_have_is_removed(url: str, state: State) -> None:
    push(url, notifier="grafana", slack_url=SLACK, email="a@example.org")
    old = {**state.dashboards["headcount-fleet"]["dashboard"], "uid": "headcount-old"}
    state.dashboards["headcount-old"] = {"dashboard": old, "folderUid": "headcount"}
    state.rules["hc-old"] = {
        **state.rules["hc-observer-silent"],
        "uid": "hc-old",
        "title": "old",
        "ruleGroup": "old",
    }
    state.intervals["headcount", "old"] = 30
    state.rules["hc-gone"] = {**state.rules["hc-observer-silent"], "uid": "hc-gone", "title": "gone"}
    found = push(url, notifier="grafana", email="a@example.org")
    assert [(c.action, c.kind, c.name) for c in found] == [
        ("update", "rule group", "headcount observer"),
        ("delete", "rule", "old"),
        ("delete", "contact point", "headcount (slack)"),
        ("delete", "dashboard", "headcount-old"),
    ]
    assert "- gone" in found[0].lines
    assert not {"headcount-old", "hc-old", "hc-gone", "hc-contact-slack"} & {
        *state.dashboards, *state.rules, *state.contact_points,
    }  # fmt: skip


def test_nobody_is_told_twice(url: str, state: State) -> None:
    push(url, email="a@example.org")
    on_runs = [rule for uid, rule in state.rules.items() if not uid.startswith("hc-observer")]
    assert all(rule["isPaused"] and "notification_settings" not in rule for rule in on_runs)
    observer = [rule for uid, rule in state.rules.items() if uid.startswith("hc-observer")]
    assert all(not r["isPaused"] and r["notification_settings"]["receiver"] == "headcount" for r in observer)
    push(url, notifier="grafana", email="a@example.org")
    assert not any(rule["isPaused"] for rule in state.rules.values())
    assert {r["notification_settings"]["receiver"] for r in state.rules.values()} == {"headcount"}


def test_without_a_receiver_the_observer_goes_by_grafanas_own_policies(url: str, state: State) -> None:
    push(url)
    assert state.contact_points == {}
    assert "notification_settings" not in state.rules["hc-observer-silent"]


def test_an_existing_contact_point_and_data_source_can_be_used(url: str, state: State) -> None:
    state.contact_points["x"] = {
        "uid": "x", "name": "team", "type": "email", "settings": {"addresses": "a@b.c"}, "provenance": "file",
    }  # fmt: skip
    state.datasources["theirs"] = {"uid": "theirs", "name": "theirs", "type": "grafana-clickhouse-datasource"}
    push(url, notifier="grafana", receiver="team", datasource_uid="theirs", manage_datasource=False)
    assert list(state.datasources) == ["theirs"]
    assert list(state.contact_points) == ["x"]
    assert state.rules["hc-class-empty_result"]["data"][0]["datasourceUid"] == "theirs"


def test_secrets_are_sent_again_only_when_told(url: str, state: State) -> None:
    push(url, slack_url=SLACK)
    hook, password = "https://slack.example/rotated", "rotated"
    assert changes(url, slack_url=hook, clickhouse_password=password) == []
    found = push(url, refresh_secrets=True, slack_url=hook, clickhouse_password=password)
    assert [change.kind for change in found] == ["data source", "contact point"]
    assert state.contact_points["hc-contact-slack"]["settings"]["url"] == "https://slack.example/rotated"
    assert "rotated" not in str([change.lines for change in found])


def test_a_dashboard_changed_meanwhile_is_not_overwritten(url: str, state: State) -> None:
    push(url)
    held = state.dashboards["headcount-run"]["dashboard"]
    held["title"] = "edited"
    with pytest.raises(NotOurs, match=r"changed by someone else \(version-mismatch\)"):
        push(url, between=lambda: held.update(version=7))


def test_a_data_source_changed_meanwhile_is_not_overwritten(url: str, state: State) -> None:
    push(url)
    held = state.datasources["headcount-clickhouse"]
    held["jsonData"]["port"] = 1
    with pytest.raises(NotOurs, match="already been updated by someone else"):
        push(url, between=lambda: held.update(version=7))


def test_what_a_file_keeps_is_left_to_the_file(url: str, state: State) -> None:
    push(url)
    state.dashboards["headcount-run"]["provisioned"] = True
    with pytest.raises(NotOurs, match="headcount-run comes from a file"):
        changes(url)
    state.dashboards["headcount-run"]["provisioned"] = False
    state.rules["hc-observer-silent"]["provenance"] = "file"
    with pytest.raises(NotOurs, match="headcount judges nothing is kept by 'file'"):
        changes(url)


def test_what_was_pushed_without_the_header_keeps_its_provenance(url: str, state: State) -> None:
    push(url, slack_url=SLACK)
    for held in (*state.rules.values(), *state.contact_points.values(), *state.templates.values()):
        held["provenance"] = "api"
    state.templates["headcount"]["template"] = '{{ define "x" }}{{ end }}'
    state.contact_points["hc-contact-slack"]["settings"]["title"] = "x"
    state.rules["hc-class-empty_result"]["title"] = "x"
    assert len(push(url, slack_url=SLACK)) == 3
    assert changes(url, slack_url=SLACK) == []


def test_a_dashboard_of_somebody_else_with_our_uid_is_refused(url: str, state: State) -> None:
    theirs = {"uid": "headcount-time", "title": "time", "tags": [], "version": 1}
    state.dashboards["headcount-time"] = {"dashboard": theirs, "folderUid": ""}
    with pytest.raises(NotOurs, match="is not ours: it lacks the tag 'headcount'"):
        changes(url)


def test_a_wrong_token_is_named(url: str) -> None:
    with pytest.raises(GrafanaError, match="does not know this token"):
        changes(url, token="wrong")


def test_a_missing_token_is_named(url: str) -> None:
    with pytest.raises(GrafanaError, match="set HEADCOUNT_GRAFANA_TOKEN"):
        Grafana(load_settings(url=url))


def test_a_token_with_too_few_rights_is_named(url: str, state: State) -> None:
    state.role = "Viewer"
    with pytest.raises(GrafanaError, match=r"forbids creating the data source.*role Admin"):
        push(url)


def test_a_missing_plugin_is_named(url: str, state: State) -> None:
    state.plugins.clear()
    with pytest.raises(GrafanaError, match="plugins install grafana-clickhouse-datasource"):
        changes(url)


@pytest.mark.parametrize(
    ("version", "notifier", "needed"),
    [
        ("8.5.27", "headcount", "9.1 or newer"),
        ("10.4.1", "grafana", "11.1 or newer is needed for HEADCOUNT_NOTIFIER"),
    ],
)
def test_too_old_a_version_is_named(url: str, state: State, version: str, notifier: str, needed: str) -> None:
    state.version = version
    with pytest.raises(GrafanaError, match=needed):
        changes(url, notifier=notifier, email="a@example.org")


@pytest.mark.parametrize("version", ["9.1.0", "10.4.1", "11.6.0", "12.4.0", "13.3.0"])
def test_every_version_from_9_to_13_is_taken(url: str, state: State, version: str) -> None:
    state.version = version
    push(url)
    assert changes(url) == []


def test_a_grafana_that_is_not_there_is_named() -> None:
    with serving(State()) as url:
        pass
    with pytest.raises(GrafanaError, match="cannot be reached"):
        changes(url)


def test_to_notify_nobody_is_refused() -> None:
    with pytest.raises(DashboardsError, match="HEADCOUNT_NOTIFIER=grafana, and nobody to tell"):
        load_settings(notifier="grafana")


def test_the_command_shows_asks_and_does(url: str, state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    app = Typer()
    commands(app)
    monkeypatch.setenv("HEADCOUNT_GRAFANA_TOKEN", TOKEN)
    run = CliRunner()
    shown = run.invoke(app, ["apply", "--url", url, "--dry-run"])
    assert shown.exit_code == 2, "one command of a group needs the group's name"
    shown = run.invoke(app, ["grafana", "apply", "--url", url, "--dry-run"])
    assert shown.exit_code == 3
    assert "+ dashboard headcount-fleet" in shown.stdout
    asked = run.invoke(app, ["grafana", "apply", "--url", url])
    assert asked.exit_code == 1
    assert "add --yes" in asked.stderr
    assert state.calls == []
    done = run.invoke(app, ["grafana", "apply", "--url", url, "--yes"])
    assert done.exit_code == 0
    assert "done: 11 changes" in done.stdout
    again = run.invoke(app, ["grafana", "apply", "--url", url, "--yes"])
    assert "is as it should be" in again.stdout


@pytest.mark.skipif("GRAFANA_URL" not in os.environ, reason="GRAFANA_URL names no Grafana to try this on")
def test_a_real_grafana_takes_it_twice() -> None:
    """Set GRAFANA_URL and GRAFANA_TOKEN (a service account with the role Admin; the plugin installed)."""
    made = load_settings(
        url=os.environ["GRAFANA_URL"], token=os.environ["GRAFANA_TOKEN"], clickhouse_password="x",
        notifier="grafana", email="a@example.org",
    )  # fmt: skip
    with Grafana(made) as grafana:
        for change in plan(made, grafana):
            change.perform()
        assert [(c.kind, c.name, c.lines) for c in plan(made, grafana)] == []
