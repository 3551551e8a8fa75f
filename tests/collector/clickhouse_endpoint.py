"""ClickHouse's HTTP interface over chDB in a process of its own, which can be told to misbehave.

`python -m tests.collector.clickhouse_endpoint FOLDER` prints its port and serves until standard input ends. It stands
in for a ClickHouse server, which no package registry has in a recent version: the same engine, with its access control
(everybody is one user, who may be allowed as little as the engine's own GRANT says) and its distributed tables over a
cluster of one shard, this engine. What wants a coordination service is left out: `ON CLUSTER` and replication.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from urllib.request import urlopen
from xml.sax.saxutils import escape

from headcount_collector.api.greeting import asks_greeting, greeting

_REPLICATED = re.compile(r"Replicated(\w*MergeTree)\('[^']*', '\{replica\}'(?:, )?")
_WINDOW = "replicated_deduplication_window"
_ACCESS_DENIED = "497"
_NO_SETTINGS = {
    "query",
    "database",
    "session_id",
    "query_id",
    "client_protocol_version",
    "default_format",
    "wait_end_of_query",
    "mode",
}


@dataclass(frozen=True)
class Endpoint:
    """A running endpoint."""

    url: str
    process: subprocess.Popen[str]

    def behave(self, mode: str) -> None:
        """Be `well`, or from now on answer inserts so: `drop` and `late` close the connection before and after doing
        the work, `delay` answers after a second, `lie` says 200 with an error in it, `proxy` is a 502 of somebody else,
        `parts` says too many parts, `readonly` that the table is read only."""
        urlopen(f"{self.url}/_behave?mode={mode}", timeout=30).close()

    def denied(self) -> list[str]:
        """Return what was refused for want of a grant."""
        with urlopen(f"{self.url}/_denied", timeout=30) as answer:
            return [str(each) for each in json.load(answer)]


CLUSTER = "main"
"""The cluster that the engine knows: one shard of one replica, itself."""
_SERVER = f"""<clickhouse>
  <tcp_port>9000</tcp_port>
  <remote_servers><{CLUSTER}><shard><internal_replication>true</internal_replication>
    <replica><host>localhost</host><port>9000</port></replica></shard></{CLUSTER}></remote_servers>
  <users_config>{{users}}</users_config>
</clickhouse>"""
_USERS = """<clickhouse>
  <profiles><default>{settings}</default></profiles>
  <quotas><default/></quotas>
  <users><default><password/><networks><ip>::/0</ip></networks><profile>default</profile><quota>default</quota>
    {grants}</default></users>
