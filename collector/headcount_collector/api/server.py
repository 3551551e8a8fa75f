"""Serves the application: takes the port, opens the collector, answers until a signal, then puts everything away."""

from __future__ import annotations

import contextlib
import errno
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType

import uvicorn

from headcount_collector.addresses import Address
from headcount_collector.api.app import create_app
from headcount_collector.api.collector import Collector
from headcount_collector.api.protocol import BoundedProtocol
from headcount_collector.api.tls import grpc_credentials, tls_of
from headcount_collector.errors import HeadcountError
from headcount_collector.settings import Settings

log = logging.getLogger(__name__)

_DRAIN_S = 10
"""How long requests that are under way may take to end after a signal."""
_CONNECTIONS = 2048
"""Connections at once; one more is answered 503 and closed."""


class AddressTaken(HeadcountError):
    """The address to serve on cannot be had."""


@dataclass(frozen=True, slots=True)
class Serving:
    """Where a collector answers."""

    url: str
    grpc: str | None
    """HOST:PORT of OTLP/gRPC; None where it is off."""


def run_server(settings: Settings, ready: Callable[[Serving], None]) -> None:
    """Serve until SIGINT or SIGTERM. `ready` is told where, once requests are answered.

    Raises AddressTaken, StoreError and StoreLocked before anything is served.
    """
    listener = listen(settings.address)
    with contextlib.closing(listener), Collector.open(settings) as collector, grpc_edge(collector) as grpc:
        url = url_of(settings.address.host, listener, secure=settings.tls_cert is not None)
        collector.store.tell_port(int(listener.getsockname()[1]))
        server = Server(collector, lambda: ready(Serving(url, grpc)))
        with _signals_end_well():
            server.run(sockets=[listener])
    log.info("stopped; everything that was acknowledged is in the store")


class Server(uvicorn.Server):
    """uvicorn, which tells when it answers and when it was told to stop."""

    def __init__(self, collector: Collector, ready: Callable[[], None]) -> None:
        app = create_app(collector)
        app.state.stopping = lambda: self.should_exit  # what streams to a viewer must not hold up the end
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=_DRAIN_S,
                limit_concurrency=_CONNECTIONS,
                http=BoundedProtocol,
                **tls_of(collector.settings),
            )
        )
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to answer, and tell."""
        await super().startup(sockets)
        if self.started:
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop; a second SIGINT does not wait for requests that are under way."""
        log.info("stopping when requests under way are answered")
        super().handle_exit(sig, frame)


def listen(address: Address) -> socket.socket:
    """Take the address, before anything that costs time. Raises AddressTaken."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address.host, address.port))
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise AddressTaken(
                f"{address} is in use, perhaps by another headcount: stop it, or serve elsewhere with --http "
                f"{Address(address.host, 0)}"
            ) from None
        raise AddressTaken(f"cannot serve on {address}: {error.strerror or error}") from None
    listener.set_inheritable(False)
    return listener


def url_of(host: str, listener: socket.socket, *, secure: bool = False) -> str:
    """Return the URL of a listener; one that takes every address is named by loopback."""
    port = int(listener.getsockname()[1])
    return f"{'https' if secure else 'http'}://{Address(_shown(host), port)}"


def _shown(host: str) -> str:
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # not bound here, but shown


@contextlib.contextmanager
def grpc_edge(collector: Collector) -> Iterator[str | None]:
    """Serve OTLP/gRPC while inside, where it is on and installed; yield its address. Raises AddressTaken."""
    address = collector.settings.grpc_address
    if address is None:
        yield None
        return
    try:
        from headcount_collector.receive.grpc_edge import GrpcEdge
    except ImportError as error:
        if error.name != "grpc":
            raise
        log.warning("OTLP/gRPC is off: %s; pip install 'headcount[grpc]', or set grpc = off", error)
        yield None
        return
    edge = GrpcEdge(
        collector.intake.signals, collector.gate, credentials=grpc_credentials(collector.settings)
    )
    try:
        port = edge.start(str(address))
    except OSError as error:
        raise AddressTaken(
            f"{error}; perhaps another headcount has it: stop it, or serve elsewhere with --grpc "
            f"{Address(address.host, 0)}, or not at all with --grpc off"
        ) from None
    try:
        yield str(Address(_shown(address.host), port))
    finally:
        edge.close(_DRAIN_S)


@contextlib.contextmanager
def _signals_end_well() -> Iterator[None]:
    """Let a signal end `serve` as success: when uvicorn has stopped, it raises once more what it was stopped by."""
    before = {
        number: signal.signal(number, lambda number, frame: None)
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
