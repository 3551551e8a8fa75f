"""The `headcount` command of a base install and of a fuller one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import headcount

Program = Callable[..., "subprocess.CompletedProcess[str]"]


def test_the_version_needs_no_extra() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "headcount.cli", "--version"], capture_output=True, text=True, check=True
    )
    assert ended.stdout == f"headcount {headcount.__version__}\n"


def test_a_base_install_names_the_line_that_is_missing(run_program: Program) -> None:
    ended = run_program(
        """
        import sys
        sys.modules["typer"] = None
        sys.argv = ["headcount", "serve"]
        from headcount.cli import main
        sys.exit(main())
        """
    )
    assert ended.returncode == 2
    assert "pip install 'headcount[collector]'" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_parts_whose_extra_is_missing_leave_the_others_working(run_program: Program) -> None:
    ended = run_program(
        """
        import sys
        from importlib.metadata import EntryPoint
        from headcount import cli

        def commands(app):
            @app.command()
            def greet():
                print("hello")
            @app.command()
            def part():
                print("goodbye")

        sys.modules["made"] = sys.modules[__name__]
        cli.entry_points = lambda group: [
            EntryPoint("alerts", "no_such_package_here:commands", group), EntryPoint("made", "made:commands", group)]
        sys.argv = ["headcount", "greet"]
        sys.exit(cli.main())
        """
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "hello\n"
    assert "pip install 'headcount[alerts]'" in ended.stderr
