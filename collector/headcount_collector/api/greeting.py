"""What clickhouse-go asks first over HTTP, answered in the form of `Native` that it wants once and then no more.

It asks for a revision of ClickHouse's binary protocol (`client_protocol_version`), in which each block has a head and
each column a flag that the embedded engine does not write. But it goes by the revision that this answer names: 0 is
the plain form, which the engine writes.
"""

from __future__ import annotations

import struct

_ASKED = "SELECT displayName(), version(), revision(), timezone()"
_BLOCK_HEAD = b"\x01\x00\x02\xff\xff\xff\xff\x00"
_PLAIN = b"\x00"


def asks_greeting(sql: str, form: str, revision: str) -> bool:
    """Tell whether this is that first question of a client that wants some revision."""
    return form == "Native" and revision not in ("", "0") and sql.strip() == _ASKED


def greeting(version: str, timezone: str) -> bytes:
    """Return one block of `Native` with who answers, and revision 0."""
    columns = (
        ("displayName()", "String", _text("headcount")),
        ("version()", "String", _text(version)),
        ("revision()", "UInt32", struct.pack("<I", 0)),
        ("timezone()", "String", _text(timezone)),
    )
    body = b"".join(_text(name) + _text(kind) + _PLAIN + value for name, kind, value in columns)
    return _BLOCK_HEAD + bytes([len(columns), 1]) + body


def _text(value: str) -> bytes:
    encoded = value.encode()
    assert len(encoded) < 128  # a longer one would need a second byte of length
    return bytes([len(encoded)]) + encoded
