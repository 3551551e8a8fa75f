"""`headcount times`: where the time of the runs went, and how much of it was nobody's work."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from headcount_collector.cli.client import Client
from headcount_collector.cli.console import out, print_json, told
from headcount_collector.cli.options import Config, Json, Url
from headcount_collector.cli.words import clock
from headcount_collector.judge.policy import SECOND
from headcount_collector.judge.words import span
from headcount_collector.settings import load_settings

_PARTS = ("total_s", "working_s", "waiting_s", "idle_s", "delivery_s", "net_s")
_UNNAMED = {"owner": "root"}


@told
def times(
    by: Annotated[str, typer.Option(help="Sum by session, agent, model, service or owner.")] = "agent",
    session: Annotated[str | None, typer.Option(help="Only runs of this session.")] = None,
    owner: Annotated[str | None, typer.Option(help="Only runs owed to this owner; '' is the root.")] = None,
    agent: Annotated[str | None, typer.Option(help="Only this agent type.")] = None,
    service: Annotated[str | None, typer.Option(help="Only this service.")] = None,
    status: Annotated[str | None, typer.Option(help="Only this status, as completed.")] = None,
    is_open: Annotated[
        bool | None, typer.Option("--open/--closed", help="Only runs still owed, or only those that are not.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many rows.")] = 50,
    as_json: Json = False,
    url: Url = None,
    config: Config = None,
) -> None:
    """Say where the time of the runs went: work, waiting, idling, delivery."""
    asked = {
        "session": session,
        "owner": owner,
        "agent": agent,
        "service": service,
        "status": status,
        "open": None if is_open is None else str(is_open).lower(),
    }
    filters = {name: value for name, value in asked.items() if value is not None}
    found = Client.of(load_settings(config, url=url)).accounts(by, filters, limit=limit)
    if as_json:
        print_json(found)
    else:
        out().print(table_of_accounts(found))


def table_of_accounts(found: dict[str, Any]) -> RenderableType:
    """Return the accounts as a table with their sum below, where there are several."""
    by, accounts = found["by"], found["accounts"]
    if not accounts:
        return Text("no dispatched run matches")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column(by.upper(), overflow="fold")
    for name in ("RUNS", "TOTAL", "WORKING", "WAITING", "IDLE", "DELIVERY", "WITHOUT IDLING"):
        table.add_column(name, justify="right", no_wrap=True)
    for account in accounts:
        name = account[by] or _UNNAMED.get(by, "-")
        table.add_row(name, str(account["runs"]), *(_length(account[part]) for part in _PARTS))
    if len(accounts) > 1:
        sums = [_length(sum(account[part] for account in accounts)) for part in _PARTS]
        table.add_row("all of these", str(sum(account["runs"] for account in accounts)), *sums, style="bold")
    opened = sum(account["open"] for account in accounts)
    if not opened:
        return table
    oldest = min(account["as_of"] for account in accounts if account["open"])
    said = f"{opened} open {'run' if opened == 1 else 'runs'} counted until last judged, at {clock(oldest)} or later"
    return Group(table, Text(said, style="dim"))


def account_in_words(account: dict[str, Any]) -> str:
    """Return the account of one run in one line; parts of no length are left out."""
    parts = [("working", account["working_s"])]
    parts += [(f"waiting ({reason})", spent) for reason, spent in account["waiting_s"].items()]
    parts += [("idle", account["idle_s"]), ("on its way back", account["delivery_s"])]
    said = ", ".join(f"{name} {_length(spent)}" for name, spent in parts if spent > 0)
    return _length(account["total_s"]) + (f": {said}" if said else "")


def _length(seconds: float) -> str:
    return span(round(seconds * SECOND))
