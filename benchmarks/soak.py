"""A long run of a whole `headcount serve` at a steady load, with memory, waits and judgements over time.

`python -m benchmarks.soak [MINUTES] [SPANS_PER_S]` (60 minutes of 5,000). New runs all the time, by HTTP and gRPC in
turns; every fifth minute ten seconds of 256 connections that send as fast as they are answered, which is more than the
queue has room for. A row a minute; nothing acknowledged may be missing at the end, and every run must be judged.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import urlopen

from benchmarks.intake import send
from benchmarks.machine import describe_machine
from benchmarks.spans import RUN_SPANS, export_request

_SPANS = 512
_STEP_S = 60.0
_BURST_EVERY, _BURST_S, _BURST = 5, 10.0, 256
_SETTLE_S = 300.0
_COLUMNS = ("minute", "spans/s", "50 % ms", "99 % ms", "refused", "runs", "open", "tick ms", "MiB")


def main(minutes: float, spans_per_s: float) -> None:
    """Run, print a row a minute, then what became of everything."""
    print(f"Soak of {minutes:g} minutes at {spans_per_s:,.0f} spans/s: {describe_machine()}")
    print("".join(f"{word:>10}" for word in _COLUMNS))
    with tempfile.TemporaryDirectory() as folder, _serving(Path(folder) / "data") as (process, addresses):
        _run(process, addresses, Path(folder) / "bodies", minutes * 60, spans_per_s / _SPANS)


def _run(
    process: subprocess.Popen[str], addresses: dict[str, str], file: Path, seconds: float, rate: float
) -> None:
    began, number, sent, bodies = time.monotonic(), 0, 0, 0
    step_s = min(_STEP_S, seconds)
    while (elapsed_s := time.monotonic() - began) < seconds - 1:
        number += 1
        burst = number % _BURST_EVERY == 0
        bodies = _pack(file, bodies, int(rate * step_s) + 1)
        run = send(
            ("http/protobuf", "grpc")[number % 2],
            addresses,
            _BURST if burst else 4,
            _BURST_S if burst else began + elapsed_s + step_s - time.monotonic(),
            file,
            0.0 if burst else rate,
        )
        sent += run["requests"] * _SPANS
        _print_row(process.pid, addresses["http/protobuf"], (time.monotonic() - began) / 60, run)
    http = addresses["http/protobuf"]
    ((stored,),) = _query(http, "SELECT count() FROM otel_traces")
    ((doubled,),) = _query(http, "SELECT count() - uniqExact(identity) FROM evidence FINAL")
    wanted = sent // RUN_SPANS
    ends = time.monotonic() + _SETTLE_S
    while (
        judged := _get(http, "/api/v1/runs?limit=1&open=false")["total"]
    ) < wanted and time.monotonic() < ends:
        time.sleep(1)
    print(
        f"acknowledged {sent:,} spans, stored {int(stored):,}, lost {max(0, sent - int(stored))}; doubled in the facts "
        f"{doubled}; runs closed {judged:,} of {wanted:,}"
    )


def _print_row(pid: int, http: str, minute: float, run: dict[str, Any]) -> None:
    waits_ms = sorted(wait_s * 1000 for wait_s in run["waits_s"]) or [0.0]
    ticks = [one["took_ms"] for one in _get(http, "/api/v1/observer?limit=60")["evaluations"]] or [0.0]
    row = (
        f"{minute:.1f}",
        f"{run['requests'] * _SPANS / run['seconds']:,.0f}",
        f"{waits_ms[len(waits_ms) // 2]:.0f}",
        f"{waits_ms[int(len(waits_ms) * 0.99)]:.0f}",
        run["refused"],
        f"{_get(http, '/api/v1/runs?limit=1')['total']:,}",
        f"{_get(http, '/api/v1/runs?limit=1&open=true')['total']:,}",
        f"{sorted(ticks)[len(ticks) // 2]:.0f}",
        f"{_resident_mib(pid):.0f}",
    )
    print("".join(f"{word!s:>10}" for word in row), flush=True)


@contextmanager
def _serving(data: Path) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    command = [sys.executable, "-m", "headcount.cli", "serve", "--data", str(data)]
    free = ["--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]
    environment = {**os.environ, "HEADCOUNT_SQL": "true", "HEADCOUNT_LOG_LEVEL": "error"}
    with subprocess.Popen([*command, *free], env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            printed = ""
            for line in process.stdout:
                printed += line
                if line.startswith("next:"):
                    break
            http = re.findall(r"http://(127\.0\.0\.1:\d+)", printed)[0]
            yield process, {"http/protobuf": http, "grpc": re.findall(r"OTLP/gRPC\D*(127.*)", printed)[0]}
        finally:
            process.terminate()


def _pack(file: Path, first: int, number: int) -> int:
    """Write requests of runs that were not sent before; return the first seed for the next."""
    with file.open("wb") as out:
        for seed in range(first, first + number):
            body = export_request(_SPANS, seed)
            out.write(len(body).to_bytes(8, "little") + body)
    return first + number


def _query(http: str, sql: str) -> list[list[str]]:
    with urlopen(f"http://{http}/clickhouse/?query={quote(sql)}", timeout=120) as answer:
        return [line.split("\t") for line in answer.read().decode().splitlines()]


def _get(http: str, path: str) -> Any:
    with urlopen(f"http://{http}{path}", timeout=120) as answer:
        return json.load(answer)


def _resident_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


if __name__ == "__main__":
    main(
        float(sys.argv[1]) if len(sys.argv) > 1 else 60.0, float(sys.argv[2]) if len(sys.argv) > 2 else 5000.0
    )
