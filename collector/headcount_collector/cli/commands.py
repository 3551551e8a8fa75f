"""The list of commands, in the order in which help shows them."""

from __future__ import annotations

import typer

from headcount_collector.cli.demo import demo
from headcount_collector.cli.replay import replay
from headcount_collector.cli.run import run
from headcount_collector.cli.runs import runs
from headcount_collector.cli.serve import serve

_COMMANDS = (serve, demo, runs, run, replay)


def commands(app: typer.Typer) -> None:
    """Add the collector's commands to the `headcount` script's application."""
    for command in _COMMANDS:
        app.command()(command)
