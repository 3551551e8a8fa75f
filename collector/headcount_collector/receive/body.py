"""The bytes of a request: read and decompressed under one limit, which holds while reading."""

from __future__ import annotations

import sys
import zlib
from collections.abc import AsyncIterable, Mapping
from typing import Protocol

from headcount_collector.receive.errors import Malformed, TooLarge, WrongContent

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BODY_LIMIT = 20 * 1024 * 1024
"""Bytes of a body after decompression; the OpenTelemetry Collector's default."""


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class _Deflate:
    """zlib's decompressor, which alone keeps its surplus input apart, behind the interface of the others."""

    def __init__(self, window_bits: int) -> None:
        self._inner = zlib.decompressobj(window_bits)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        return self._inner.decompress(data, max_length)


def _decompressor(encoding: str) -> _Decompressor:
    match encoding:
        case "gzip" | "x-gzip":
            return _Deflate(zlib.MAX_WBITS | 16)
        case "deflate":
            return _Deflate(zlib.MAX_WBITS)
        case "zstd":
            return zstd.ZstdDecompressor()
        case _:
            raise WrongContent(
                f"content-encoding {encoding!r} is not spoken here: send identity, gzip, deflate or zstd"
            )


async def read_body(
    chunks: AsyncIterable[bytes], headers: Mapping[str, str], limit: int = BODY_LIMIT
) -> bytes:
    """Return the body as the sender wrote it, decompressed. Raises TooLarge, WrongContent or Malformed."""
    encoding = headers.get("content-encoding", "identity").strip().lower()
    declared = headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limit:
        raise _too_large(limit)
    decompressor = None if encoding in ("", "identity") else _decompressor(encoding)
    parts: list[bytes] = []
    size = 0
    async for chunk in chunks:
        part = chunk if decompressor is None else _decompress(decompressor, chunk, limit - size, encoding)
        size += len(part)
        if size > limit:
            raise _too_large(limit)
        parts.append(part)
    if decompressor is not None and size and not decompressor.eof:
        raise Malformed(f"the {encoding} body ends early")
    return b"".join(parts)


def _decompress(decompressor: _Decompressor, chunk: bytes, room: int, encoding: str) -> bytes:
    if decompressor.eof or not chunk:
        return b""
    try:
        return decompressor.decompress(chunk, room + 1)
    except (zlib.error, zstd.ZstdError) as error:
        raise Malformed(f"the body is not {encoding}: {error}") from None


def _too_large(limit: int) -> TooLarge:
    return TooLarge(
        f"the body is larger than {limit // 1024 // 1024} MiB decompressed: export smaller batches "
        "(OTEL_BSP_MAX_EXPORT_BATCH_SIZE)"
    )
