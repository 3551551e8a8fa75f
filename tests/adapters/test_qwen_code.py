"""The real Qwen Code against a scripted model, with the hooks that `install` puts in, watched by a real collector."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headcount_collector.evidence.moment import moment_ns
from tests.collector.running import Running, eventually, running_collector
from tests.e2e.processes import WHOLE_STORY, headcount, killed_at_the_end_of_a_child, session

from .environments import program_of, with_node
from .scripted_chat import AGAIN, CHILD, ScriptedChat, Vocabulary

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
    stop=lambda call: ("task_stop", {"task_id": f"general-purpose-{call}"}),
    ask_again=lambda call: ("send_message", {"task_id": f"general-purpose-{call}", "message": AGAIN}),
)
HARNESS_S = 400.0
"""How long a session may take on a busy machine."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_collector(
        tmp_path_factory.mktemp("data"), policy={"expected": "20s", "skew": "1s", "delivery_grace": "2s"}
    ) as found:
        yield found


@pytest.fixture
def home(running: Running, tmp_path: Path) -> Path:
    found = tmp_path / "home"
    (found / "project").mkdir(parents=True)
    installed = headcount("qwen-code", "install", "--url", running.url, HOME=str(found))
    assert installed.returncode == 0, installed.stderr
    return found


@contextlib.contextmanager
def begun(home: Path, prompt: str) -> Iterator[tuple[ScriptedChat, subprocess.Popen[bytes]]]:
    """Begin a session; what is left of it at the end is killed."""
    kept = {key: os.environ[key] for key in ("LANG", "TMPDIR") if key in os.environ}
    command = ["node", str(PROGRAM), "--auth-type", "openai", "--yolo", "-p", prompt]
    with ScriptedChat(WORDS) as model:
        variables = {
            **kept,
            "PATH": with_node("qwen-code")["PATH"],
            "HOME": str(home),
            "OPENAI_BASE_URL": model.url,
            "OPENAI_API_KEY": "none",
            "OPENAI_MODEL": "scripted",
            "NO_PROXY": "127.0.0.1",
        }
        with session(command, home / "project", variables) as process:
            yield model, process


def ask(home: Path, prompt: str) -> None:
    """Play a session to its end."""
    with begun(home, prompt) as (_model, process):
        assert process.wait(HARNESS_S) == 0


def known(running: Running) -> set[str]:
    return {run["run"] for run in running.get("/api/v1/runs?limit=100").json["runs"]}


def fresh(running: Running, before: set[str], number: int, *statuses: str) -> list[dict[str, Any]]:
    def found() -> list[dict[str, Any]]:
        page = running.get("/api/v1/runs?limit=100").json["runs"]
        runs = [run for run in page if run["run"] not in before]
        return runs if len(runs) == number and {run["status"] for run in runs} <= set(statuses) else []

    return list(eventually(found, HARNESS_S))


@pytest.mark.parametrize(
    ("prompt", "number", "outcome", "tools"),
    [
        ("DISPATCH", 1, "ok", 1),
        ("DISPATCH N=2", 2, "ok", 1),
        ("DISPATCH BACKGROUND N=2", 2, "ok", 1),
        ("DISPATCH CHILD_ERROR", 1, "error", 0),
        ("DISPATCH BACKGROUND CHILD_ERROR", 1, "error", 0),
        ("DISPATCH CHILD_NESTS", 2, "ok", 1),
        ("DISPATCH BACKGROUND CHILD_HANG THEN_STOP", 1, "cancelled", 0),
    ],
)
def test_every_result_is_counted_back_in(
    running: Running, home: Path, prompt: str, number: int, outcome: str, tools: int
) -> None:
    before = known(running)
    ask(home, prompt)
    # On a busy machine it may take longer than was expected; what counts is that it came back.
    for run in fresh(running, before, number, "completed", "recovered"):
        assert (run["agent"], run["outcome"], run["tool_calls"]) == ("general-purpose", outcome, tools)
        if outcome == "ok" and not run["owner"]:
            timeline = running.get(f"/api/v1/runs/{run['run']}").json["timeline"]
            assert {one["event"] for one in timeline} >= WHOLE_STORY


def test_an_agent_that_is_asked_again_works_in_a_run_of_its_own(running: Running, home: Path) -> None:
    before = known(running)
    ask(home, "DISPATCH BACKGROUND THEN_ASK")
    found = fresh(running, before, 2, "completed", "recovered")
    assert [(run["outcome"], run["mode"]) for run in found] == [("ok", "background")] * 2
    assert sorted(run["tool_calls"] for run in found) == [0, 1]


def test_a_child_that_hangs_is_found_at_its_second(running: Running, home: Path) -> None:
    before = known(running)
    with begun(home, "DISPATCH CHILD_HANG") as (model, _process):
        assert model.hanging.wait(HARNESS_S)
        (run,) = fresh(running, before, 1, "suspect_delivery_failure")
    asked, found = (moment_ns(at) for at in (run["receipts"]["dispatchAt"], run["first_abnormal_at"]))
    assert found - asked == 20_000_000_000
    assert run["delivered_at"] is None


def test_a_result_that_never_reached_its_owner_is_found(running: Running, home: Path) -> None:
    before = known(running)
    killed_at_the_end_of_a_child(home / ".qwen" / "settings.json")
    with begun(home, "DISPATCH BACKGROUND CHILD_SLOW") as (_model, process):
        process.wait(HARNESS_S)
        (run,) = fresh(running, before, 1, "done_but_not_forwarded")
    assert (run["outcome"], run["delivered_at"], run["class"]) == ("ok", None, "done_but_not_forwarded")
