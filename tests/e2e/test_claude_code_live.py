"""The real Claude Code against a scripted model, with the hooks that `install` puts in: what it does is what is judged."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headcount_collector.evidence.moment import moment_ns
from tests.collector.running import eventually

from .processes import WHOLE_STORY, Served, headcount, killed_at_the_end_of_a_child, serving, session
from .scripted_model import ANSWER, ScriptedModel

HARNESS_S = 300.0
"""How long a session may take on a busy machine."""
ADAPTERS = Path(__file__).parents[2] / ".venv-adapters"


def program() -> str | None:
    """Return the real program: from npm, from the wheel of its SDK, or whatever the machine has."""
    chosen = os.environ.get("HEADCOUNT_TEST_CLAUDE")
    npm = ADAPTERS / "claude-code" / "node_modules" / ".bin" / "claude"
    bundled = sorted(ADAPTERS.glob("*/lib/*/site-packages/claude_agent_sdk/_bundled/claude"))
    return next(
        (str(path) for path in (chosen, npm, *bundled) if path and Path(path).exists()), None
    ) or shutil.which("claude")


pytestmark = pytest.mark.skipif(
    program() is None, reason="Claude Code is not installed: `make adapters ADAPTERS=claude-code` (needs npm)"
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    (folder / "project").mkdir(parents=True)
    return folder


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path / "data") as found:
        yield found


@pytest.fixture
def impatient(tmp_path: Path) -> Iterator[Served]:
    """A collector whose policy suits a test."""
    config = tmp_path / "headcount.toml"
    config.write_text('[policy]\nexpected = "20s"\nskew = "1s"\ndelivery_grace = "2s"\n')
    with serving(tmp_path / "data", "--config", str(config)) as found:
        yield found


def command(prompt: str) -> list[str]:
    binary = program()
    assert binary is not None
    return [binary, "-p", prompt, "--allowedTools", "Bash,Agent,Task,TaskStop,SendMessage"]


def environment(home: Path, model: ScriptedModel) -> dict[str, str]:
    return {
        **{key: os.environ[key] for key in ("PATH", "LANG", "TMPDIR") if key in os.environ},
        "HOME": str(home),
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "NO_PROXY": "127.0.0.1",
    }


def ask(home: Path, prompt: str) -> subprocess.CompletedProcess[str]:
    """Play a session to its end."""
    with ScriptedModel() as model:
        return subprocess.run(
            command(prompt),
            cwd=home / "project",
            env=environment(home, model),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=HARNESS_S,
            check=False,
        )


@contextlib.contextmanager
def begun(home: Path, prompt: str) -> Iterator[tuple[ScriptedModel, subprocess.Popen[bytes]]]:
    """Begin a session that is killed at the end."""
    with (
        ScriptedModel() as model,
        session(command(prompt), home / "project", environment(home, model)) as process,
    ):
        yield model, process


def runs(served: Served, expected: int, status: str) -> list[dict[str, Any]]:
    def found() -> list[dict[str, Any]]:
        page: list[dict[str, Any]] = served.get("/api/v1/runs")["runs"]
        return page if [run["status"] for run in page] == [status] * expected else []

    return list(eventually(found, HARNESS_S))


@pytest.mark.parametrize("by_command", [False, True], ids=["http", "command"])
def test_a_real_session_is_watched_and_every_result_counted_back_in(
    served: Served, home: Path, by_command: bool
) -> None:
    options = ["--command"] if by_command else []
    installed = headcount("claude-code", "install", "--url", served.url, *options, HOME=str(home))
    assert installed.returncode == 0, installed.stderr
    assert headcount("claude-code", "status", "--url", served.url, HOME=str(home)).returncode == 0
    ended = ask(home, "DISPATCH N=2")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    for run in runs(served, 2, "completed"):
        assert (run["agent"], run["outcome"], run["tool_calls"]) == ("general-purpose", "ok", 1)
        assert {one["event"] for one in served.get(f"/api/v1/runs/{run['run']}")["timeline"]} >= WHOLE_STORY


def test_a_childs_error_is_told_and_a_background_child_comes_back(served: Served, home: Path) -> None:
    headcount("claude-code", "install", "--url", served.url, HOME=str(home))
    assert ask(home, "DISPATCH CHILD_ERROR").returncode == 0
    (failed,) = runs(served, 1, "completed")
    assert failed["outcome"] == "error"
    assert ask(home, "DISPATCH BACKGROUND").returncode == 0
    runs(served, 2, "completed")


def test_a_session_without_hooks_is_read_from_its_transcripts_and_its_answer_recovered(
    served: Served, home: Path
) -> None:
    assert ask(home, "DISPATCH").returncode == 0
    folder = home / ".claude" / "projects"
    read = headcount("claude-code", "transcripts", str(folder), "--url", served.url, HOME=str(home))
    assert read.returncode == 0, read.stderr
    (run,) = runs(served, 1, "completed")
    recovered = headcount("recover", run["run"], "--url", served.url, HOME=str(home))
    assert (recovered.returncode, recovered.stdout) == (0, f"{ANSWER}\n"), recovered.stderr
    as_json = headcount("recover", run["run"], "--json", "--url", served.url, HOME=str(home))
    assert json.loads(as_json.stdout)["result"] == ANSWER


def test_a_child_of_a_child_is_owed_to_the_child(served: Served, home: Path) -> None:
    headcount("claude-code", "install", "--url", served.url, HOME=str(home))
    assert ask(home, "DISPATCH CHILD_NESTS").returncode == 0
    found = {run["owner"]: run for run in runs(served, 2, "completed")}
    child = found[""]
    grandchild = found[child["child_sessions"][0]]
    assert grandchild["session"] == child["session"]
    assert (child["outcome"], grandchild["outcome"]) == ("ok", "ok")


def test_a_child_that_its_owner_stops_is_void(served: Served, home: Path) -> None:
    headcount("claude-code", "install", "--url", served.url, HOME=str(home))
    assert ask(home, "DISPATCH BACKGROUND CHILD_HANG THEN_STOP").returncode == 0
    (run,) = runs(served, 1, "completed")
    assert run["outcome"] == "cancelled"


def test_a_child_that_hangs_is_found_at_its_second(impatient: Served, home: Path) -> None:
    headcount("claude-code", "install", "--url", impatient.url, HOME=str(home))
    with begun(home, "DISPATCH CHILD_HANG") as (model, _process):
        assert model.hanging.wait(HARNESS_S)
        (run,) = runs(impatient, 1, "suspect_delivery_failure")
    asked, found = (moment_ns(at) for at in (run["receipts"]["dispatchAt"], run["first_abnormal_at"]))
    assert found - asked == 20_000_000_000
    assert run["delivered_at"] is None


def test_a_result_that_never_reached_its_owner_is_found(impatient: Served, home: Path) -> None:
    headcount("claude-code", "install", "--url", impatient.url, HOME=str(home))
    killed_at_the_end_of_a_child(home / ".claude" / "settings.json")
    with begun(home, "DISPATCH BACKGROUND CHILD_SLOW") as (_model, process):
        process.wait(HARNESS_S)
        (run,) = runs(impatient, 1, "done_but_not_forwarded")
    assert (run["outcome"], run["delivered_at"], run["class"]) == ("ok", None, "done_but_not_forwarded")
