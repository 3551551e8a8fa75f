"""The stack to try it: what compose.yaml names exists, and the agent in it misbehaves as it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from compose_spec import PyCompose
from typer import Typer
from typer.testing import CliRunner

from headcount_collector import cli as collector_cli
from headcount_collector.settings import PREFIX, Settings, load_settings
from headcount_dashboards import cli
from headcount_dashboards.settings import NOTIFIER, GrafanaSettings, variable_of
from headcount_dashboards.settings import load_settings as load_grafana_settings
from tests.collector.running import PATIENCE_S, Running, running_collector

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "docs" / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, Any] = COMPOSE["services"]


def filled(value: Any) -> Any:
    """Return a part of the file with the defaults of its variables in their place."""
    if isinstance(value, dict):
        return {key: filled(one) for key, one in value.items()}
    if isinstance(value, list):
        return [filled(one) for one in value]
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", value) if isinstance(value, str) else value


def test_the_file_is_what_the_specification_of_compose_takes() -> None:
    text = yaml.safe_dump(filled(COMPOSE))
    assert sorted(PyCompose.from_yaml(text).service_names()) == sorted(SERVICES)
    for wrong in (
        ("retries: 60", "retry: 60"),
        ("service_healthy", "healthy"),
        ("127.0.0.1:3000:3000", "here:3000:3000"),
    ):
        assert wrong[0] in text
        with pytest.raises(ValueError, match="services"):
            PyCompose.from_yaml(text.replace(*wrong))


def test_what_is_built_and_copied_exists() -> None:
    for service in SERVICES.values():
        if build := service.get("build"):
            context = (DEPLOY / build["context"]).resolve()
            assert context == ROOT
            assert (context / build["dockerfile"]).is_file()
    copied = re.findall(r"/src/(docs/\S+)", (DEPLOY / "Dockerfile").read_text())
    assert copied
    assert all((ROOT / path).is_file() for path in copied)
    assert SERVICES["agent"]["entrypoint"][1] == "/srv/" + Path(copied[0]).name


def test_the_commands_and_variables_of_the_guide_exist() -> None:
    guide = (ROOT / "docs" / "grafana.md").read_text(encoding="utf-8")
    lines = [
        line for block in re.findall(r"```sh\n(.*?)```", guide, re.DOTALL) for line in block.splitlines()
    ]
    commands = [line.split() for line in lines if line.startswith("headcount ")]
    assert len(commands) >= 3
    for _, *words in commands:
        shown = CliRunner().invoke(_app(), [*words[:2], "--help"], env={"COLUMNS": "200"})
        assert shown.exit_code == 0
        assert all(word in shown.output for word in words if word.startswith("--"))
    files = [word for line in lines for word in line.split() if word.startswith("docs/")]
    assert files
    assert all((ROOT / path).is_file() for path in files)
    known = {variable_of(name) for name in GrafanaSettings.model_fields}
    known |= {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}
    named = set(re.findall(r"HEADCOUNT_[A-Z_]*[A-Z]", guide))
    assert {name for name in named if name not in known} == set()


def test_services_need_each_other_and_volumes_exist() -> None:
    assert set(SERVICES) == {"clickhouse", "headcount", "agent", "render", "grafana"}
    for service in SERVICES.values():
        for needed, how in service.get("depends_on", {}).items():
            assert needed in SERVICES
            if how["condition"] == "service_healthy":
                assert "healthcheck" in SERVICES[needed]
        for mount in service.get("volumes", []):
            assert mount.split(":")[0] in COMPOSE["volumes"]


def test_only_this_machine_can_reach_it() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_every_variable_is_a_setting() -> None:
    known = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields} | {NOTIFIER, "HEADCOUNT_ENDPOINT"}
    known |= {variable_of(name) for name in GrafanaSettings.model_fields}
    for service in SERVICES.values():
        for name in service.get("environment", {}):
            assert not name.startswith("HEADCOUNT_") or name in known, name


def test_the_settings_of_the_stack_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SERVICES["headcount"]["environment"].items():
        monkeypatch.setenv(name, filled(str(value)))
    store = load_settings().store_location
    assert store.startswith("http://headcount:only-to-try-it@clickhouse:8123/")
    made = load_grafana_settings()
    assert made.clickhouse_host == "clickhouse"
    assert not made.notifies


def test_grafana_knows_every_secret_that_the_rendered_files_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SERVICES["render"]["environment"].items():
        monkeypatch.setenv(name, filled(str(value)))
    monkeypatch.setenv("HEADCOUNT_GRAFANA_SLACK_URL", "https://slack.example/x")
    done = CliRunner().invoke(_app(), ["grafana", "render", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    text = "".join(path.read_text() for path in files if path.suffix == ".yaml")
    named = set(re.findall(r"\$\{(HEADCOUNT_GRAFANA_\w+)\}", text))
    assert named
    assert named <= set(SERVICES["grafana"]["environment"])
    home = SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert (tmp_path / Path(home).relative_to("/etc/grafana/provisioning")).exists()


def test_the_commands_of_the_stack_exist() -> None:
    for name in ("headcount", "render"):
        command = [word for word in SERVICES[name]["command"] if not word.startswith(("-", "/"))]
        assert CliRunner().invoke(_app(), [*command, "--help"]).exit_code == 0


def test_the_image_installs_extras_that_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = re.search(r'"/src\[(.*?)\]"', (DEPLOY / "Dockerfile").read_text())
    assert named is not None
    assert set(named[1].split(",")) <= set(extras)
    assert SERVICES["headcount"]["build"]["dockerfile"] == "docs/deploy/Dockerfile"


def test_the_agent_misbehaves_as_it_says(tmp_path: Path) -> None:
    wanted = {
        "returns": ("completed", None),
        "lost": ("done_but_not_forwarded", "done_but_not_forwarded"),
        "unheard": ("suspect_delivery_failure", "no_completion_event"),
        "fails": ("blocked", "child_failed_unreported"),
        "busy": ("completed", None),
    }
    policy = {"delivery_grace": "200ms", "skew": "100ms", "start_within": "300ms"}
    with running_collector(tmp_path, policy=policy) as running:
        agent = [sys.executable, str(DEPLOY / "agent.py"), "--rounds", "1", "--speed", "30"]
        environment = {**os.environ, "HEADCOUNT_ENDPOINT": running.url, "HEADCOUNT_SPOOL": "off"}
        subprocess.run(agent, env=environment, check=True, timeout=PATIENCE_S)
        until = time.monotonic() + PATIENCE_S
        while (found := _kinds(running)) != wanted and time.monotonic() < until:
            pass
        assert found == wanted


def _kinds(running: Running) -> dict[str, tuple[str, str | None]]:
    """Return status and class by the kind of child, which its run id begins with."""
    runs = running.get("/api/v1/runs").json["runs"]
    return {run["run"].split("-")[0]: (run["status"], run["class"]) for run in runs}


def _app() -> Typer:
    app = Typer()
    collector_cli.commands(app)
    cli.commands(app)
    return app
