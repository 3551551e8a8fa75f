"""What the client says of servers that are no collector."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from headcount_collector.cli.client import Client, ClientError


class Stranger(BaseHTTPRequestHandler):
    """Answers as its path says: a status, then the body."""

    def do_GET(self) -> None:
        status, body = {
            "/page": (200, b"<html>"),
            "/list": (200, b"[1]"),
            "/lost": (404, b"not here"),
            "/other": (500, b'{"error": "mine"}'),
        }[self.path.split("/api")[0]]
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def stranger() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Stranger) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/page", "answers, but not as a collector does: no JSON"),
        ("/list", "answers, but not as a collector does: no JSON object"),
        ("/lost", "answers 404 Not Found: it does not seem to be a collector"),
        ("/other", "answers 500 Internal Server Error: it does not seem to be a collector"),
    ],
)
def test_a_server_that_is_no_collector_is_said_to_be_none(path: str, says: str, stranger: str) -> None:
    with pytest.raises(ClientError, match=says):
        Client(stranger + path).runs({}, limit=1)
