"""Moments as text: RFC 3339 with nanoseconds, read to and written from integers since the epoch."""

from __future__ import annotations

import re
from datetime import UTC, datetime

SECOND_NS = 1_000_000_000
_RFC3339 = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9})\d*)?([Zz]|[+-]\d{2}:\d{2})", re.ASCII
)


def moment_ns(text: str) -> int:
    """Return the nanoseconds since the epoch of an RFC 3339 date-time.

    Raises ValueError where the text is none: its zone is required, digits beyond the ninth are dropped.
    """
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no RFC 3339 date-time with a zone, such as 2026-11-30T12:00:00Z")
    day, time, fraction, zone = match.groups()
    zone = "+00:00" if zone in "Zz" else zone
    whole = datetime.fromisoformat(f"{day}T{time}{zone}")
    seconds = int((whole - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())
    return seconds * SECOND_NS + int((fraction or "").ljust(9, "0"))


def moment_text(at_ns: int) -> str:
    """Return a moment as RFC 3339 in UTC with nine digits of a second."""
    seconds, rest = divmod(at_ns, SECOND_NS)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"
