"""Hooks in a settings file: idempotent, foreign ones untouched, backed up, and out again without a trace."""

from __future__ import annotations

import copy
import json
import stat
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from headcount_collector.cli import commands
from headcount_collector.cli.hook_settings import COMMAND_ONLY, Hooks, with_hooks, without_hooks
from headcount_collector.evidence import HOOK_EVENTS
from headcount_collector.settings import Settings

HOOKS = Hooks(
    "/hooks/claude-code",
    "http://127.0.0.1:4318/hooks/claude-code",
    "py forward_hook.py http://127.0.0.1:4318/hooks/claude-code",
    ("Stop", "PreToolUse"),
)
FOREIGN: dict[str, Any] = {
    "model": "opus",
    "hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
        "Notification": [{"matcher": "", "hooks": []}],
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "http", "url": "http://other/hooks"}]}],
    },
}

app = typer.Typer()
commands(app)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"HEADCOUNT_{name.upper()}", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HEADCOUNT_DATA", str(tmp_path / "data"))
    for name in ("CLAUDE_CONFIG_DIR", "QWEN_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path


def headcount(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "140"})


def test_installing_leaves_foreign_hooks_alone_and_uninstalling_leaves_no_trace() -> None:
    before = copy.deepcopy(FOREIGN)
    inside = with_hooks(FOREIGN, HOOKS)
    assert before == FOREIGN, "the argument is not changed"
    assert inside["hooks"]["Stop"][0] == FOREIGN["hooks"]["Stop"][0]
    assert len(inside["hooks"]["Stop"]) == len(inside["hooks"]["PreToolUse"]) == 2
    assert without_hooks(inside, HOOKS.path) == FOREIGN


_foreign_hook = st.fixed_dictionaries({"type": st.just("command"), "command": st.text(max_size=8)})
_foreign = st.dictionaries(
    st.sampled_from(["Stop", "PreToolUse", "Other"]),
    st.lists(st.fixed_dictionaries({"hooks": st.lists(_foreign_hook, max_size=2)}), min_size=1, max_size=3),
    min_size=1,
)


@settings(max_examples=50, deadline=None)
@given(_foreign)
def test_in_is_idempotent_and_out_restores_whatever_others_have(events: dict[str, Any]) -> None:
    before = {"hooks": events, "other": 1}
    inside = with_hooks(before, HOOKS)
    assert with_hooks(inside, HOOKS) == inside
    assert without_hooks(inside, HOOKS.path) == before


def test_another_address_replaces_the_former_one() -> None:
    moved = Hooks(HOOKS.path, "http://127.0.0.1:9/hooks/claude-code", HOOKS.command, HOOKS.events)
    found = with_hooks(with_hooks({}, HOOKS), moved)
    assert [entry["hooks"][0]["url"] for entry in found["hooks"]["Stop"]] == [moved.url]


def test_ours_in_an_entry_with_others_goes_alone() -> None:
    inside = with_hooks({}, HOOKS)
    other = {"type": "command", "command": "say done"}
    inside["hooks"]["Stop"][0]["hooks"].append(other)
    assert without_hooks(inside, HOOKS.path) == {"hooks": {"Stop": [{"hooks": [other]}]}}


def test_events_that_take_no_http_hook_get_the_command() -> None:
    hooks = Hooks(HOOKS.path, HOOKS.url, HOOKS.command, tuple(COMMAND_ONLY))
    assert {event: hooks.entry(event)["hooks"][0]["type"] for event in hooks.events} == dict.fromkeys(
        COMMAND_ONLY, "command"
    )


def test_install_status_and_uninstall_of_a_user(home: Path) -> None:
    file = home / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text(json.dumps(FOREIGN))
    file.chmod(0o640)
    dry = headcount("claude-code", "install", "--dry-run")
    assert dry.exit_code == 0, dry.output
    assert json.loads(file.read_text()) == FOREIGN
    assert headcount("claude-code", "install").exit_code == 0
    assert set(json.loads(file.read_text())["hooks"]) == set(HOOK_EVENTS) | set(FOREIGN["hooks"])
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert "nothing to change" in headcount("claude-code", "install").output
    (backup,) = file.parent.glob("*.bak")
    assert json.loads(backup.read_text()) == FOREIGN
    status = headcount("claude-code", "status", "--url", "http://127.0.0.1:1")
    assert status.exit_code == 1
    assert f"all {len(HOOK_EVENTS)} hooks" in status.output
    assert "no collector answers" in status.output
    assert headcount("claude-code", "uninstall").exit_code == 0
    assert json.loads(file.read_text()) == FOREIGN
    assert "nothing to change" in headcount("claude-code", "uninstall").output


def test_a_project_has_settings_of_its_own_and_a_token_is_named_never_written(home: Path) -> None:
    headcount("claude-code", "install", "--scope", "local", "--token", "--url", "http://127.0.0.1:4318")
    text = (home / "project" / ".claude" / "settings.local.json").read_text()
    assert "Bearer $HEADCOUNT_TOKEN" in text
    assert not (home / ".claude").exists()


@pytest.mark.parametrize("command", ["install", "uninstall", "status"])
@pytest.mark.parametrize(
    "text",
    ['{"hooks": ', "[]", '{"hooks": null}', '{"hooks": {"Stop": {"hooks": []}}}', "\x00", '{"hooks": [1]}'],
)
def test_a_file_that_is_no_harnesss_is_refused_and_left_as_it_is(home: Path, text: str, command: str) -> None:
    file = home / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text(text)
    result = headcount(
        "claude-code", command, *(("--url", "http://127.0.0.1:1") if command == "status" else ())
    )
    assert result.exit_code == 1
    assert "left as it is" in result.output.replace("\n", " ")
    assert file.read_text() == text
    assert list(file.parent.iterdir()) == [file]


def test_qwen_codes_hooks_go_by_the_command_that_ends_with_zero(home: Path) -> None:
    assert headcount("qwen-code", "install").exit_code == 0
    hooks = json.loads((home / ".qwen" / "settings.json").read_text())["hooks"]
    (entry,) = hooks["SubagentStop"]
    assert entry["hooks"][0]["type"] == "command"
    assert entry["hooks"][0]["command"].endswith("forward_hook.py http://127.0.0.1:4318/hooks/qwen-code")
