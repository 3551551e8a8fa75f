"""Fuzzes every decoder by coverage: `python -m tests.collector.fuzz_decoders SECONDS`; needs `pip install atheris`.

Whatever the bytes, a decoder returns or raises an error of ours. A finding is printed with its input and ends the run.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Callable

import atheris  # type: ignore[import-not-found,import-untyped,unused-ignore]  # installed for this only

with atheris.instrument_imports(include=["headcount_collector"]):
    from headcount_collector.access import tokens_in
    from headcount_collector.errors import HeadcountError
    from headcount_collector.receive.admission import Admission
    from headcount_collector.receive.body import read_body
    from headcount_collector.receive.logs import LogAdmission
    from headcount_collector.receive.otlp_json import request_from_json
    from headcount_collector.store.statement import Allowed, single_statement

_admission = Admission()
_logs = LogAdmission()
_allowed = Allowed("headcount", [("plus", "Arithmetic", "", False), ("sum", "Aggregate Functions", "", True)])


async def _chunks(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), 100):
        yield data[start : start + 100]


def _read(data: bytes) -> None:
    encoding = ("gzip", "deflate", "zstd", "identity")[data[0] % 4] if data else "gzip"
    body = asyncio.run(read_body(_chunks(data[1:]), {"content-encoding": encoding}, 100_000))
    assert len(body) <= 100_000


_DECODERS: tuple[Callable[[bytes], object], ...] = (
    _admission.admit,
    lambda data: _admission.admit_request(request := request_from_json(data), request.SerializeToString()),
    lambda data: _logs.admit(data, False),
    lambda data: _logs.admit(data, True),
    _read,
    lambda data: _allowed.check(data.decode("utf-8", "replace").split("\n")),
    lambda data: single_statement(data.decode("utf-8", "replace")),
    lambda data: tokens_in(data.decode("utf-8", "replace"), "file"),
)


def one(data: bytes) -> None:
    """Give one input to the decoder that its first byte names."""
    if not data:
        return
    with contextlib.suppress(HeadcountError):
        _DECODERS[data[0] % len(_DECODERS)](data[1:])


if __name__ == "__main__":
    atheris.Setup([sys.argv[0], f"-max_total_time={sys.argv[1]}", "-max_len=4096"], one)
    atheris.Fuzz()
