"""The list of commands, in the order in which help shows them."""

from __future__ import annotations

import typer

from headcount_collector.cli.demo import demo
from headcount_collector.cli.doctor import doctor
from headcount_collector.cli.harness import CLAUDE_CODE, QWEN_CODE, commands_of
from headcount_collector.cli.keep import backup, restore
from headcount_collector.cli.openclaw import openclaw
from headcount_collector.cli.policy import policy
from headcount_collector.cli.recover import recover
from headcount_collector.cli.replay import replay
from headcount_collector.cli.run import run
from headcount_collector.cli.runs import runs
from headcount_collector.cli.schema import app as schema
from headcount_collector.cli.serve import serve
from headcount_collector.cli.times import times
from headcount_collector.cli.transcripts import transcripts
from headcount_collector.cli.watch import watch

_COMMANDS = (serve, demo, watch, runs, run, times, recover, replay, openclaw, doctor, backup, restore)


def commands(app: typer.Typer) -> None:
    """Add the collector's commands to the `headcount` script's application."""
    for command in _COMMANDS:
        app.command()(command)
    app.add_typer(policy)
    claude_code = commands_of(CLAUDE_CODE)
    claude_code.command()(transcripts)
    app.add_typer(claude_code)
    app.add_typer(commands_of(QWEN_CODE))
    app.add_typer(schema)
