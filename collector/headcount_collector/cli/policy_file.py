"""Reads the `[policy]` of a TOML file for the commands that take one."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headcount_collector.errors import HeadcountError


class PolicyFileError(HeadcountError):
    """A file that holds no policy; the text names it as it was given."""


def read_policy_table(path: Path, given: str) -> Mapping[str, Any]:
    """Return the table `[policy]` of a file; `given` is how the person named it. Raises PolicyFileError."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PolicyFileError(f"{given}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PolicyFileError(f"{given} is not TOML: {error}") from None
    found = table.get("policy")
    if not isinstance(found, dict):
        raise PolicyFileError(f"{given} has no table [policy]")
    return found
