"""The gRPC edge of OTLP: the same three exports on raw bytes, in an event loop of its own."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, NoReturn

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import RetryInfo  # type: ignore[import-untyped]  # ships no stubs
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]  # ships no stubs

from headcount_collector.receive.body import BODY_LIMIT
from headcount_collector.receive.errors import Refused
from headcount_collector.receive.signals import PROTOBUF, Handle, Signals

log = logging.getLogger(__name__)

_CODES = {code.value[0]: code for code in grpc.StatusCode}
_SERVICES = {
    "opentelemetry.proto.collector.trace.v1.TraceService": "traces",
    "opentelemetry.proto.collector.metrics.v1.MetricsService": "metrics",
    "opentelemetry.proto.collector.logs.v1.LogsService": "logs",
}

Gate = Callable[[str], None]
"""Takes the value of the authorization metadata ("" if there is none); raises Refused for whom it does not let in."""


@dataclass(frozen=True, slots=True)
class GrpcLimits:
    """What a sender may ask of us."""

    body_bytes: int = BODY_LIMIT
    """Of one message, decompressed; gRPC holds it while it inflates."""
    concurrent: int = 2048
    """Requests at once; what comes beyond is refused before it is read."""
    header_bytes: int = 16 * 1024


class GrpcEdge:
    """A gRPC server for OTLP. `start` and `close` may be called from any thread that is not its own."""

    def __init__(
        self,
        signals: Signals,
        gate: Gate = lambda authorization: None,
        *,
        credentials: grpc.ServerCredentials | None = None,
        limits: GrpcLimits = GrpcLimits(),  # frozen
    ) -> None:
        self._signals = signals
        self._gate = gate
        self._credentials = credentials
        self._limits = limits
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="headcount-grpc", daemon=True)
        self._server: grpc.aio.Server | None = None

    def start(self, address: str) -> int:
        """Serve on HOST:PORT and return the port. Raises OSError if it cannot be had."""
        self._thread.start()
        try:
            port: int = self._call(self._start(address)).result()
        except BaseException:
            self._end()
            raise
        return port

    def close(self, grace_s: float = 10.0) -> None:
        """Take no more, let requests under way end, then stop."""
        if self._server is not None:
            self._call(self._server.stop(grace_s)).result()
            self._server = None
        self._end()

    async def _start(self, address: str) -> int:
        server = grpc.aio.server(
            options=[
                ("grpc.max_receive_message_length", self._limits.body_bytes),
                ("grpc.max_metadata_size", self._limits.header_bytes),
                ("grpc.absolute_max_metadata_size", self._limits.header_bytes),
                ("grpc.so_reuseport", 0),
                ("grpc.keepalive_time_ms", 60_000),
                ("grpc.keepalive_timeout_ms", 20_000),
                ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
            ],
            maximum_concurrent_rpcs=self._limits.concurrent,
        )
        handlers = [self._handlers(service, signal) for service, signal in _SERVICES.items()]
        server.add_generic_rpc_handlers(handlers)
        try:
            if self._credentials is None:
                port = server.add_insecure_port(address)
            else:
                port = server.add_secure_port(address, self._credentials)
        except RuntimeError as error:
            raise OSError(f"cannot serve gRPC on {address}: {error}") from None
        if not port:
            raise OSError(f"cannot serve gRPC on {address}")
        await server.start()
        self._server = server
        return port

    def _handlers(self, service: str, signal: str) -> grpc.GenericRpcHandler:
        handle: Handle = getattr(self._signals, signal)

        async def export(body: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
            return await self._export(body, context, signal, handle)

        # Without deserializer and serializer: bytes in, bytes out.
        return grpc.method_handlers_generic_handler(
            service,
            {"Export": grpc.unary_unary_rpc_method_handler(export)},
        )

    async def _export(
        self, body: bytes, context: grpc.aio.ServicerContext[bytes, bytes], signal: str, handle: Handle
    ) -> bytes:
        counters = self._signals.counters
        try:
            self._gate(_metadata(context).get("authorization", ""))
            response: Message = await handle(body, PROTOBUF)
        except Refused as error:
            counters.refused(error.reason)
            await _refuse(context, error)
        except asyncio.CancelledError:
            counters.refused("disconnected")
            raise
        counters.answered(signal)
        return response.SerializeToString()

    def _call(self, work: Awaitable[Any]) -> Future[Any]:
        async def run() -> Any:
            return await work

        return asyncio.run_coroutine_threadsafe(run(), self._loop)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.close()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()


def _metadata(context: grpc.aio.ServicerContext[bytes, bytes]) -> Mapping[str, str]:
    pairs: Sequence[tuple[str, Any]] = context.invocation_metadata() or ()  # type: ignore[assignment]  # its own pairs
    return {str(key): value if isinstance(value, str) else "" for key, value in pairs}


async def _refuse(context: grpc.aio.ServicerContext[bytes, bytes], error: Refused) -> NoReturn:
    """End the call with the error's code; RetryInfo makes RESOURCE_EXHAUSTED one that exporters retry."""
    if error.retry_after_s is not None:
        wait = AnyMessage()
        wait.Pack(RetryInfo(retry_delay=Duration(seconds=error.retry_after_s)))
        status = Status(code=error.code, message=str(error), details=[wait])
        context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    await context.abort(_CODES[error.code], str(error))
    raise AssertionError  # abort raises
