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

from tests.collector.running import Running, eventually, running_collector
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


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_collector(tmp_path_factory.mktemp("data")) as found:
        yield found


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
            "agents": {"defaults": {"model": {"primary": "scripted/scripted"}, "skipBootstrap": True}},
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
        with (self.home / "gateway.log").open("w") as log:
            process = subprocess.Popen(
                ["openclaw", "gateway", "run"],
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                deadline = time.monotonic() + 120
                while not self._answers():
                    assert process.poll() is None, (self.home / "gateway.log").read_text()
                    assert time.monotonic() < deadline
                    time.sleep(0.2)
                yield
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def _answers(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def say(self, message: str) -> Path:
        """Let the agent take a turn; return a file with what it printed."""
        told = subprocess.run(
            ["openclaw", "agent", "--agent", "main", "--json", "-m", message],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=400,
            check=True,
        )
        printed = self.home / "turn.json"
        printed.write_text(told.stdout)
        return printed


def test_a_spawned_sub_agent_is_counted_out_by_its_receipt_and_back_in_by_the_ledger(
    running: Running, tmp_path: Path
) -> None:
    with ScriptedChat(WORDS) as model:
        claw = Claw(tmp_path / "home", model.url)
        with claw.gateway():
            printed = claw.say("DISPATCH")
            receipt = headcount("openclaw", str(printed), "--url", running.url)
            assert (receipt.returncode, receipt.stdout) == (0, "1 runs, 2 events\n"), receipt.stderr

            def completed() -> list[dict[str, Any]]:
                # The ledger may be locked for a moment; the command says so and is called again.
                headcount("openclaw", "--url", running.url, **claw.environment)
                runs: list[dict[str, Any]] = running.get("/api/v1/runs").json["runs"]
                return runs if [run["status"] for run in runs] == ["completed"] else []

            (run,) = eventually(completed)
    assert (run["session"], run["outcome"], run["tool_calls"]) == ("agent:main:main", "ok", 1)