</clickhouse>"""


@contextmanager
def clickhouse_endpoint(
    folder: Path, grants: Sequence[str] | None = None, settings: dict[str, str] | None = None
) -> Iterator[Endpoint]:
    """Serve over a store in `folder` until left.

    Who asks may do everything, or what the statements `grants` (without `TO`) allow, and has the profile `settings`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    queries = "".join(f"<query>{escape(grant)}</query>" for grant in grants or ())
    profile = "".join(f"<{name}>{escape(value)}</{name}>" for name, value in (settings or {}).items())
    users = folder / "users.xml"
    users.write_text(
        _USERS.format(settings=profile, grants="" if grants is None else f"<grants>{queries}</grants>")
    )
    (folder / "server.xml").write_text(_SERVER.format(users=users))
    command = [sys.executable, "-m", "tests.collector.clickhouse_endpoint", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Endpoint(f"http://127.0.0.1:{process.stdout.readline().strip()}", process)
        finally:
            process.kill()


def unreplicated(sql: str) -> str:
    """Return what a statement for a cluster is without a coordination service.

    A table that would be replicated refuses blocks that it was given before just as that one would.
    """
    sql = sql.replace(f" ON CLUSTER {CLUSTER}", "")
    if not _REPLICATED.search(sql):
        return sql
    sql = _REPLICATED.sub(r"\1(", sql)
    if _WINDOW in sql:
        return sql.replace(_WINDOW, f"non_{_WINDOW}")
    more = "," if "SETTINGS" in sql else " SETTINGS"
    return f"{sql.rstrip().rstrip(';')}{more} non_{_WINDOW} = 10000"


class _Engine:
    def __init__(self, folder: Path) -> None:
        from chdb import connect

        where = f"{folder / 'engine'}?config-file={folder / 'server.xml'}"
        self._connection: Any = connect(where)  # type: ignore[no-untyped-call]  # untyped
        self._lock = threading.Lock()
        self._set: dict[str, str] = {}
        self.mode = "well"
        self.denied: list[str] = []

    def run(self, named: dict[str, str], body: bytes) -> bytes:
        sql = named.get("query", "")
        data: bytes | None = None
        if not sql and (found := re.match(rb"INSERT INTO [^\n]*? FORMAT \w+\n", body)):
            sql, data = found[0].decode(), body[found.end() :]
        elif not sql:
            sql = body.decode()
        elif "INSERT" in sql[:20].upper():
            data = body
        else:
            sql = "\n".join(part for part in (sql, body.decode()) if part)
        sql = unreplicated(sql)
        parameters = {k.removeprefix("param_"): v for k, v in named.items() if k.startswith("param_")}
        settings = {k: v for k, v in named.items() if k not in _NO_SETTINGS and not k.startswith("param_")}
        with self._lock:
            if database := named.get("database"):
                self._connection.query(f"USE `{database}`")
            for name in self._set.keys() - settings.keys():
                self._connection.query(f"SET {name} = DEFAULT")
            for name, value in settings.items():
                if self._set.get(name) != value:
                    quoted = value.replace("\\", "\\\\").replace("'", "\\'")
                    self._connection.query(f"SET {name} = '{quoted}'")
            self._set = settings
            form = named.get("default_format", "TabSeparated")
            if asks_greeting(sql, form, named.get("client_protocol_version", "")):
                told = self._connection.query("SELECT version(), timezone()", "TabSeparated").bytes().decode()
                return greeting(*told.rstrip("\n").split("\t"))
            if data is None:
                return bytes(self._connection.query(sql, form, params=parameters).bytes() or b"")
            with tempfile.NamedTemporaryFile(dir=".") as file:
                file.write(data)
                file.flush()
                into, _, form = sql.rpartition("FORMAT")
                self._connection.query(f"{into} FROM INFILE '{file.name}' FORMAT {form}")
            return b""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    engine: _Engine

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/_behave":
            self.engine.mode = dict(parse_qsl(parts.query))["mode"]
            self._answer(200, b"")
        elif parts.path == "/_denied":
            self._answer(200, json.dumps(self.engine.denied).encode())
        else:
            self.do_POST()

    def do_POST(self) -> None:
        body = self._body()
        named = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        insert = (named.get("query", "") or body[:6].decode("latin-1")).lstrip()[:6].upper() == "INSERT"
        mode = self.engine.mode if insert else "well"
        if mode == "drop":
            self.close_connection = True
            return
        if mode == "delay":
            time.sleep(1)
        if mode in ("lie", "proxy", "parts", "readonly"):
            self._misbehave(mode)
            return
        try:
            result = self.engine.run(named, body)
        except Exception as error:  # noqa: BLE001  # whatever the engine says
            text = str(error)
            code = text.split("Code: ")[1].split(".")[0] if "Code: " in text else "1002"
            if code == _ACCESS_DENIED:
                self.engine.denied.append(
                    f"{text}: {named.get('query', '')}{body[:300].decode(errors='replace')}"
                )
            self._answer(500, text.encode(), {"X-ClickHouse-Exception-Code": code})
            return
        if mode == "late":
            self.close_connection = True
            return
        self._answer(200, result, {"X-ClickHouse-Timezone": "UTC", "X-ClickHouse-Summary": "{}"})

    def _misbehave(self, mode: str) -> None:
        match mode:
            case "lie":
                text = b"Code: 210. DB::Exception: Connection reset by peer. (NETWORK_ERROR)"
                self._answer(200, text, {"X-ClickHouse-Exception-Code": "210"})
            case "proxy":
                self._answer(502, b"<html>bad gateway</html>")
            case "parts":
                text = b"Code: 252. DB::Exception: Too many parts. (TOO_MANY_PARTS)"
                self._answer(500, text, {"X-ClickHouse-Exception-Code": "252"})
            case "readonly":
                text = b"Code: 242. DB::Exception: Table is in readonly mode. (TABLE_IS_READ_ONLY)"
                self._answer(500, text, {"X-ClickHouse-Exception-Code": "242"})

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            body = b"".join(parts)
        else:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
        encoding = self.headers.get("content-encoding", "")
        if encoding == "lz4":
            import lz4.frame  # type: ignore[import-untyped]  # ships no stubs

            return bytes(lz4.frame.decompress(body))
        return body

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _main(folder: Path) -> None:
    import os

    os.chdir(folder)  # the engine writes schemas that it was given as text into the current folder
    _Handler.engine = _Engine(folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    print(server.server_port, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    _main(Path(sys.argv[1]).absolute())
