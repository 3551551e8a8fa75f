"""What docs/alerts.md says is so."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import typer
from fastapi.routing import APIRoute

from headcount_alerts import settings as tables
from headcount_alerts.api import routes_of
from headcount_alerts.cli import commands
from headcount_alerts.service import Alerts
from headcount_alerts.settings import load_alerts
from headcount_alerts.silence import MATCHED
from headcount_collector.judge.policy import Policy
from headcount_collector.settings import load_settings
from headcount_collector.store import Store
from headcount_collector.watch.listener import Host

TEXT = (Path(__file__).parents[2] / "docs/alerts.md").read_text(encoding="utf-8")


def test_the_configuration_is_one_that_loads(tmp_path: Path) -> None:
    (table,) = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    for name in re.findall(r"/run/secrets/([\w-]+)", table):
        (tmp_path / name).write_text("secret")
    loaded = load_alerts(tomllib.loads(table.replace("/run/secrets", str(tmp_path)))["alerts"])
    assert loaded.route is not None
    assert set(loaded.receivers) == {"chat", "mail", "oncall"}


def test_every_command_is_named_and_every_named_command_exists() -> None:
    app = typer.Typer()
    commands(app)
    group = typer.main.get_command(app)
    known = set(group.commands)  # type: ignore[attr-defined]  # typer gives a group where there are several
    inner = set(group.commands["alerts"].commands)  # type: ignore[attr-defined]  # as above
    said = " ".join(TEXT.split())
    named = set(re.findall(r"headcount (incidents|ack|alerts [a-z]+)", said))
    assert named == {*(known - {"alerts"}), *(f"alerts {name}" for name in inner)}


def test_every_route_is_in_the_table(store: Store) -> None:
    alerts = Alerts(store, Policy(), load_alerts({}))
    router = routes_of(alerts, Host(store, load_settings(), lambda body: None))  # type: ignore[arg-type,return-value]  # nothing is submitted
    served = {
        f"{method} {route.path}"
        for route in router.routes
        if isinstance(route, APIRoute) and route.include_in_schema
        for method in route.methods or ()
    }
    assert served == set(re.findall(r"`((?:GET|POST|DELETE) /\S+)`", TEXT))


def test_every_channel_key_and_matcher_is_named() -> None:
    for name in MATCHED:
        assert f"`{name}`" in TEXT
    for table in (
        tables.SlackChannel,
        tables.WebhookChannel,
        tables.AlertmanagerChannel,
        tables.AppriseChannel,
        tables.NudgeChannel,
    ):
        for name in table.model_fields:
            if name not in ("type", "api") and not name.endswith("_file"):
                assert f"`{name}`" in TEXT, name
