"""What the README says is so: its tables are complete, its commands and snippets work, its picture is of this program."""

from __future__ import annotations

import json
import re
import runpy
import shlex
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer
from fastapi.routing import APIRoute

import headcount.testing
from headcount_collector.api import (
    actions,
    backups,
    details,
    events,
    health,
    hooks,
    observer,
    rejudge,
    runs,
    sessions,
)
from headcount_collector.cli import commands
from headcount_collector.cli.story import EXPECTED
from headcount_collector.cli.words import STATUS_WORDS
from headcount_collector.evidence import claude_code
from headcount_collector.judge.policy import Policy, Times
from headcount_collector.judge.verdict import STATUSES
from headcount_collector.page import incidents
from headcount_collector.page import routes as pages
from headcount_collector.settings import SECRETS, Settings, load_settings, variable_of
from tests.e2e.processes import headcount as headcount_command
from tests.e2e.processes import serving
from tests.e2e.test_recordings import POLICY, judged
from tests.e2e.test_recordings import hooks as recorded_hooks

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
OPERATING = (ROOT / "docs/operating.md").read_text()
OTLP_ROUTES = {"POST /v1/traces", "POST /v1/metrics", "POST /v1/logs"}


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the table below a heading."""
    section = README.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def application() -> typer.Typer:
    app = typer.Typer()
    commands(app)
    return app


def test_every_setting_is_in_the_table() -> None:
    table = {row[0].strip("`"): row for row in rows("Settings")}
    for name, field in Settings.model_fields.items():
        if name != "policy":
            assert table[name][1] == f"`{variable_of(name)}`"
            assert table[name][3].strip(" |") == field.description
    for name in SECRETS:
        assert f"`{variable_of(name)}_FILE`" in README


def test_every_time_of_the_policy_is_in_the_table_with_its_default() -> None:
    table = {row[0].strip("`"): row for row in rows("Settings") if row[0].startswith("`policy.")}
    settable = {field.name for field in fields(Times)} - {"overdue_factor", "tools"}
    assert {name.removeprefix("policy.") for name in table} == settable
    for name in settable:
        variable, default = table[f"policy.{name}"][1:3]
        assert variable == f"`HEADCOUNT_POLICY__{name.upper()}`"
        value: Any = default.strip("`")
        value = int(value) if value.isdigit() else value
        assert getattr(Policy.from_mapping({name: value}).default, name) == getattr(Times(), name), name


def test_every_variable_that_any_part_reads_is_in_the_readme() -> None:
    sources = [*ROOT.glob("instrumentation/**/*.py"), *ROOT.glob("collector/**/*.py")]
    read = {name for path in sources for name in re.findall(r'"(HEADCOUNT_[A-Z_]+)"', path.read_text())}
    assert read - set(re.findall(r"HEADCOUNT_[A-Z_]+", README)) == set()


def test_every_command_and_option_is_in_the_table() -> None:
    table = {row[0].strip("`").split()[1]: row[1] for row in rows("Commands")}
    group = typer.main.get_command(application())
    found = group.commands  # type: ignore[attr-defined]  # typer gives a group where there are several commands
    assert set(table) - {"--version"} == set(found)
    for name, command in found.items():
        for parameter in command.params:
            option = parameter.opts[0]
            if option.startswith("--") and option not in ("--help", "--url", "--config"):
                assert option in table[name], f"{name} {option}"


def test_every_route_is_in_the_table() -> None:
    served = OTLP_ROUTES | {
        f"{method} {route.path.replace(':path', '')}"
        for part in (
            actions,
            backups,
            details,
            events,
            health,
            hooks,
            incidents,
            observer,
            pages,
            rejudge,
            runs,
            sessions,
        )
        for route in part.routes.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    }
    listed = {route for row in rows("Routes") for route in re.findall(r"`((?:GET|POST) \S+)`", row[0])}
    assert served <= listed
    assert listed - served == {"GET /api/v1/openapi.json", "GET /clickhouse/", "POST /clickhouse/"}


def test_every_status_is_in_the_table() -> None:
    assert {row[0].strip("`") for row in rows("The way of the data")} == set(STATUSES) == set(STATUS_WORDS)


def shell_lines() -> Iterator[str]:
    for block in (*blocks(README, "sh"), *blocks(OPERATING, "sh")):
        for line in block.splitlines():
            yield line.split(" #")[0].strip()


@pytest.mark.parametrize("line", sorted({line for line in shell_lines() if line}))
def test_every_command_line_is_one_that_exists(line: str) -> None:
    words = [word for word in shlex.split(line) if "=" not in word or word.startswith("-")]
    if words[:1] == ["make"]:
        assert re.search(rf"^{words[1]}: ", (ROOT / "Makefile").read_text(), re.MULTILINE)
    elif words[:1] == ["headcount"]:
        group = typer.main.get_command(application())
        command = group.commands[words[1]]  # type: ignore[attr-defined]  # as above
        arguments = [word if word != "RUN" else "some-run" for word in words[2:]]
        command.make_context(words[1], arguments, resilient_parsing=False).close()
    else:
        assert words[0] in ("pip", "export"), line


def test_the_program_in_ten_lines_reports_a_delivered_run(tmp_path: Path) -> None:
    (program,) = blocks(README, "python")
    quiet = program.replace('headcount.configure(service_name="orchestrator")\n', "")
    assert quiet != program
    path = tmp_path / "orchestrator.py"
    path.write_text(quiet)
    with headcount.testing.record() as recorder:
        runpy.run_path(str(path))
    assert recorder.undelivered() == []
    assert {event.event for event in recorder.events} >= {
        "dispatch",
        "tool_call",
        "first_token",
        "child_done",
    }
    lines = [line for line in program.splitlines() if line and not line.startswith("import")]
    assert len(lines) <= 10


def test_the_hooks_are_those_that_are_read() -> None:
    (snippet,) = blocks(README, "json")
    configured = json.loads(snippet)["hooks"]
    assert set(configured) == set(claude_code._ROOT) | set(claude_code._CHILD)
    for entries in configured.values():
        assert entries[0]["hooks"][0]["url"] == "http://127.0.0.1:4318/hooks/claude-code"


def test_the_file_of_the_operating_guide_can_be_used(tmp_path: Path) -> None:
    (config,) = blocks(OPERATING, "toml")
    path = tmp_path / "headcount.toml"
    path.write_text(config)
    settings = load_settings(path, token="a token of some length")
    assert settings.judged_by.times("s", "reviewer", "here").expected == 45 * 60 * 10**9


def test_the_metrics_of_the_operating_guide_exist() -> None:
    parts = ("collector.py", "housekeeping.py")
    source = "".join((ROOT / "collector/headcount_collector/api" / part).read_text() for part in parts)
    for name in re.findall(r"`(headcount_[a-z_]+)`", OPERATING):
        short = name.removeprefix("headcount_").removesuffix("_total")
        assert name in source or f'"{short}"' in source, name


def test_the_picture_is_of_the_demo() -> None:
    picture = (ROOT / "docs/pictures/demo.svg").read_text().replace("&#160;", " ")
    for run, statuses in EXPECTED.items():
        assert f">{run}" in picture
        assert STATUS_WORDS[statuses[-1]][1] in picture
    assert "font-face" not in picture


def test_the_page_of_a_run_is_what_the_command_prints(tmp_path: Path) -> None:
    (shown,) = (block for block in blocks(README, "text") if block.startswith("■"))
    run = shown.split()[4]
    bodies = recorded_hooks("teammate-mute")
    with serving(tmp_path / "data", variables=POLICY) as served:
        for body in bodies:
            served.post("/hooks/claude-code", body)
        sessions = {json.loads(bodies[0])["session_id"]}
        judged(served, sessions, [("done_but_not_forwarded", "teammate")])
        printed = headcount_command("run", run, "--url", served.url).stdout
    assert skeleton(printed) == skeleton(shown)


def skeleton(text: str) -> list[str]:
    """Return a page without what differs from time to time: clocks, lengths, the order of one moment, beliefs."""
    text = text.split("what was believed")[0]
    text = re.sub(r"\d\d:\d\d:\d\d|\d+[dhms]( \d+[hms])?", "T", text)
    return sorted(re.sub(r"\s+", " ", line).strip() for line in text.splitlines() if line.strip())
