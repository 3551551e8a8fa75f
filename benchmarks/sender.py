"""Closed-loop senders in a process of their own: each connection posts, waits for the answer, posts again."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit


async def _send(host: str, port: int, bodies: list[bytes], until_s: float, waits_s: list[float]) -> int:
    reader, writer = await asyncio.open_connection(host, port)
    sent = 0
    while time.monotonic() < until_s and bodies:
        body = bodies.pop()
        head = (
            f"POST /v1/traces HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/x-protobuf\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        )
        began = time.monotonic()
        writer.write(head.encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(int(length.partition(b":")[2]))
        if not answer.startswith(b"HTTP/1.1 200"):
            raise SystemExit(f"refused: {answer.splitlines()[0].decode()}")
        waits_s.append(time.monotonic() - began)
        sent += 1
    writer.close()
    return sent


async def _main(url: str, connections: int, seconds: float, file: Path) -> None:
    bodies = []
    with file.open("rb") as packed:
        while length := packed.read(8):
            bodies.append(packed.read(int.from_bytes(length, "little")))
    parts = urlsplit(url)
    host, port = parts.hostname or "127.0.0.1", parts.port or 80
    waits_s: list[float] = []
    began = time.monotonic()
    sent = await asyncio.gather(
        *(_send(host, port, bodies, began + seconds, waits_s) for _ in range(connections))
    )
    print(json.dumps({"requests": sum(sent), "seconds": time.monotonic() - began, "waits_s": waits_s}))


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4])))
