"""Where commands print, and how an expected error leaves: one line for the person, exit code 1, no traceback."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import typer
from rich.console import Console
from rich.text import Text

from headcount_collector.errors import HeadcountError

P = ParamSpec("P")
R = TypeVar("R")

_NARROWEST = 100
"""Columns of a table that goes into a pipe or file, where nobody tells the width."""


def out() -> Console:
    """Return the console of standard output; plain text of a fixed width where it is no terminal."""
    return Console(width=None if sys.stdout.isatty() else max(_NARROWEST, 140), highlight=False)


def err() -> Console:
    """Return the console of standard error."""
    return Console(stderr=True, highlight=False)


def print_json(document: Any) -> None:
    """Print a document for other programs: JSON, indented, characters as they are."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")


def told(command: Callable[P, R]) -> Callable[P, R]:
    """Let a command end with its HeadcountError as text on standard error and exit code 1."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except HeadcountError as error:
            err().print(Text("headcount: ", style="bold red") + Text(str(error)), soft_wrap=True)
            raise typer.Exit(1) from None

    return run
