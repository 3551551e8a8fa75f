"""The real Claude Code against a scripted model, with the hooks that `install` puts in: what it does is what is judged."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .processes import PATIENCE_S, Served, headcount, serving
from .scripted_model import ANSWER, ScriptedModel

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


def ask(home: Path, url: str, prompt: str, timeout_s: float = PATIENCE_S) -> subprocess.CompletedProcess[str]:
    binary = program()
    assert binary is not None
    kept = {key: os.environ[key] for key in ("PATH", "LANG", "TMPDIR") if key in os.environ}
    with ScriptedModel() as model:
        return subprocess.run(
            [binary, "-p", prompt, "--allowedTools", "Bash,Agent,Task"],
            cwd=home / "project",
            env={
                **kept,
                "HOME": str(home),
                "ANTHROPIC_BASE_URL": model.url,
                "ANTHROPIC_API_KEY": "none",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "DISABLE_AUTOUPDATER": "1",
                "NO_PROXY": "127.0.0.1",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )


def runs(served: Served, expected: int, status: str) -> list[dict[str, Any]]:
    from tests.collector.running import eventually

    def found() -> list[dict[str, Any]]:
        page: list[dict[str, Any]] = served.get("/api/v1/runs")["runs"]
        return page if [run["status"] for run in page] == [status] * expected else []

    return list(eventually(found))


@pytest.mark.parametrize("by_command", [False, True], ids=["http", "command"])
def test_a_real_session_is_watched_and_every_result_counted_back_in(
    served: Served, home: Path, by_command: bool
) -> None:
    options = ["--command"] if by_command else []
    installed = headcount("claude-code", "install", "--url", served.url, *options, HOME=str(home))
    assert installed.returncode == 0, installed.stderr
    assert headcount("claude-code", "status", "--url", served.url, HOME=str(home)).returncode == 0
    ended = ask(home, served.url, "DISPATCH N=2")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    for run in runs(served, 2, "completed"):
        assert (run["agent"], run["outcome"], run["tool_calls"]) == ("general-purpose", "ok", 1)


def test_a_childs_error_is_told_and_a_background_child_comes_back(served: Served, home: Path) -> None:
    headcount("claude-code", "install", "--url", served.url, HOME=str(home))
    assert ask(home, served.url, "DISPATCH CHILD_ERROR").returncode == 0
    (failed,) = runs(served, 1, "completed")
    assert failed["outcome"] == "error"
    assert ask(home, served.url, "DISPATCH BACKGROUND").returncode == 0
    runs(served, 2, "completed")


def test_a_session_without_hooks_is_read_from_its_transcripts_and_its_answer_recovered(
    served: Served, home: Path
) -> None:
    assert ask(home, served.url, "DISPATCH").returncode == 0
    folder = home / ".claude" / "projects"
    read = headcount("claude-code", "transcripts", str(folder), "--url", served.url, HOME=str(home))
    assert read.returncode == 0, read.stderr
    (run,) = runs(served, 1, "completed")
    recovered = headcount("recover", run["run"], "--url", served.url, HOME=str(home))
    assert (recovered.returncode, recovered.stdout) == (0, f"{ANSWER}\n"), recovered.stderr
    as_json = headcount("recover", run["run"], "--json", "--url", served.url, HOME=str(home))
    assert json.loads(as_json.stdout)["result"] == ANSWER


def test_a_session_that_is_killed_leaves_a_child_that_is_found(
    served: Served, home: Path, tmp_path: Path
) -> None:
    headcount("claude-code", "install", "--url", served.url, HOME=str(home))
    with pytest.raises(subprocess.TimeoutExpired):
        ask(home, served.url, "DISPATCH CHILD_HANG", timeout_s=12)
    (run,) = served.get("/api/v1/runs")["runs"]
    assert (run["status"], run["delivered_at"]) == ("active", None)
