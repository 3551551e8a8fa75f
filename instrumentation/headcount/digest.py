"""Turns prompts, results and errors into what may leave the process: sizes in bytes and digests."""

from __future__ import annotations

import unicodedata

DIGEST_LIMIT = 1 << 20
"""Characters beyond which a text has no digest: normalising and hashing more would hold up the host."""


def normalise(text: str) -> str:
    """Return the text in the form that is digested: NFKC, casefolded, white space collapsed and trimmed."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def digest(text: str) -> str | None:
    """Return the sha256 (hex) of a normalised prompt, description or error; None beyond `DIGEST_LIMIT`."""
    return None if len(text) > DIGEST_LIMIT else _sha256(normalise(text).encode("utf-8", "replace"))


def measure(result: object) -> tuple[int | None, str | None]:
    """Return size in bytes and digest of a result. The digest is of the bytes as they are: a result is compared, not
    searched for.

    An int is taken as the size itself, None is a result of size 0. Anything but text and bytes has a size nobody
    agreed on: both are None, which reads as "there is a result".
    """
    if result is None:
        return 0, None
    if isinstance(result, str):
        result = result.encode("utf-8", "replace")
    if isinstance(result, bytes | bytearray):
        return len(result), _sha256(result) if len(result) <= DIGEST_LIMIT else None
    if isinstance(result, int) and not isinstance(result, bool):
        return max(result, 0), None
    return None, None


def _sha256(content: bytes | bytearray) -> str:
    import hashlib  # on first use: it loads OpenSSL

    return hashlib.sha256(content).hexdigest()


def error_type(error: BaseException) -> str:
    """Return the qualified name of an exception's class, without `builtins.`."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def is_cancellation(error: BaseException) -> bool:
    """Tell whether an exception means "stopped from outside": asyncio, futures, trio, a closed generator, Ctrl-C.

    By name, so that no event loop is imported for the question.
    """
    if isinstance(error, GeneratorExit | KeyboardInterrupt):
        return True
    return any(kind.__name__ in ("CancelledError", "Cancelled") for kind in type(error).__mro__)
