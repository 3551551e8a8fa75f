"""Closed-loop senders in a process of their own: each connection sends, waits for the answer, sends again.

`python -m benchmarks.sender PROTOCOL HOST:PORT CONNECTIONS SECONDS BODIES [RATE]`; PROTOCOL is http/protobuf, http/json
or grpc; RATE: at most so many requests a second of all connections together.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc

Send = Callable[[bytes], Awaitable[bool]]
"""Sends a body and tells whether it was taken; False: it was refused for a later try."""

_TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
_RETRY_S = 1.0


async def _http(address: str, content: str) -> Send:
    host, port = address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))

    async def send(body: bytes) -> bool:
        head = (
            f"POST /v1/traces HTTP/1.1\r\nhost: {address}\r\ncontent-type: {content}\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(int(length.partition(b":")[2]))
        return _taken(answer.split(b" ", 2)[1] == b"200", answer.startswith(b"HTTP/1.1 503"), answer)

    return send


async def _grpc(address: str) -> Send:
    # Channels with equal options share one connection; each of ours shall have its own.
    options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_send_message_length", -1)]
    channel = grpc.aio.insecure_channel(address, options=options)
    export: Any = channel.unary_unary(_TRACES)

    async def send(body: bytes) -> bool:
        try:
            await export(body)
        except grpc.aio.AioRpcError as error:
            return _taken(False, error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED, str(error).encode())
        return True

    return send


def _taken(taken: bool, later: bool, answer: bytes) -> bool:
    if not taken and not later:
        raise SystemExit(f"refused: {answer[:200]!r}")
    return taken


async def _drive(
    send: Send, bodies: list[bytes], until_s: float, waits_s: list[float], every_s: float
) -> tuple[int, int]:
    sent = refused = 0
    next_s = time.monotonic()
    while time.monotonic() < until_s and bodies:
        body = bodies.pop()
        await asyncio.sleep(max(0.0, next_s - time.monotonic()))
        next_s += every_s
        began = time.monotonic()
        while not await send(body):  # as an exporter does: what was refused is kept and sent again
            refused += 1
            await asyncio.sleep(_RETRY_S)
            began = time.monotonic()
        waits_s.append(time.monotonic() - began)
        sent += 1
    return sent, refused


async def _main(
    protocol: str, address: str, connections: int, seconds: float, file: Path, rate: float
) -> None:
    bodies = []
    with file.open("rb") as packed:
        while length := packed.read(8):
            bodies.append(packed.read(int.from_bytes(length, "little")))
    content = {"http/protobuf": "application/x-protobuf", "http/json": "application/json"}.get(protocol)
    senders = [await (_http(address, content) if content else _grpc(address)) for _ in range(connections)]
    waits_s: list[float] = []
    began = time.monotonic()
    every_s = connections / rate if rate else 0.0
    done = await asyncio.gather(
        *(_drive(send, bodies, began + seconds, waits_s, every_s) for send in senders)
    )
    document = {
        "requests": sum(sent for sent, _ in done),
        "refused": sum(refused for _, refused in done),
        "seconds": time.monotonic() - began,
        "waits_s": waits_s,
    }
    print(json.dumps(document))


if __name__ == "__main__":
    rate = float(sys.argv[6]) if len(sys.argv) > 6 else 0.0
    asyncio.run(
        _main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), Path(sys.argv[5]), rate)
    )
