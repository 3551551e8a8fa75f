"""The command that hands a hook over: always 0, never a word, at once, standard library alone."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from queue import Queue

import pytest

import headcount

SCRIPT = Path(headcount.__file__).with_name("forward_hook.py")


def forward(*arguments: str, body: bytes = b"{}", **variables: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-I", "-S", str(SCRIPT), *arguments],
        input=body,
        capture_output=True,
        timeout=60,
        check=False,
        env={**os.environ, **variables},
    )


@pytest.fixture
def taken() -> Iterator[tuple[str, Queue[tuple[str, bytes, str | None]]]]:
    queue: Queue[tuple[str, bytes, str | None]] = Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            queue.put((self.path, body, self.headers["authorization"]))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/hooks/claude-code", queue
        server.shutdown()
        thread.join()


def test_a_body_arrives_as_it_is_and_the_harness_hears_nothing(
    taken: tuple[str, Queue[tuple[str, bytes, str | None]]],
) -> None:
    url, queue = taken
    body = '{"hook_event_name": "Stop", "text": "größer"}'.encode()
    ended = forward(url, body=body, HEADCOUNT_TOKEN="s3cret")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
    assert queue.get(timeout=20) == ("/hooks/claude-code", body, "Bearer s3cret")


@pytest.mark.parametrize(
    "arguments", [(), ("nonsense",), ("http://127.0.0.1:1/hooks/claude-code",), ("http://[::bad/",)]
)
def test_whatever_is_wrong_the_harness_goes_on(arguments: tuple[str, ...]) -> None:
    ended = forward(*arguments)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")


def test_nobody_waits_for_a_collector_that_does_not_answer() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        # The harness reads until its end of the pipes closes: a copy that kept them open would hold it up.
        ended = forward(f"http://127.0.0.1:{silent.getsockname()[1]}/hooks/claude-code")
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
        silent.accept()[0].close()


def test_it_needs_the_standard_library_alone() -> None:
    code = (
        f"import runpy, sys; sys.argv = ['x']; before = set(sys.modules); runpy.run_path({str(SCRIPT)!r}); "
    )
    code += "print([name for name in set(sys.modules) - before if name.split('.')[0] not in sys.stdlib_module_names])"
    ended = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    assert ended.stdout.strip() == "[]"
