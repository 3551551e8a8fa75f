"""`headcount claude-code transcripts --watch`: sessions read while their files are written, and through an outage."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import IO, Any

import pytest

from tests.instrumentation.receiver import Receiver

from .running import Running, eventually, running_collector
from .transcripts import CAPTURES, lay_out

COMMAND = [sys.executable, "-m", "headcount.cli", "claude-code", "transcripts"]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_collector(tmp_path_factory.mktemp("data")) as found:
        yield found


class Watch:
    """The command at work, and what it says."""

    def __init__(self, path: Path, url: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, str(path), "--watch", "--url", url],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "COLUMNS": "200"},
        )
        self._said: Queue[str] = Queue()
        assert self.process.stdout is not None
        self._reader = Thread(target=self._read, args=(self.process.stdout,))
        self._reader.start()

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self._said.put(line)

    def says(self, words: str) -> str:
        """Wait until it says this."""
        while True:
            line = self._said.get(timeout=60)
            if words in line:
                return line

    def interrupt(self) -> int:
        """End it as Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(20)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def watch() -> Iterator[Callable[[Path, str], Watch]]:
    begun: list[Watch] = []

    def begin(path: Path, url: str) -> Watch:
        begun.append(Watch(path, url))
        return begun[-1]

    yield begin
    for one in begun:
        one.close()


def status_of(running: Running, session: str) -> list[str]:
    runs: list[dict[str, Any]] = running.get(f"/api/v1/runs?session={session}").json["runs"]
    return [run["status"] for run in runs]


def append(file: Path, lines: list[str]) -> None:
    with file.open("a", encoding="utf-8") as out:
        out.writelines(lines)


def test_what_is_written_while_it_watches_is_read(
    running: Running, watch: Callable[[Path, str], Watch], tmp_path: Path
) -> None:
    source = next((CAPTURES / "plain" / "transcripts").glob("*.jsonl"))
    lines = source.read_text().splitlines(keepends=True)
    dispatched = (
        next(place for place, line in enumerate(lines) if '"Agent"' in line and "tool_use" in line) + 1
    )
    begun = watch(tmp_path, running.url)
    begun.says("watching")
    (tmp_path / "project").mkdir()
    session = tmp_path / "project" / source.name
    append(session, lines[:dispatched])
    begun.says(f"{source.name}: ")
    eventually(lambda: len(status_of(running, source.stem)) == 1)
    assert status_of(running, source.stem) != ["completed"]
    append(session, [*lines[dispatched:-1], lines[-1][:-20]])
    begun.says(f"{source.name}: ")
    append(session, [lines[-1][-20:]])
    eventually(lambda: status_of(running, source.stem) == ["completed"])
    assert begun.interrupt() == 0


def test_a_collector_that_is_away_is_tried_again(watch: Callable[[Path, str], Watch], tmp_path: Path) -> None:
    session = lay_out("background", tmp_path)
    with Receiver() as gone:
        port, endpoint = gone.port, gone.endpoint
    begun = watch(tmp_path, endpoint)
    begun.says("no collector answers")
    begun.says("watching")
    with Receiver(port) as back:
        begun.says(f"{session.name}: ")
        # The error may have been said once more; in the end everything is there.
        events = {span.event for span in back.wait_for(10)}
    assert {"dispatch", "child_done", "completion_forwarded"} <= events
