"""Intake over loopback, facts derived: protocols, connections and batch sizes, beside the path that walks spans in Python.

`python -m benchmarks.intake [SECONDS]` prints a table; a run lasts SECONDS (6).
"""

from __future__ import annotations

import base64
import json
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
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

_BODIES = 1000


@dataclass(frozen=True, slots=True)
class Case:
    """One run."""

    protocol: str
    spans: int
    """In a request."""
    connections: int
    path: str = "engine"


@dataclass(frozen=True, slots=True)
class Figures:
    """What one run showed; waits in milliseconds."""

    spans_per_s: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    commits: int
    refused: int
    lost: int
    doubled: int
    cpu_s_per_million: float
    peak_mib: float


CASES = (
    *(Case("http/protobuf", 512, connections) for connections in (1, 16, 64)),
    *(Case("grpc", 512, connections) for connections in (1, 16, 64)),
    *(Case("http/json", 512, connections) for connections in (1, 16)),
    *(Case("http/protobuf", 8192, connections) for connections in (1, 4)),
    *(Case(protocol, 2, 1) for protocol in ("http/protobuf", "grpc")),
    Case("http/protobuf", 2, 64),
    Case("http/protobuf", 512, 16, "naive"),
    Case("http/protobuf", 2, 1, "naive"),
)


def main(seconds: float) -> None:
    """Run every case and print it."""
    print(f"Intake, embedded store, sender and receiver on the same machine: {describe_machine()}")
    print(
        "spans/s acknowledged; waits for the acknowledgement; lost: acknowledged and not stored; doubled: in the facts"
    )
    head = (
        "path",
        "a request",
        "connections",
        "spans/s",
        "50 % ms",
        "95 % ms",
        "99 % ms",
        "commits",
        "refused",
    )
    print("".join(f"{word:>13}" for word in (*head, "lost", "doubled", "cpu s/M", "peak MiB")))
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            show(case, measure(case, packed(Path(folder), case.protocol, case.spans), seconds))


def measure(case: Case, bodies: Path, seconds: float) -> Figures:
    """Run one case against a receiver of its own."""
    with tempfile.TemporaryDirectory() as folder, receiver(Path(folder), case.path) as process:
        addresses = addresses_of(process)
        # Warm: the first insert of a process and the first parts of the tables cost more than any later one.
        warm = send(case.protocol, addresses, 2, 1.0, bodies)
        run = send(case.protocol, addresses, case.connections, seconds, bodies)
        answer, _ = process.communicate("")
    end = json.loads(answer)
    waits_ms = sorted(wait_s * 1000 for wait_s in run["waits_s"]) or [0.0]
    sent = (warm["requests"] + run["requests"]) * case.spans
    return Figures(
        spans_per_s=run["requests"] * case.spans / run["seconds"],
        p50_ms=waits_ms[len(waits_ms) // 2],
        p95_ms=waits_ms[int(len(waits_ms) * 0.95)],
        p99_ms=waits_ms[int(len(waits_ms) * 0.99)],
        commits=end["commits"],
        refused=run["refused"],
        lost=sent - end["stored"],
        doubled=end["doubled"],
        cpu_s_per_million=end["cpu_s"] / max(sent, 1) * 1e6,
        peak_mib=end["peak_mib"],
    )


def show(case: Case, figures: Figures) -> None:
    """Print one row."""
    path = case.protocol if case.path == "engine" else "Python walks"
    numbers = (
        f"{figures.spans_per_s:,.0f}",
        f"{figures.p50_ms:.0f}",
        f"{figures.p95_ms:.0f}",
        f"{figures.p99_ms:.0f}",
        figures.commits,
        figures.refused,
        figures.lost,
        figures.doubled,
        f"{figures.cpu_s_per_million:.0f}",
        f"{figures.peak_mib:.0f}",
    )
    print("".join(f"{word!s:>13}" for word in (path, case.spans, case.connections, *numbers)), flush=True)


@contextmanager
def receiver(folder: Path, path: str = "engine") -> Iterator[subprocess.Popen[str]]:
    """Start a receiver; it prints its ports first."""
    command = [sys.executable, "-m", "benchmarks.receiver", str(folder), path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def addresses_of(process: subprocess.Popen[str]) -> dict[str, str]:
    """Return HOST:PORT by protocol."""
    assert process.stdout is not None
    http, grpc = (f"127.0.0.1:{port}" for port in process.stdout.readline().split())
    return {"http/protobuf": http, "http/json": http, "grpc": grpc}


def send(
    protocol: str,
    addresses: dict[str, str],
    connections: int,
    seconds: float,
    bodies: Path,
    rate: float = 0.0,
) -> Any:
    """Run senders, at most `rate` requests a second where it is given, and return what they saw."""
    where = [protocol, addresses[protocol], str(connections), str(seconds), str(bodies), str(rate)]
    command = [sys.executable, "-m", "benchmarks.sender", *where]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def packed(folder: Path, protocol: str, spans: int) -> Path:
    """Write the requests, each after its length, before anything is timed; once for each kind."""
    as_json = protocol == "http/json"
    file = folder / f"{'json' if as_json else 'protobuf'}-{spans}"
    if not file.exists():
        number = max(60, min(_BODIES, _BODIES * 512 // spans)) if spans > 2 else 4 * _BODIES
        with file.open("wb") as out:
            for seed in range(number // 4 if as_json else number):
                body = export_request(spans, seed)
                if as_json:
                    body = _json(body)
                out.write(len(body).to_bytes(8, "little") + body)
    return file


def _json(body: bytes) -> bytes:
    """Return OTLP's JSON of a request."""
    document = MessageToDict(ExportTraceServiceRequest.FromString(body), use_integers_for_enums=True)
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for name in ("traceId", "spanId", "parentSpanId"):
                    if name in span:
                        span[name] = base64.b64decode(span[name]).hex()
    return json.dumps(document).encode()


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 6.0)
