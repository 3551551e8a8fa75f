"""The real OpenClaw, its gateway and a spawned sub-agent, against a scripted model; its ledger read by our command."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headcount_collector.evidence.moment import moment_ns
from tests.collector.running import Running, eventually
from tests.e2e.processes import headcount

from .environments import program_of, with_node
from .scripted_chat import CHILD, ScriptedChat, Vocabulary

PROGRAM = program_of("openclaw", "openclaw/openclaw.mjs")

pytestmark = pytest.mark.skipif(
    PROGRAM is None, reason="OpenClaw is not installed: `make adapters ADAPTERS=openclaw` (needs npm)"
)


def is_child(messages: list[dict[str, Any]]) -> bool:
    said = json.dumps([message for message in messages if message.get("role") == "user"])
    return CHILD in said and "DISPATCH" not in said


WORDS = Vocabulary(
    dispatcher="sessions_spawn",
    shell="exec",
    dispatch=lambda prompt, background: {"task": prompt, "label": "find the answer"},
    command={"command": "echo hello"},
    is_child=is_child,
)


HARNESS_S = 400.0
"""How long the program may take on a busy machine."""
SOON = {"expected": "60s", "skew": "1s", "delivery_grace": "2s"}
"""Deadlines that a test can wait for."""


class Claw:
    """A home with a gateway in it that runs."""

    def __init__(self, home: Path, model: str) -> None:
        self.home = home
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        (home / ".openclaw").mkdir(parents=True)
        scripted = {"id": "scripted", "name": "Scripted", "contextWindow": 128_000, "maxTokens": 8_000}
        provider = {"baseUrl": model, "apiKey": "none", "api": "openai-completions", "models": [scripted]}
        settings = {
            "gateway": {
                "mode": "local",
                "port": self.port,
                "bind": "loopback",
                "auth": {"mode": "token", "token": "none" * 8},
            },
            "models": {"mode": "replace", "providers": {"scripted": provider}},
            "tools": {"toolSearch": False},
            "agents": {
                "defaults": {
                    "model": {"primary": "scripted/scripted"},
                    "skipBootstrap": True,
                    "subagents": {"maxSpawnDepth": 2},
                }
            },
        }
        (home / ".openclaw" / "openclaw.json").write_text(json.dumps(settings))
        bin_folder = home / "bin"
        bin_folder.mkdir()
        command = bin_folder / "openclaw"
        command.write_text(f'#!/bin/sh\nexec node "{PROGRAM}" "$@"\n')
        command.chmod(0o755)
        kept = {key: os.environ[key] for key in ("LANG", "TMPDIR") if key in os.environ}
        path = f"{bin_folder}{os.pathsep}{with_node('openclaw')['PATH']}"
        self.environment = {**kept, "PATH": path, "HOME": str(home), "NO_PROXY": "127.0.0.1"}

    @contextlib.contextmanager
    def gateway(self) -> Iterator[None]:
        process = self._begun()
        try:
            deadline = time.monotonic() + HARNESS_S
            while not self._answers():
                assert time.monotonic() < deadline, (self.home / "gateway.log").read_text()
                # It gives up where its own deadlines are too short for a busy machine, and may be started again.
                if process.poll() is not None:
                    process = self._begun()
                time.sleep(0.2)
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _begun(self) -> subprocess.Popen[bytes]:
        with (self.home / "gateway.log").open("w") as log:
            return subprocess.Popen(
                ["openclaw", "gateway", "run"],
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _answers(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def say(self, message: str, session: str = "main") -> Path:
        """Let the agent take a turn in a session; return a file with what it printed."""
        key = f"agent:main:{session}"
        told = self.command("agent", "--agent", "main", "--session-key", key, "--json", "-m", message)
        printed = self.home / f"{session}.json"
        printed.write_text(told)
        return printed

    def command(self, *arguments: str) -> str:
        """Return what a command printed."""
        ended = subprocess.run(
            ["openclaw", *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=HARNESS_S,
            check=True,
        )
        return ended.stdout


@pytest.fixture(scope="module")
def claw(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Claw]:
    with ScriptedChat(WORDS) as model:
        found = Claw(tmp_path_factory.mktemp("claw") / "home", model.url)
        with found.gateway():
            yield found


def ledger_says(running: Running, claw: Claw, session: str, number: int, status: str) -> list[dict[str, Any]]:
    """Read the ledger until the runs of a session stand so."""

    def found() -> list[dict[str, Any]]:
        # The ledger may be locked for a moment; the command says so and is called again.
        headcount("openclaw", "--url", running.url, **claw.environment)
        runs = running.get(f"/api/v1/runs?session=agent:main:{session}").json["runs"]
        return runs if [run["status"] for run in runs] == [status] * number else []

    return list(eventually(found, HARNESS_S))


def test_a_spawned_sub_agent_is_counted_out_by_its_receipt_and_back_in_by_the_ledger(
    running: Running, claw: Claw
) -> None:
    printed = claw.say("DISPATCH")
    receipt = headcount("openclaw", str(printed), "--url", running.url)
    assert (receipt.returncode, receipt.stdout) == (0, "1 runs, 2 events\n"), receipt.stderr
    (run,) = ledger_says(running, claw, "main", 1, "completed")
    assert (run["session"], run["outcome"], run["tool_calls"]) == ("agent:main:main", "ok", 1)


@pytest.mark.parametrize(
    ("session", "prompt", "number", "outcome"),
    [
        ("two", "DISPATCH N=2", 2, "ok"),
        ("broken", "DISPATCH CHILD_ERROR", 1, "error"),
        ("nested", "DISPATCH CHILD_NESTS", 2, "ok"),
    ],
)
def test_what_comes_back_is_counted_back_in(
    running: Running, claw: Claw, session: str, prompt: str, number: int, outcome: str
) -> None:
    claw.say(prompt, session)
    found = ledger_says(running, claw, session, number, "completed")
    assert [run["outcome"] for run in found] == [outcome] * number
    if session == "nested":
        assert {run["owner"] for run in found} == {
            "",
            *(run["child_sessions"][0] for run in found if not run["owner"]),
        }


@pytest.mark.parametrize("policy", [SOON])
def test_a_child_that_hangs_is_found_at_its_second_and_is_void_once_it_is_cancelled(
    running: Running, claw: Claw
) -> None:
    claw.say("DISPATCH CHILD_HANG", "hang")
    (run,) = ledger_says(running, claw, "hang", 1, "suspect_delivery_failure")
    asked, found = (moment_ns(at) for at in (run["receipts"]["dispatchAt"], run["first_abnormal_at"]))
    assert found - asked == 60_000_000_000
    claw.command("tasks", "cancel", run["run"])
    (run,) = ledger_says(running, claw, "hang", 1, "completed")
    assert run["outcome"] == "cancelled"


@pytest.mark.parametrize("policy", [SOON])
def test_a_result_that_never_reached_its_owner_is_found(running: Running, claw: Claw) -> None:
    claw.say("DISPATCH OWNER_DEAF", "deaf")
    (run,) = ledger_says(running, claw, "deaf", 1, "done_but_not_forwarded")
    assert (run["outcome"], run["delivered_at"]) == ("ok", None)
