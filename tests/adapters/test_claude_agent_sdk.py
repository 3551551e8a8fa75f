"""The Claude Agent SDK with its real harness against a scripted model, watched by a real collector."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headcount_collector.evidence.moment import moment_ns
from tests.collector.running import Running, eventually
from tests.e2e.processes import WHOLE_STORY
from tests.e2e.scripted_model import ScriptedModel

from .environments import python_of

PROGRAM = Path(__file__).with_name("programs") / "claude_agent_sdk_program.py"
SOON = {"expected": "3s", "skew": "1s", "zero_progress": "2s", "delivery_grace": "2s"}

HARNESS_S = 400.0
"""How long a session may take on a busy machine."""

pytestmark = pytest.mark.skipif(
    python_of("claude-agent-sdk") is None, reason="no environment: make adapters ADAPTERS=claude-agent-sdk"
)


@pytest.fixture
def play(running: Running, tmp_path: Path) -> Callable[..., None]:
    def played(scenario: str, ends_with: int = 0) -> None:
        python = python_of("claude-agent-sdk")
        kept = {key: os.environ[key] for key in ("PATH", "LANG", "TMPDIR") if key in os.environ}
        with ScriptedModel() as model:
            process = subprocess.Popen(
                [str(python), str(PROGRAM), scenario],
                env={
                    **kept,
                    "HOME": str(tmp_path),
                    "MODEL_URL": model.url,
                    "HEADCOUNT_ENDPOINT": running.url,
                    "HEADCOUNT_SPOOL": "off",
                    "HEADCOUNT_EXIT_TIMEOUT": "120",
                    "NO_PROXY": "127.0.0.1",
                },
                cwd=tmp_path,
                start_new_session=True,
            )
            try:
                assert process.wait(HARNESS_S) == ends_with
            finally:
                # Of a program that ended without a farewell, the harness is left.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    return played


def runs_after(running: Running, known: set[str], number: int, status: str) -> list[dict[str, Any]]:
    def found() -> list[dict[str, Any]]:
        page = running.get("/api/v1/runs?limit=100").json["runs"]
        fresh = [run for run in page if run["run"] not in known]
        return fresh if [run["status"] for run in fresh] == [status] * number else []

    return list(eventually(found, HARNESS_S))


def known(running: Running) -> set[str]:
    return {run["run"] for run in running.get("/api/v1/runs?limit=100").json["runs"]}


@pytest.mark.parametrize(("scenario", "number"), [("completes", 1), ("parallel", 2), ("background", 1)])
def test_runs_that_come_back_are_completed(
    running: Running, play: Callable[..., None], scenario: str, number: int
) -> None:
    before = known(running)
    play(scenario)
    for run in runs_after(running, before, number, "completed"):
        assert (run["agent"], run["outcome"], run["tool_calls"]) == ("general-purpose", "ok", 1)
        timeline = running.get(f"/api/v1/runs/{run['run']}").json["timeline"]
        assert {one["event"] for one in timeline} >= WHOLE_STORY


def test_a_turn_that_took_the_answer_up_is_known_by_the_stream_too(
    running: Running, play: Callable[..., None]
) -> None:
    before = known(running)
    play("without_last_hooks")
    (run,) = runs_after(running, before, 1, "completed")
    assert (run["outcome"], run["receipts"]["forwardedToMain"]) == ("ok", True)


def test_a_child_that_errors_is_told_as_one(running: Running, play: Callable[..., None]) -> None:
    before = known(running)
    play("error")
    (run,) = runs_after(running, before, 1, "completed")
    assert run["outcome"] == "error"


def test_a_child_of_a_child_is_owed_to_the_child(running: Running, play: Callable[..., None]) -> None:
    before = known(running)
    play("nested")
    found = {run["owner"]: run for run in runs_after(running, before, 2, "completed")}
    assert set(found) == {"", found[""]["child_sessions"][0]}


def test_a_child_that_its_owner_stops_is_void(running: Running, play: Callable[..., None]) -> None:
    before = known(running)
    play("stopped")
    (run,) = runs_after(running, before, 1, "completed")
    # The call that stops it and the notice of its end come in the harness's own order: a kill, or a cancellation.
    assert run["outcome"] in ("killed", "cancelled")
    timeline = running.get(f"/api/v1/runs/{run['run']}").json["timeline"]
    assert [one["event"] for one in timeline].count("kill") == 1


@pytest.mark.parametrize("policy", [SOON])
def test_a_child_that_hangs_is_found(running: Running, play: Callable[..., None]) -> None:
    before = known(running)
    play("hang", ends_with=-signal.SIGKILL)
    (run,) = runs_after(running, before, 1, "suspect_delivery_failure")
    assert run["delivered_at"] is None
    found = running.get(f"/api/v1/runs/{run['run']}").json
    since = moment_ns(found["first_abnormal_at"]) - moment_ns(found["receipts"]["dispatchAt"])
    assert since == 3_000_000_000, "at its second, and not when somebody looked"


@pytest.mark.parametrize("policy", [SOON])
def test_a_result_that_never_reached_its_owner_is_found(running: Running, play: Callable[..., None]) -> None:
    before = known(running)
    play("not_forwarded", ends_with=-signal.SIGKILL)
    (run,) = runs_after(running, before, 1, "done_but_not_forwarded")
    assert (run["outcome"], run["delivered_at"], run["class"]) == ("ok", None, "done_but_not_forwarded")
