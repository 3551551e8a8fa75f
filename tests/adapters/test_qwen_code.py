"""The real Qwen Code against a scripted model, with the hooks that `install` puts in, watched by a real collector."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.collector.running import Running, eventually, running_collector
from tests.e2e.processes import headcount

from .environments import program_of, with_node
from .scripted_chat import CHILD, ScriptedChat, Vocabulary

PROGRAM = program_of("qwen-code", "@qwen-code/qwen-code/cli.js")

pytestmark = pytest.mark.skipif(
    PROGRAM is None, reason="Qwen Code is not installed: `make adapters ADAPTERS=qwen-code` (needs npm)"
)


def is_child(messages: list[dict[str, Any]]) -> bool:
    said = json.dumps([message for message in messages if message.get("role") == "user"])
    return CHILD in said and "DISPATCH" not in said


WORDS = Vocabulary(
    dispatcher="agent",
    shell="run_shell_command",
    dispatch=lambda prompt, background: {
        "description": "find the answer",
        "prompt": prompt,
        "subagent_type": "general-purpose",
        "run_in_background": background,
    },
    command={"command": "echo hello", "description": "say hello", "is_background": False},
    is_child=is_child,
)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_collector(
        tmp_path_factory.mktemp("data"), policy={"expected": "20s", "skew": "1s"}
    ) as found:
        yield found


@pytest.fixture
def ask(running: Running, tmp_path: Path) -> Callable[..., None]:
    def asked(prompt: str, timeout_s: float = 400) -> None:
        home = tmp_path / "home"
        (home / "project").mkdir(parents=True)
        installed = headcount("qwen-code", "install", "--url", running.url, HOME=str(home))
        assert installed.returncode == 0, installed.stderr
        kept = {key: os.environ[key] for key in ("LANG", "TMPDIR") if key in os.environ}
        with ScriptedChat(WORDS) as model:
            subprocess.run(
                ["node", str(PROGRAM), "--auth-type", "openai", "--yolo", "-p", prompt],
                cwd=home / "project",
                env={
                    **kept,
                    "PATH": with_node("qwen-code")["PATH"],
                    "HOME": str(home),
                    "OPENAI_BASE_URL": model.url,
                    "OPENAI_API_KEY": "none",
                    "OPENAI_MODEL": "scripted",
                    "NO_PROXY": "127.0.0.1",
                },
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=timeout_s,
                check=True,
            )

    return asked


def known(running: Running) -> set[str]:
    return {run["run"] for run in running.get("/api/v1/runs?limit=100").json["runs"]}


def fresh(running: Running, before: set[str], number: int, *statuses: str) -> list[dict[str, Any]]:
    def found() -> list[dict[str, Any]]:
        page = running.get("/api/v1/runs?limit=100").json["runs"]
        runs = [run for run in page if run["run"] not in before]
        return runs if len(runs) == number and {run["status"] for run in runs} <= set(statuses) else []

    return list(eventually(found))


@pytest.mark.parametrize(
    ("prompt", "number", "outcome", "tools"),
    [
        ("DISPATCH", 1, "ok", 1),
        ("DISPATCH N=2", 2, "ok", 1),
        ("DISPATCH BACKGROUND N=2", 2, "ok", 1),
        ("DISPATCH CHILD_ERROR", 1, "error", 0),
        ("DISPATCH BACKGROUND CHILD_ERROR", 1, "error", 0),
    ],
)
def test_every_result_is_counted_back_in(
    running: Running, ask: Callable[..., None], prompt: str, number: int, outcome: str, tools: int
) -> None:
    before = known(running)
    ask(prompt)
    # On a busy machine it may take longer than was expected; what counts is that it came back.
    for run in fresh(running, before, number, "completed", "recovered"):
        assert (run["agent"], run["outcome"], run["tool_calls"]) == ("general-purpose", outcome, tools)


def test_a_child_that_hangs_is_found(running: Running, ask: Callable[..., None]) -> None:
    before = known(running)
    with pytest.raises(subprocess.TimeoutExpired):
        ask("DISPATCH CHILD_HANG", timeout_s=15)
    (run,) = fresh(running, before, 1, "suspect_delivery_failure")
    assert run["delivered_at"] is None
