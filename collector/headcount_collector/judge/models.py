"""Compares model names: whether the model that answered is of the family and generation that was asked for."""

from __future__ import annotations

import re

_DATE = re.compile(r"(?:^|[-_@:.])(?:20\d{6}|20\d{2}-\d{2}-\d{2}|latest|preview)(?=$|[-_@:.])")
_PART = re.compile(r"[a-z]+|\d+")


def family_and_generation(name: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the words and the numbers of a model's name, provider and date dropped."""
    plain = _DATE.sub("", name.lower().rsplit("/", 1)[-1])
    parts = _PART.findall(plain)
    words = frozenset(part for part in parts if not part.isdigit())
    return words, tuple(part for part in parts if part.isdigit())


def is_other_model(asked: str, resolved: str) -> bool:
    """Tell whether two names are of another family or generation; a name without numbers asks for any generation."""
    words, numbers = family_and_generation(asked)
    other_words, other_numbers = family_and_generation(resolved)
    if not words <= other_words and not other_words <= words:
        return True
    return bool(numbers) and bool(other_numbers) and numbers != other_numbers
