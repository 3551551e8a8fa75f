"""`kill -9` at any moment loses nothing that was acknowledged."""

from __future__ import annotations

import json
import threading
import time
from http.client import HTTPException
from pathlib import Path
from urllib.error import URLError

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from headcount_collector.evidence.record import Record, export_request
from tests.e2e.processes import PATIENCE_S, Served, serving

KILLED_AFTER = (1, 25, 90)
"""So many acknowledgements, and the process is killed; a round each, all on the same data."""


def hook(run: str) -> bytes:
    body = {
        "session_id": "s1",
        "hook_event_name": "PreToolUse",
        "tool_name": "Agent",
        "tool_use_id": run,
        "tool_input": {"subagent_type": "reviewer"},
    }
    return json.dumps(body).encode()


def export(run: str) -> bytes:
    request: ExportTraceServiceRequest = export_request(
        [Record("dispatch", time.time_ns(), run=run, session="s2", service="here")]
    )
    return request.SerializeToString()


def post_until_it_dies(served: Served, route: str, round_number: int, acknowledged: list[str]) -> None:
    """Post one dispatch after the other; note those that were acknowledged."""
    for number in range(100_000):
        run = f"{route.strip('/').replace('/', '-')}-{round_number}-{number}"
        try:
            if route == "/v1/traces":
                served.post(route, export(run), "application/x-protobuf")
            else:
                served.post(route, hook(run))
        except (URLError, HTTPException, OSError):
            return
        acknowledged.append(run)


def test_what_was_acknowledged_is_judged_after_every_kill(tmp_path: Path) -> None:
    acknowledged: list[str] = []
    for round_number, enough in enumerate(KILLED_AFTER):
        with serving(tmp_path / "data") as served:
            before = len(acknowledged)
            threads = [
                threading.Thread(target=post_until_it_dies, args=(served, route, round_number, acknowledged))
                for route in ("/v1/traces", "/hooks/claude-code", "/v1/traces")
            ]
            for thread in threads:
                thread.start()
            pause = threading.Event()
            while len(acknowledged) < before + enough:
                assert not pause.wait(0.002)
            served.process.kill()
            for thread in threads:
                thread.join(PATIENCE_S)
    expected = set(acknowledged)
    with serving(tmp_path / "data") as served:
        ends, pause = time.monotonic() + PATIENCE_S, threading.Event()
        while missing := expected - judged(served):
            assert time.monotonic() < ends, sorted(missing)
            pause.wait(0.1)


def judged(served: Served) -> set[str]:
    found: set[str] = set()
    while True:
        page = served.get(f"/api/v1/runs?limit=1000&offset={len(found)}")
        found |= {run["run"] for run in page["runs"]}
        if not page["runs"] or len(found) >= page["total"]:
            return found
