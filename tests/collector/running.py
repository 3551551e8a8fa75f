"""A whole collector on a free loopback port, for tests that talk to it as other programs do."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from headcount_collector.addresses import parse_address
from headcount_collector.api.collector import Collector
from headcount_collector.api.server import Server, listen, url_of
from headcount_collector.settings import load_settings

PATIENCE_S = 60.0
"""How long a test waits for what must come; it ends as soon as it came."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Running:
    """A collector that serves."""

    url: str
    collector: Collector

    def get(self, path: str, **headers: str) -> Answer:
        return self.request("GET", path, None, headers)

    def post(self, path: str, body: bytes, content: str = "application/json", **headers: str) -> Answer:
        return self.request("POST", path, body, {"Content-Type": content, **headers})

    def plain_routes(self) -> list[str]:
        """Return every path of the API that is read and has no variable part; not the stream, which does not end."""
        return [
            path
            for path, methods in self.get("/api/v1/openapi.json").json["paths"].items()
            if "get" in methods and "{" not in path and "events" not in path
        ]

    def request(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        request = Request(self.url + path, body, dict(headers), method=method)
        try:
            with urlopen(request, timeout=PATIENCE_S) as answer:
                return Answer(answer.status, dict(answer.headers), answer.read())
        except HTTPError as error:
            with error:
                return Answer(error.code, dict(error.headers), error.read())


@contextlib.contextmanager
def running_collector(data: Path, **options: object) -> Iterator[Running]:
    """Run a collector over a store of its own."""
    chosen: dict[str, Any] = {"http": "127.0.0.1:0", "tick_s": 0.1, **options}
    settings = load_settings(data=data, **chosen)
    answering = threading.Event()
    with (
        contextlib.closing(listen(parse_address("127.0.0.1:0"))) as listener,
        Collector.open(settings) as collector,
    ):
        server = Server(collector, answering.set)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            assert answering.wait(PATIENCE_S)
            yield Running(url_of("127.0.0.1", listener), collector)
        finally:
            server.should_exit = True
            thread.join()


def eventually(found: Callable[[], Any], patience_s: float = PATIENCE_S) -> Any:
    """Return the first true value; fails where none comes."""
    ends = time.monotonic() + patience_s
    pause = threading.Event()
    while time.monotonic() < ends:
        if value := found():
            return value
        pause.wait(0.05)
    raise AssertionError("it did not come to pass")
