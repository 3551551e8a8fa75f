"""Digests that stand for texts which must not travel: prompts, descriptions, errors, results."""

from __future__ import annotations

import unicodedata
from hashlib import sha256


def text_bytes(text: str) -> bytes:
    """Return the UTF-8 of a text; a lone surrogate, which JSON can carry and UTF-8 cannot, becomes `?`."""
    return text.encode("utf-8", "replace")


def normalised_digest(text: str) -> str:
    """Return the sha256 of a text after NFKC, case folding, collapsing of white space and trimming."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return sha256(text_bytes(" ".join(plain.split()))).hexdigest()


def result_digest(text: str) -> str:
    """Return the sha256 of a result as it is."""
    return sha256(text_bytes(text)).hexdigest()
