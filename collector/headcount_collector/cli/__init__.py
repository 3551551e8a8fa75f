"""The collector's commands, loaded into the `headcount` script by its entry point."""

from headcount_collector.cli.commands import commands

__all__ = ["commands"]
