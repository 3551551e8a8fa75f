"""Reads typed values of one line of a replay file; each complaint says what was found and what belongs there."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal

from headcount_collector.errors import HeadcountError

from .moment import SECOND_NS

_LONGEST_S = 10**9
"""No time of a replay lies further from its beginning than about thirty years: a larger number is a wrong unit."""
_LARGEST = 2**63 - 1


class LineError(HeadcountError):
    """What is wrong with one line, and the way out; the reader adds file and line number."""


def only(found: Iterable[str], known: Collection[str], what: str) -> None:
    """Refuse keys that are not known."""
    unknown = sorted(set(found) - set(known))
    if unknown:
        raise LineError(f"unknown key {unknown[0]!r} {what}; known are {', '.join(sorted(known))}")


def table(value: object, key: str) -> Mapping[str, object]:
    """Return a JSON object."""
    if not isinstance(value, dict):
        raise LineError(f"{key!r} must be a JSON object, not {value!r}")
    return value


def text(value: object, key: str) -> str:
    """Return a string."""
    if not isinstance(value, str):
        raise LineError(f"{key!r} must be a string, not {value!r}")
    return value


def texts(value: object, key: str) -> tuple[str, ...]:
    """Return a list of strings."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise LineError(f"{key!r} must be a list of strings, not {value!r}")
    return tuple(value)


def flag(value: object, key: str) -> bool:
    """Return a boolean."""
    if not isinstance(value, bool):
        raise LineError(f"{key!r} must be true or false, not {value!r}")
    return value


def count(value: object, key: str, at_least: int = 0) -> int:
    """Return a whole number."""
    if not isinstance(value, int) or isinstance(value, bool) or not at_least <= value <= _LARGEST:
        raise LineError(f"{key!r} must be a whole number from {at_least}, not {value!r}")
    return value


def one_of(value: object, key: str, words: Collection[str]) -> str:
    """Return a string that is one of `words`."""
    if not isinstance(value, str) or value not in words:
        raise LineError(f"{key!r} is {value!r}; it must be one of {', '.join(sorted(words))}")
    return value


def seconds_ns(value: object, key: str, *, negative: bool = False) -> int:
    """Return a number of seconds as nanoseconds, exact to the digits that the file gives."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise LineError(f"{key!r} must be a number of seconds, not {value!r}")
    if not math.isfinite(value) or abs(value) > _LONGEST_S or (value < 0 and not negative):
        raise LineError(
            f"{key!r} is {value!r}; it must be seconds {'' if negative else 'from 0 '}within 30 years"
        )
    return int(Decimal(repr(value)) * SECOND_NS)
