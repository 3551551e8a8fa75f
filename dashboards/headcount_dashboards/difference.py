"""What differs between two documents, in lines that a person can read."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from typing import Any

_LONGEST = 110


def differences(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """Yield a line for each value of `after` that `before` has not, or has otherwise, and for what is gone."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in [*after, *(key for key in before if key not in after)]:
            below = f"{path}.{key}" if path else str(key)
            if key not in before:
                yield f"+ {below} = {_shown(after[key])}"
            elif key not in after:
                yield f"- {below} = {_shown(before[key])}"
            else:
                yield from differences(before[key], after[key], below)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from differences(one, other, f"{path}[{_named(other, index)}]")
    elif isinstance(before, str) and isinstance(after, str) and "\n" in before + after and before != after:
        yield f"~ {path}"
        for line in difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0):
            if not line.startswith(("---", "+++", "@@")):
                yield f"    {line}"
    elif before != after or type(before) is not type(after):
        yield f"~ {path}: {_shown(before)} → {_shown(after)}"


def only(current: Any, wanted: Any) -> Any:
    """Return of `current` what `wanted` speaks of: Grafana adds defaults and numbers of its own to what it is given."""
    if isinstance(current, Mapping) and isinstance(wanted, Mapping):
        return {key: only(current[key], value) for key, value in wanted.items() if key in current}
    if isinstance(current, list) and isinstance(wanted, list) and len(current) == len(wanted):
        return [only(one, other) for one, other in zip(current, wanted, strict=True)]
    return current


def _named(value: Any, index: int) -> str:
    if isinstance(value, Mapping):
        for key in ("title", "uid", "refId", "name"):
            if isinstance(value.get(key), str) and value[key]:
                return str(value[key])
    return str(index)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
