"""The `headcount` command: gets its commands from the installed parts, and says which `pip install` line is missing."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from headcount.version import __version__

if TYPE_CHECKING:
    import typer

GROUP = "headcount.commands"
MISSING_EXTRA = 2


def main() -> int:
    """Run the command line; return the exit status where it ends without running a command."""
    if sys.argv[1:] == ["--version"]:
        print(f"headcount {__version__}")
        return 0
    try:
        import typer
    except ImportError as error:
        return _missing("collector", error)
    app = typer.Typer(
        name="headcount",
        no_args_is_help=True,
        pretty_exceptions_show_locals=False,
    )
    app.callback()(_options)
    missing = [found.name for found in sorted(entry_points(group=GROUP)) if not _load(found, app)]
    if len(missing) == len(entry_points(group=GROUP)):
        return MISSING_EXTRA
    app()
    return 0


def _options() -> None:
    """Counts every sub-agent out and counts it back in."""


def _load(found: EntryPoint, app: typer.Typer) -> bool:
    try:
        found.load()(app)
    except ImportError as error:
        _missing(found.name, error)
        return False
    return True


def _missing(extra: str, error: ImportError) -> int:
    what = error.name or str(error)
    print(
        f"headcount: {what} is not installed; these commands need it: pip install 'headcount[{extra}]'",
        file=sys.stderr,
    )
    return MISSING_EXTRA


if __name__ == "__main__":
    sys.exit(main())
