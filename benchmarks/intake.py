"""Intake over loopback HTTP, facts derived, beside the path that walks spans in Python. Prints a table."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.machine import describe_machine
from benchmarks.spans import export_request

SPANS = 512
SECONDS = 6.0
_BODIES = 1000


@dataclass(frozen=True, slots=True)
class Figures:
    """What one run showed; waits in milliseconds."""

    spans_per_s: float
    median_ms: float
    p95_ms: float
    commits: int
    lost: int


def main() -> None:
    """Run everything and print it."""
    print(f"Intake, embedded store, sender and receiver on the same machine: {describe_machine()}")
    print(
        f"{'path':<34}{'connections':>12}{'spans/s':>10}{'median ms':>11}{'95 % ms':>9}{'commits':>9}{'lost':>6}"
    )
    with tempfile.TemporaryDirectory() as folder:
        full = _packed(Path(folder) / "full", SPANS, _BODIES)
        small = _packed(Path(folder) / "small", 2, 200)
        for path, label in (("engine", "engine decodes"), ("naive", "Python walks spans")):
            for connections in (16, 64):
                _print(f"{label}, {SPANS} a request", connections, _measure(path, connections, SPANS, full))
            _print(f"{label}, 2 a request", 1, _measure(path, 1, 2, small))


def _measure(path: str, connections: int, spans: int, bodies: Path) -> Figures:
    with tempfile.TemporaryDirectory() as folder, _receiver(Path(folder), path) as receiver:
        assert receiver.stdout is not None
        url = f"http://127.0.0.1:{receiver.stdout.readline().strip()}"
        # Warm: the first insert of a process and the first parts of the tables cost more than any later one.
        warm = _send(url, 2, 1.0, bodies)
        run = _send(url, connections, SECONDS, bodies)
        answer, _ = receiver.communicate("")
    stored, commits = (int(word) for word in answer.split())
    waits_ms = sorted(wait_s * 1000 for wait_s in run["waits_s"])
    return Figures(
        spans_per_s=run["requests"] * spans / run["seconds"],
        median_ms=statistics.median(waits_ms),
        p95_ms=waits_ms[int(len(waits_ms) * 0.95)],
        commits=commits,
        lost=(warm["requests"] + run["requests"]) * spans - stored,
    )


@contextmanager
def _receiver(folder: Path, path: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "benchmarks.receiver", str(folder), path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def _send(url: str, connections: int, seconds: float, bodies: Path) -> Any:
    command = [sys.executable, "-m", "benchmarks.sender", url, str(connections), str(seconds), str(bodies)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def _packed(file: Path, spans: int, requests: int) -> Path:
    """Write the requests, each after its length, before anything is timed."""
    with file.open("wb") as out:
        for seed in range(requests):
            body = export_request(spans, seed)
            out.write(len(body).to_bytes(8, "little") + body)
    return file


def _print(label: str, connections: int, figures: Figures) -> None:
    print(
        f"{label:<34}{connections:>12}{figures.spans_per_s:>10,.0f}{figures.median_ms:>11.0f}{figures.p95_ms:>9.0f}"
        f"{figures.commits:>9}{figures.lost:>6}",
        flush=True,
    )


if __name__ == "__main__":
    main()
