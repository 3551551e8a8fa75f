"""The JavaScript SDK from npm, by all three protocols, against a whole collector with a token."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from headcount_collector.api.server import grpc_edge
from tests.collector.running import Running, running_collector

HERE = Path(__file__).parent / "javascript"
CACHE = Path(tempfile.gettempdir())  # now: an open store has a temporary folder of its own
TOKEN = "a-token-of-some-length"
_INSTALL_S = 180
_SEND_S = 60


@pytest.fixture(scope="module")
def modules() -> Path:
    """Install the SDK below the temporary folder, once for each package.json; skip where it cannot be had."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("node and npm are not installed")
    wanted = (HERE / "package.json").read_bytes()
    folder = CACHE / f"headcount-javascript-{hashlib.sha256(wanted).hexdigest()[:12]}"
    done = folder / "installed"
    if not done.exists():
        folder.mkdir(exist_ok=True)
        (folder / "package.json").write_bytes(wanted)
        install = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"]
        try:
            said = subprocess.run(
                install, cwd=folder, capture_output=True, text=True, timeout=_INSTALL_S, check=False
            )
        except subprocess.TimeoutExpired:
            pytest.skip("npm did not answer")
        if said.returncode:
            pytest.skip(f"npm has not got the JavaScript SDK: {said.stderr.strip()[-200:]}")
        done.touch()
    return folder


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_collector(tmp_path_factory.mktemp("data"), token=TOKEN) as found:
        yield found


@pytest.mark.parametrize("compression", ["none", "gzip"])
@pytest.mark.parametrize("protocol", ["grpc", "http/json", "http/protobuf"])
def test_spans_and_events_of_the_javascript_sdk_arrive_whole(
    protocol: str, compression: str, running: Running, modules: Path
) -> None:
    name = f"{protocol} {compression}"
    with grpc_edge(running.collector) as grpc:
        endpoint = grpc if protocol == "grpc" else running.url
        assert endpoint is not None
        sent = subprocess.run(
            ["node", str(HERE / "send.cjs"), protocol, endpoint, name, compression, TOKEN],
            cwd=modules,
            capture_output=True,
            text=True,
            timeout=_SEND_S,
            check=False,
        )
    assert sent.returncode == 0, sent.stderr
    context = json.loads(sent.stdout)
    store = running.collector.store
    columns = (
        "TraceId, SpanId, ServiceName, ResourceAttributes['list'], SpanAttributes, StatusCode, StatusMessage, Events.Name,"
        " Events.Attributes, ScopeVersion"
    )
    assert store.query(
        f"SELECT {columns} FROM otel_traces WHERE SpanName = {{name:String}}", {"name": name}
    ) == [
        (
            context["traceId"],
            context["spanId"],
            f"javascript {protocol}",
            '["a","b"]',
            {"s": "é", "i": "3", "f": "0.5", "b": "true", "list": '["a","b"]'},
            "Error",
            "no",
            ["happened"],
            [{"n": "1"}],
            "1.2",
        )
    ]
    assert store.query(
        "SELECT EventName, Body, LogAttributes FROM otel_logs WHERE LogAttributes['tool_name'] = {name:String}",
        {"name": name},
    ) == [("claude_code.tool_result", "", {"tool_name": name})]
