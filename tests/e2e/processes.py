"""`headcount` as a process of its own, started and ended as people and supervisors do."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

PATIENCE_S = 60.0
WHOLE_STORY = {
    "dispatch",
    "start",
    "progress",
    "child_done",
    "completion_received",
    "completion_forwarded",
    "owner_final",
}
"""The events of a run of which nothing is missing."""


@dataclass(frozen=True, slots=True)
class Served:
    """A `headcount serve` that is ready: where, what it printed until then, and the process."""

    url: str
    printed: str
    process: subprocess.Popen[str]

    def get(self, path: str) -> Any:
        """Return the JSON of a path."""
        with urlopen(self.url + path, timeout=PATIENCE_S) as answer:
            return json.load(answer)

    def post(self, path: str, body: bytes, content: str = "application/json") -> int:
        """Post a body; return the status of success."""
        request = Request(self.url + path, body, {"Content-Type": content})
        with urlopen(request, timeout=PATIENCE_S) as answer:
            return int(answer.status)


def environment(**variables: str) -> dict[str, str]:
    """Return this environment with nothing of ours but what is given; coverage follows into the process."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("HEADCOUNT_", "OTEL_"))}
    return kept | variables


def headcount(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "headcount.cli", *arguments],
        env=environment(**variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S * 3,
        check=False,
    )


@contextlib.contextmanager
def serving(data: Path, *arguments: str, variables: Mapping[str, str] | None = None) -> Iterator[Served]:
    """Start `headcount serve` on a free port and wait until it says that it is ready; ends it at the end."""
    errors = data.parent / f"{data.name}.stderr"
    with errors.open("a") as stderr:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "headcount.cli",
                "serve",
                "--http",
                "127.0.0.1:0",
                "--data",
                str(data),
                *arguments,
            ],
            env=environment(**(variables or {})),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
    assert process.stdout is not None
    try:
        printed = ""
        for line in process.stdout:
            printed += line
            if line.startswith("next:"):
                break
        found = re.search(r"http://\S+:\d+", printed)
        assert found is not None, printed + errors.read_text()
        yield Served(found[0], printed, process)
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(PATIENCE_S)
        process.stdout.close()


@contextlib.contextmanager
def session(
    command: list[str], folder: Path, variables: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a harness; at the end whatever is left of it is killed."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=dict(variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def killed_at_the_end_of_a_child(settings: Path) -> None:
    """Add a hook of somebody else's to a harness: it kills the session before the owner hears that its child is done."""
    written = json.loads(settings.read_text())
    command = {"type": "command", "command": "sleep 1; kill -9 $PPID"}
    written["hooks"]["SubagentStop"].append({"hooks": [command]})
    settings.write_text(json.dumps(written))
