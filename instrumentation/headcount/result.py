"""How a child ended, and what the wire says of its result or failure."""

from __future__ import annotations

from typing import Final

from headcount import digest, wire

UNSAID: Final = object()
"""Stands for "nothing was said about it", where None is a result too."""


def outcome_of(error: BaseException) -> wire.Outcome:
    """Return how a child ended that ended with this exception."""
    if digest.is_cancellation(error):
        return "cancelled"
    if isinstance(error, SystemExit) and error.code in (None, 0):
        return "ok"
    return "error"


def returned(value: object) -> object:
    """Return what may be said of a function's value: text, bytes and None count, other objects are only there."""
    return value if value is None or isinstance(value, str | bytes) else UNSAID


def failure(error: BaseException | str | None, outcome: str | None = None) -> dict[str, wire.Value]:
    """Return `error.type` and the digest of the message, never the message; of an outcome alone, its name."""
    if error is None:
        return {wire.ERROR_TYPE: outcome} if outcome in wire.FAILED_OUTCOMES else {}
    if isinstance(error, str):
        return {wire.ERROR_TYPE: outcome or "error", wire.ERROR_DIGEST: digest.digest(error)}
    return {wire.ERROR_TYPE: digest.error_type(error), wire.ERROR_DIGEST: digest.digest(str(error))}


def result_attributes(
    result: object,
    size: int | None = None,
    form: str | None = None,
    location: str | None = None,
    partial: bool | None = None,
) -> dict[str, wire.Value]:
    """Return what the wire says of a result: size in bytes, digest, form, location (a URI), whether it is partial."""
    measured, fingerprint = (None, None) if result is UNSAID else digest.measure(result)
    return {
        wire.RESULT_SIZE: measured if size is None else size,
        wire.RESULT_DIGEST: fingerprint,
        wire.RESULT_FORM: form,
        wire.RESULT_LOCATION: location,
        wire.RESULT_PARTIAL: partial,
    }


def milliseconds(seconds: float | None) -> int | None:
    """Return seconds as whole milliseconds."""
    return None if seconds is None else round(seconds * 1000)
