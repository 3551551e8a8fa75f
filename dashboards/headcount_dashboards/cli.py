"""`headcount grafana`: write dashboards and rules as files, or push them to a running Grafana."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from headcount_collector.cli.console import out, told
from headcount_dashboards.errors import DashboardsError, GrafanaError

if TYPE_CHECKING:
    from headcount_dashboards.apply import Change

_SIGNS = {"create": ("+", "green"), "update": ("~", "yellow"), "delete": ("-", "red")}
_LINES = 20


def commands(app: typer.Typer) -> None:
    """Add `grafana` to the `headcount` script's application."""
    grafana = typer.Typer(
        no_args_is_help=True, help="Grafana dashboards and alert rules: write them, or push them."
    )
    grafana.command("render")(render_files)
    grafana.command("apply")(apply)
    app.add_typer(grafana, name="grafana")


@told
def render_files(
    folder: Annotated[
        Path,
        typer.Option("--out", metavar="DIR", help="The provisioning folder to write into; made if missing."),
    ],
    mounted_at: Annotated[
        str, typer.Option(metavar="PATH", help="Where Grafana itself finds that folder.")
    ] = "/etc/grafana/provisioning",
) -> None:
    """Write dashboards, data source, rules and contact points as provisioning files. No secret is in them."""
    _need("yaml")
    from headcount_dashboards.provisioning import render
    from headcount_dashboards.settings import load_settings

    written, gone = render(load_settings(), folder, mounted_at)
    console = out()
    for path in written:
        console.print(Text(str(path)), soft_wrap=True)
    for path in gone:
        console.print(Text(f"removed {path}", style="red"), soft_wrap=True)
    console.print(
        Text(f"{len(written)} files; mount {folder} at {mounted_at} and restart Grafana"), soft_wrap=True
    )


@told
def apply(
    url: Annotated[str | None, typer.Option(metavar="URL", help="Where Grafana is.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would change; exit code 3 if anything would.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do it without asking.")] = False,
    refresh_secrets: Annotated[
        bool,
        typer.Option(
            "--refresh-secrets",
            help="Send passwords and webhooks again: Grafana never shows them, so a change of theirs cannot be seen.",
        ),
    ] = False,
) -> None:
    """Push folder, data source, dashboards, rules and contact points; show the difference first."""
    _need("grafana_client")
    from headcount_dashboards.apply import plan
    from headcount_dashboards.grafana import Grafana
    from headcount_dashboards.settings import load_settings

    settings = load_settings(url=url)
    with Grafana(settings) as grafana:
        changes = plan(settings, grafana, refresh_secrets=refresh_secrets)
        _show(out(), changes)
        if changes and dry_run:
            raise typer.Exit(3)
        if changes and not yes:
            _ask(settings.url)
        for change in changes:
            change.perform()
    said = (
        f"done: {len(changes)} changes at {settings.url}" if changes else f"{settings.url} is as it should be"
    )
    out().print(Text(said), soft_wrap=True)


def _ask(url: str) -> None:
    if not sys.stdin.isatty():
        raise GrafanaError("nothing was changed: add --yes to do it where nobody can be asked")
    typer.confirm(f"Do this at {url}?", abort=True)


def _need(module: str) -> None:
    if find_spec(module) is None:
        raise DashboardsError(
            f"{module} is not installed; this command needs it: pip install 'headcount[dashboards]'"
        )


def _show(console: Console, changes: Sequence[Change]) -> None:
    for change in changes:
        sign, style = _SIGNS[change.action]
        console.print(Text(f"{sign} {change.kind} {change.name}", style=style), soft_wrap=True)
        for line in change.lines[:_LINES]:
            console.print(Text(f"    {line}", style="dim"), soft_wrap=True)
        if len(change.lines) > _LINES:
            console.print(Text(f"    … and {len(change.lines) - _LINES} lines more", style="dim"))
