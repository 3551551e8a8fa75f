"""The list of commands, in the order in which help shows them."""

from __future__ import annotations

import typer

from headcount_collector.cli.demo import demo
from headcount_collector.cli.harness import CLAUDE_CODE, QWEN_CODE, commands_of
from headcount_collector.cli.recover import recover
from headcount_collector.cli.replay import replay
from headcount_collector.cli.run import run
from headcount_collector.cli.runs import runs
from headcount_collector.cli.serve import serve
from headcount_collector.cli.times import times
from headcount_collector.cli.transcripts import transcripts
from headcount_collector.cli.watch import watch

_COMMANDS = (serve, demo, watch, runs, run, times, recover, replay)


def commands(app: typer.Typer) -> None:
    """Add the collector's commands to the `headcount` script's application."""
    for command in _COMMANDS:
        app.command()(command)
    claude_code = commands_of(CLAUDE_CODE)
    claude_code.command()(transcripts)
    app.add_typer(claude_code)
    app.add_typer(commands_of(QWEN_CODE))
