"""Turns prompts, results and errors into what may leave the process: sizes in bytes and digests."""

from __future__ import annotations

import unicodedata

DIGEST_LIMIT = 1 << 20
"""Characters beyond which a text gets a size but no digest: normalising more would hold up the host."""


def normalise(text: str) -> str:
    """Return the text in the form that is digested: NFKC, casefolded, white space collapsed and trimmed."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def digest(text: str) -> str | None:
    """Return the sha256 (hex) of the normalised text; None beyond `DIGEST_LIMIT` characters."""
    if len(text) > DIGEST_LIMIT:
        return None
    import hashlib  # on first use: it loads OpenSSL

    return hashlib.sha256(normalise(text).encode("utf-8", "replace")).hexdigest()


def measure(result: object) -> tuple[int | None, str | None]:
    """Return size in bytes and digest of a result.

    Text and bytes are measured, an int is taken as the size itself, None is a result of size 0. Anything else
    has a size nobody agreed on: both are None, which reads as "there is a result".
    """
    if result is None:
        return 0, None
    if isinstance(result, str):
        return len(result.encode("utf-8", "replace")), digest(result)
    if isinstance(result, bytes | bytearray | memoryview):
        size = len(bytes(result))
        return size, digest(bytes(result).decode("utf-8", "replace")) if size <= DIGEST_LIMIT else None
    if isinstance(result, int) and not isinstance(result, bool):
        return max(result, 0), None
    return None, None


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
