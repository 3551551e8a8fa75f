"""Peers on loopback that keep to what their vendors document, errors and limits included."""

from __future__ import annotations

import contextlib
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True)
class Asked:
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Said:
    """One answer."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


def said_json(document: Any, status: int = 200, **headers: str) -> Said:
    return Said(status, json.dumps(document).encode(), {"Content-Type": "application/json", **headers})


class Peer:
    """What was asked of a server, and how it answers."""

    def __init__(self, answer: Callable[[Asked], Said]) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        self.came = threading.Condition()
        self.url = ""

    def take(self, asked: Asked) -> Said:
        with self.came:
            self.asked.append(asked)
            self.came.notify_all()
        return self.answer(asked)

    def wait_for(self, count: int, patience_s: float = 60) -> list[Asked]:
        """Return the requests once there are so many."""
        with self.came:
            assert self.came.wait_for(lambda: len(self.asked) >= count, timeout=patience_s)
            return list(self.asked)


@contextlib.contextmanager
def peer(
    answer: Callable[[Asked], Said] = lambda asked: Said(), tls: ssl.SSLContext | None = None
) -> Iterator[Peer]:
    """Serve on a free port."""
    found = Peer(answer)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _handle(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            said = found.take(Asked(self.command, self.path, headers, body))
            self.send_response(said.status)
            for name, value in {**said.headers, "Content-Length": str(len(said.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(said.body)

        do_GET = do_POST = do_PUT = do_DELETE = _handle

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    found.url = f"http{'' if tls is None else 's'}://127.0.0.1:{server.server_address[1]}"
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class SlackApi:
    """Slack's Web API as documented: `ok` false with 200, 429 with Retry-After, messages by ts, limits of blocks."""

    def __init__(self, token: str = "xoxb-1", channel: str = "C1") -> None:
        self.token = token
        self.channel = channel
        self.messages: dict[str, dict[str, Any]] = {}
        self.limited = 0

    def __call__(self, asked: Asked) -> Said:
        if self.limited:
            self.limited -= 1
            return said_json({"ok": False, "error": "ratelimited"}, 429, **{"Retry-After": "30"})
        if asked.headers.get("authorization") != f"Bearer {self.token}":
            return said_json({"ok": False, "error": "invalid_auth"})
        if not asked.headers.get("content-type", "").startswith("application/json"):
            return said_json({"ok": False, "error": "invalid_post_type"})
        body = asked.json
        if body.get("channel") != self.channel:
            return said_json({"ok": False, "error": "channel_not_found"})
        if (wrong := self._wrong(body)) is not None:
            return said_json({"ok": False, "error": wrong})
        if asked.path == "/api/chat.postMessage":
            ts = f"1503435956.{len(self.messages):06d}"
            if "thread_ts" in body and body["thread_ts"] not in self.messages:
                return said_json({"ok": False, "error": "thread_not_found"})
            self.messages[ts] = body
            return said_json(
                {"ok": True, "channel": self.channel, "ts": ts, "message": {"text": body["text"]}}
            )
        if asked.path == "/api/chat.update":
            if body["ts"] not in self.messages:
                return said_json({"ok": False, "error": "message_not_found"})
            self.messages[body["ts"]] |= body
            return said_json({"ok": True, "channel": self.channel, "ts": body["ts"], "text": body["text"]})
        return said_json({"ok": False, "error": "unknown_method"})

    def _wrong(self, body: dict[str, Any]) -> str | None:
        if not body.get("text") and not body.get("blocks"):
            return "no_text"
        if len(body.get("text") or "") > 40_000:
            return "msg_too_long"
        for block in body.get("blocks", ()):
            if block["type"] == "section" and not 1 <= len(block["text"]["text"]) <= 3000:
                return "invalid_blocks"
            if block["type"] == "actions" and not 1 <= len(block["elements"]) <= 25:
                return "invalid_blocks"
        return "invalid_blocks" if len(body.get("blocks", ())) > 50 else None
