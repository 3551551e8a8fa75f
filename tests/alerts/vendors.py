"""The services that cannot be hosted here, as their vendors document them, behind one HTTPS server on loopback."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import socketserver
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.collector.certificates import make_certificates

from .peers import Asked, Peer, Said, peer, said_json

WORKFLOW = "0123456789abcdef0123456789abcdef"


@dataclass
class Vendor:
    """One service: the URL by which apprise knows it, its host, and its contract."""

    name: str
    url: str
    host: str
    contract: Callable[[Asked], Said]
    limited: Said
    """How it says that there were too many requests, with 7 s to wait."""
    loud: tuple[str, ...] = ()
    """What would call people, or make a link, in its text."""


def _path(asked: Asked) -> tuple[str, dict[str, str]]:
    parts = urlsplit(asked.path)
    return parts.path, {name: values[0] for name, values in parse_qs(parts.query).items()}


def _is_json(asked: Asked) -> bool:
    return asked.method == "POST" and asked.headers.get("content-type", "").startswith("application/json")


def discord(asked: Asked) -> Said:
    """Execute Webhook: content up to 2000, ten embeds, 4096 a description, 6000 in all; 204 without `wait`."""
    path, query = _path(asked)
    if path != "/api/webhooks/4174216298/token":
        return said_json({"message": "Unknown Webhook", "code": 10015}, 404)
    body = asked.json
    content, embeds = body.get("content") or "", body.get("embeds") or []
    texts = [str(e.get(name) or "") for e in embeds for name in ("title", "description")]
    texts += [str(f[name]) for e in embeds for f in e.get("fields", ()) for name in ("name", "value")]
    fits = (
        _is_json(asked)
        and (content or embeds)
        and len(content) <= 2000
        and len(embeds) <= 10
        and all(len(e.get("title") or "") <= 256 and len(e.get("description") or "") <= 4096 for e in embeds)
        and all(len(e.get("fields", ())) <= 25 for e in embeds)
        and sum(map(len, texts)) <= 6000
    )
    if not fits:
        return said_json({"message": "Invalid Form Body", "code": 50035}, 400)
    return said_json({"id": "1"}) if query.get("wait") == "true" else Said(204)


def teams(asked: Asked) -> Said:
    """A workflow with the trigger "when a Teams webhook request is received": an adaptive card of up to 28 KB; 202."""
    path, query = _path(asked)
    if path != f"/workflows/{WORKFLOW}/triggers/manual/paths/invoke":
        return said_json({"error": {"code": "WorkflowNotFound"}}, 404)
    if (
        query.get("sig") != "signature"
        or query.get("sv") != "1.0"
        or query.get("sp") != "/triggers/manual/run"
    ):
        return said_json({"error": {"code": "DirectApiAuthorizationRequired"}}, 401)
    body = asked.json
    cards = body.get("attachments", [])
    fits = (
        _is_json(asked)
        and query.get("api-version") is not None
        and body.get("type") == "message"
        and len(asked.body) <= 28 * 1024
        and all(c["contentType"] == "application/vnd.microsoft.card.adaptive" for c in cards)
        and all(c["content"]["type"] == "AdaptiveCard" and c["content"]["body"] for c in cards)
    )
    return Said(202) if fits and cards else said_json({"error": {"code": "TriggerInputSchemaMismatch"}}, 400)


def telegram(asked: Asked) -> Said:
    """sendMessage: 1 to 4096 characters after its entities are parsed; tags must be known and closed."""
    path, _ = _path(asked)
    if path != "/bot123456789:abcdefg_hijklmnop/sendMessage":
        return said_json({"ok": False, "error_code": 401, "description": "Unauthorized"}, 401)
    body = asked.json
    text = body.get("text", "")
    if body.get("parse_mode") == "HTML":
        tags = re.findall(r"<(/?)([a-z]+)[^>]*>", text)
        opened = sorted(name for closing, name in tags if not closing)
        known = {"b", "i", "u", "s", "code", "pre", "a", "tg-spoiler", "blockquote"}
        if opened != sorted(name for closing, name in tags if closing) or not set(opened) <= known:
            return said_json(
                {"ok": False, "error_code": 400, "description": "Bad Request: can't parse entities"}, 400
            )
        text = re.sub(r"<[^>]*>", "", text)
    elif str(body.get("parse_mode", "")).upper().startswith("MARKDOWN"):
        bare = re.sub(r"\\.", "", text)
        if any(bare.count(sign) % 2 for sign in "*_`") or bare.count("[") != bare.count("]("):
            return said_json(
                {"ok": False, "error_code": 400, "description": "Bad Request: can't parse entities"}, 400
            )
    if not _is_json(asked) or str(body.get("chat_id")) != "12315544" or not 1 <= len(text) <= 4096:
        return said_json({"ok": False, "error_code": 400, "description": "Bad Request"}, 400)
    return said_json({"ok": True, "result": {"message_id": 1}})


def google_chat(asked: Asked) -> Said:
    """spaces.messages.create through an incoming webhook: key and token, text of up to 4096 characters."""
    path, query = _path(asked)
    if path != "/v1/spaces/workspace/messages" or (query.get("key"), query.get("token")) != ("key", "token"):
        return said_json({"error": {"code": 403, "status": "PERMISSION_DENIED"}}, 403)
    text = asked.json.get("text", "")
    if not _is_json(asked) or not 1 <= len(text) <= 4096 or set(asked.json) - {"text", "thread", "cards"}:
        return said_json({"error": {"code": 400, "status": "INVALID_ARGUMENT"}}, 400)
    return said_json({"name": "spaces/workspace/messages/1", "text": text})


def mattermost(asked: Asked) -> Said:
    """An incoming webhook: text of up to 16383 characters; answers ok."""
    path, _ = _path(asked)
    if path != "/hooks/hooktoken123":
        return said_json({"id": "web.incoming_webhook.invalid.app_error", "status_code": 400}, 400)
    known = {
        "text",
        "channel",
        "username",
        "icon_url",
        "icon_emoji",
        "attachments",
        "type",
        "props",
        "priority",
    }
    if not _is_json(asked) or set(asked.json) - known or not 1 <= len(asked.json.get("text", "")) <= 16383:
        return said_json({"id": "web.incoming_webhook.parse.app_error", "status_code": 400}, 400)
    return Said(200, b"ok")


def ntfy(asked: Asked) -> Said:
    """Publish as JSON: a topic; a message of more than 4096 bytes would become a file, and be none that one reads."""
    if (
        asked.path != "/"
        or not _is_json(asked)
        or not re.fullmatch(r"[-_A-Za-z0-9]{1,64}", asked.json["topic"])
    ):
        return said_json({"code": 40009, "http": 400, "error": "invalid request: topic invalid"}, 400)
    if len(asked.json["message"].encode()) > 4096 or not 1 <= asked.json.get("priority", 3) <= 5:
        return said_json({"code": 40014, "http": 400, "error": "invalid request: too large"}, 400)
    return said_json({"id": "x", "time": 1, "event": "message", "topic": asked.json["topic"]})


def pagerduty(asked: Asked) -> Said:
    """Events API v2: 202 with the dedup_key; 400 names what does not fit. A resolve needs the key and nothing else."""
    body = asked.json
    errors = []
    if asked.path != "/v2/enqueue" or not _is_json(asked):
        return said_json({"status": "Not Found"}, 404)
    if len(body.get("routing_key", "")) == 0:
        errors.append("'routing_key' is missing or blank")
    if body.get("event_action") not in ("trigger", "acknowledge", "resolve"):
        errors.append("'event_action' is missing or invalid")
    if len(body.get("dedup_key", "")) > 255:
        errors.append("'dedup_key' is too long")
    if body.get("event_action") == "trigger":
        payload = body.get("payload", {})
        if not 1 <= len(payload.get("summary", "")) <= 1024:
            errors.append("'payload.summary' is missing or too long")
        if payload.get("severity") not in ("critical", "warning", "error", "info"):
            errors.append("'payload.severity' is missing or invalid")
        if not payload.get("source"):
            errors.append("'payload.source' is missing or blank")
    elif not body.get("dedup_key"):
        errors.append("'dedup_key' is missing or blank")
    if errors:
        return said_json(
            {"status": "invalid event", "message": "Event object is invalid", "errors": errors}, 400
        )
    return said_json({"status": "success", "message": "Event processed", "dedup_key": body["dedup_key"]}, 202)


def slack_webhook(asked: Asked) -> Said:
    """An incoming webhook: `ok`; 400 for what it cannot read, 404 where there is none."""
    if asked.path != "/services/T0/B0/secret":
        return Said(404, b"no_service")
    body = asked.json
    sections = [block["text"]["text"] for block in body.get("blocks", ()) if block["type"] == "section"]
    if not _is_json(asked) or not body.get("text") or not all(1 <= len(text) <= 3000 for text in sections):
        return Said(400, b"invalid_payload")
    return Said(200, b"ok")


def _wait_header(document: dict[str, Any]) -> Said:
    return said_json(document, 429, **{"Retry-After": "7"})


VENDORS = [
    Vendor(
        "discord",
        "discord://4174216298/token",
        "discord.com",
        discord,
        said_json({"message": "You are being rate limited.", "retry_after": 7.0, "global": False}, 429),
        ("@everyone", "@here", "<@", "<#", "]("),
    ),
    Vendor(
        "teams",
        f"workflows://prod-1.westeurope.logic.azure.com/{WORKFLOW}/signature/",
        "prod-1.westeurope.logic.azure.com",
        teams,
        _wait_header({"error": {"code": "TooManyRequests"}}),
        ("<at>", "]("),
    ),
    Vendor(
        "telegram",
        "tgram://123456789:abcdefg_hijklmnop/12315544/",
        "api.telegram.org",
        telegram,
        said_json({"ok": False, "error_code": 429, "parameters": {"retry_after": 7}}, 429),
        ("<a ", "@everyone"),
    ),
    Vendor(
        "google_chat",
        "gchat://workspace/key/token",
        "chat.googleapis.com",
        google_chat,
        _wait_header({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}),
        ("<users/", "<http", "]("),
    ),
    Vendor(
        "mattermost",
        "mmosts://chat.example.com/hooktoken123",
        "chat.example.com",
        mattermost,
        _wait_header({"id": "api.context.rate_limit.app_error"}),
        ("@here", "@channel", "@all", "]("),
    ),
    Vendor(
        "ntfy",
        "ntfys://ntfy.example.com/headcount",
        "ntfy.example.com",
        ntfy,
        _wait_header({"code": 42901, "http": 429, "error": "limit reached: too many requests"}),
        ("](",),
    ),
    Vendor(
        "pagerduty",
        "pagerduty://integrationkey@apikey",
        "events.pagerduty.com",
        pagerduty,
        _wait_header({"status": "throttle exceeded"}),
    ),
]


@contextlib.contextmanager
def the_internet(
    folder: Path, patch: pytest.MonkeyPatch
) -> Iterator[tuple[Peer, dict[str, Callable[[Asked], Said]]]]:
    """Serve every vendor's host by HTTPS on loopback, behind a proxy that leads all names there."""
    contracts = {vendor.host: vendor.contract for vendor in VENDORS} | {"hooks.slack.com": slack_webhook}
    files = make_certificates(folder, *contracts)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(files.server, files.server_key)
    with (
        peer(lambda asked: contracts[asked.headers["host"]](asked), tls) as server,
        _proxy(int(server.url.rpartition(":")[2])) as proxy,
    ):
        for name in ("NO_PROXY", "HTTP_PROXY", "ALL_PROXY"):
            patch.delenv(name, raising=False)
            patch.delenv(name.lower(), raising=False)
        patch.setenv("HTTPS_PROXY", proxy)
        patch.setenv("https_proxy", proxy)
        patch.setenv("REQUESTS_CA_BUNDLE", str(files.ca))
        patch.setenv("SSL_CERT_FILE", str(files.ca))
        yield server, contracts


@contextlib.contextmanager
def _proxy(port: int) -> Iterator[str]:
    """Serve a proxy whose every tunnel ends at one port of loopback."""

    class Tunnel(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while self.rfile.readline().strip():
                pass
            with socket.create_connection(("127.0.0.1", port)) as inner:
                self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                back = threading.Thread(target=_pour, args=(inner, self.connection))
                back.start()
                _pour(self.connection, inner)
                back.join()

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False

    with Server(("127.0.0.1", 0), Tunnel) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def _pour(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(65536):
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)


def texts_of(document: Any) -> Iterator[str]:
    """Yield every text in a JSON document."""
    if isinstance(document, str):
        yield document
    elif isinstance(document, dict):
        for value in document.values():
            yield from texts_of(value)
    elif isinstance(document, list):
        for value in document:
            yield from texts_of(value)


def json_of(asked: Asked) -> Any:
    """Return the document of a request."""
    return json.loads(asked.body)
