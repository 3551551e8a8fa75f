"""A real OpenTelemetry Collector before us: every span that it took is counted once, however we were away meanwhile."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

import yaml

from headcount_collector.evidence.record import Record, export_request
from tests.collector.otelcol import collecting, free_port
from tests.collector.otlp_messages import request, span
from tests.collector.running import eventually

SCALE = (Path(__file__).parents[2] / "docs" / "scale.md").read_text()
PATIENCE_S = 120.0
REQUESTS, SPANS = 10, 100
RETRY = {"enabled": True, "initial_interval": "100ms", "max_interval": "500ms", "max_elapsed_time": "0s"}
QUEUE = {"enabled": True, "num_consumers": 2, "queue_size": 1000}


def exporters(http: int, grpc: int) -> dict[str, dict[str, Any]]:
    """The ways on which a Collector may send to us."""
    shared = {"retry_on_failure": RETRY, "sending_queue": QUEUE, "timeout": "10s"}
    plain = {"tls": {"insecure": True}, "endpoint": f"127.0.0.1:{grpc}"}
    return {
        "otlp_http/protobuf": {"endpoint": f"http://127.0.0.1:{http}", "compression": "zstd", **shared},
        "otlp_http/json": {"endpoint": f"http://127.0.0.1:{http}", "encoding": "json", **shared},
        "otlp_grpc/gzip": {**plain, "compression": "gzip", **shared},
        "otlp_grpc/plain": {**plain, "compression": "none", **shared},
    }


@contextlib.contextmanager
def headcount(data: Path, http: int, grpc: int) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "headcount.cli", "serve", "--data", str(data)]
    where = ["--http", f"127.0.0.1:{http}", "--grpc", f"127.0.0.1:{grpc}"]
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("HEADCOUNT_", "OTEL_"))
    }
    with (data.parent / "headcount.log").open("ab") as log:
        process = subprocess.Popen(
            [*command, *where],
            env={**environment, "HEADCOUNT_SQL": "true"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def send(port: int, name: str, number: int) -> None:
    """Send the Collector a request of dispatches."""
    records = [
        Record(
            "dispatch",
            time.time_ns(),
            run=f"{name} {number}.{one}",
            session=name,
            attributes={},
            service=name,
        )
        for one in range(SPANS)
    ]
    post(port, export_request(records).SerializeToString())


def post(port: int, body: bytes) -> None:
    """Send the Collector a body; it answers when it has queued it."""
    url = f"http://127.0.0.1:{port}/v1/traces"
    urlopen(Request(url, body, {"Content-Type": "application/x-protobuf"}), timeout=PATIENCE_S).close()


def counted(http: int, sql: str) -> list[tuple[str, ...]]:
    with urlopen(f"http://127.0.0.1:{http}/clickhouse/?query={quote(sql)}", timeout=PATIENCE_S) as answer:
        return [tuple(line.split("\t")) for line in answer.read().decode().splitlines()]


def until(http: int, sql: str, wanted: list[tuple[str, ...]]) -> None:
    ends, pause, found = time.monotonic() + PATIENCE_S, threading.Event(), None
    while time.monotonic() < ends:
        with contextlib.suppress(URLError, ConnectionError):
            found = counted(http, sql)
            if found == wanted:
                return
        pause.wait(0.1)
    raise AssertionError(f"{found} instead of {wanted}")


def test_every_span_of_a_collector_is_counted_once_although_we_were_away(tmp_path: Path) -> None:
    http, grpc = free_port(), free_port()
    ways = exporters(http, grpc)
    ports = {name: free_port() for name in ways}
    config: dict[str, Any] = {
        "receivers": {
            f"otlp/{n}": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}
            for n, port in enumerate(ports.values())
        },
        "processors": {"batch": {"send_batch_size": 250, "timeout": "100ms"}},
        "exporters": ways,
        "service": {
            "pipelines": {
                f"traces/{n}": {"receivers": [f"otlp/{n}"], "processors": ["batch"], "exporters": [name]}
                for n, name in enumerate(ways)
            }
        },
    }
    stored = (
        "SELECT ServiceName, uniqExact(SpanId) FROM otel_traces GROUP BY ServiceName ORDER BY ServiceName"
    )
    facts = "SELECT service, count(), uniqExact(run_id) FROM evidence FINAL GROUP BY service ORDER BY service"
    half, whole = str(REQUESTS * SPANS), str(2 * REQUESTS * SPANS)
    with collecting(tmp_path, config, f"http://127.0.0.1:{next(iter(ports.values()))}/") as collector:
        for name, port in ports.items():
            for number in range(REQUESTS):
                send(port, name, number)
        with headcount(tmp_path / "data", http, grpc) as process:
            until(http, stored, [(name, half) for name in sorted(ways)])
            for name, port in ports.items():
                for number in range(REQUESTS // 2):
                    send(port, name, REQUESTS + number)
            process.send_signal(signal.SIGKILL)  # in the middle of it
            process.wait(PATIENCE_S)
        for name, port in ports.items():
            for number in range(REQUESTS // 2, REQUESTS):
                send(port, name, REQUESTS + number)
        with headcount(tmp_path / "data", http, grpc):
            until(http, facts, [(name, whole, whole) for name in sorted(ways)])
            until(http, stored, [(name, whole) for name in sorted(ways)])
        assert collector.poll() is None


def test_a_trace_goes_to_one_gateway_as_the_scale_page_says(tmp_path: Path) -> None:
    (text,) = re.findall(r"```yaml\n(# agent.yaml.*?)```", SCALE, re.DOTALL)
    config: dict[str, Any] = yaml.safe_load(text)
    entry, gateways = free_port(), [(free_port(), free_port()) for _ in range(2)]
    config["receivers"]["otlp"]["protocols"] = {"http": {"endpoint": f"127.0.0.1:{entry}"}}
    # Names are not to be had on loopback; that a resolver finds the same gateways by DNS is not of our making.
    config["exporters"]["loadbalancing"]["resolver"] = {
        "static": {"hostnames": [f"127.0.0.1:{grpc}" for _, grpc in gateways]}
    }
    traces, each = 200, 5
    with (
        collecting(tmp_path, config, f"http://127.0.0.1:{entry}/"),
        headcount(tmp_path / "one", *gateways[0]),
        headcount(tmp_path / "two", *gateways[1]),
    ):
        for _ in range(each):  # the spans of a trace come at different times
            spans = [span() for _ in range(traces)]
            for number, one in enumerate(spans):
                one.trace_id = (number + 1).to_bytes(16, "big")
            post(entry, request(spans).SerializeToString())
        found = eventually(lambda: _all_of(gateways, traces * each))
    first, second = (dict(rows) for rows in found)
    assert first.keys().isdisjoint(second)
    assert len(first) > traces / 4
    assert len(second) > traces / 4
    assert {*first.values(), *second.values()} == {str(each)}


def _all_of(gateways: list[tuple[int, int]], spans: int) -> list[list[tuple[str, ...]]] | None:
    """Return the traces of each gateway and how many spans each has, once all are there."""
    try:
        found = [counted(http, "SELECT TraceId, count() FROM otel_traces GROUP BY 1") for http, _ in gateways]
    except (URLError, ConnectionError):
        return None
    return found if sum(int(count) for rows in found for _, count in rows) == spans else None
