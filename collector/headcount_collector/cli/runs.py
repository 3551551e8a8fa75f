"""`headcount runs`: every judged run as one line that says how it is, whom it is for and what it waits for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from headcount_collector.cli.client import Client
from headcount_collector.cli.console import out, print_json, told
from headcount_collector.cli.options import Config, Json, Url
from headcount_collector.cli.words import Document, ago, elapsed, finding, now_ns, owner_name, status_text
from headcount_collector.settings import load_settings

_WIDE = 110
"""Columns from which on everything has a column of its own."""


@told
def runs(
    session: Annotated[str | None, typer.Option(help="Only runs of this session.")] = None,
    owner: Annotated[str | None, typer.Option(help="Only runs owed to this owner; '' is the root.")] = None,
    agent: Annotated[str | None, typer.Option(help="Only this agent type.")] = None,
    service: Annotated[str | None, typer.Option(help="Only this service.")] = None,
    status: Annotated[str | None, typer.Option(help="Only this status, as blocked.")] = None,
    failure_class: Annotated[str | None, typer.Option("--class", help="Only this failure class.")] = None,
    severity: Annotated[str | None, typer.Option(help="Only info, warn or page.")] = None,
    mode: Annotated[str | None, typer.Option(help="Only foreground, background or teammate.")] = None,
    is_open: Annotated[
        bool | None, typer.Option("--open/--closed", help="Only runs still owed, or only those that are not.")
    ] = None,
    abnormal: Annotated[
        bool | None, typer.Option("--abnormal/--normal", help="Only runs with, or without, something wrong.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many.")] = 50,
    offset: Annotated[int, typer.Option(min=0, help="Leave out so many first.")] = 0,
    as_json: Json = False,
    url: Url = None,
    config: Config = None,
) -> None:
    """List the judged runs, the most urgent first."""
    asked = {
        "session": session,
        "owner": owner,
        "agent": agent,
        "service": service,
        "status": status,
        "class": failure_class,
        "severity": severity,
        "mode": mode,
        "open": None if is_open is None else str(is_open).lower(),
        "abnormal": None if abnormal is None else str(abnormal).lower(),
    }
    filters = {name: value for name, value in asked.items() if value is not None}
    page = Client.of(load_settings(config, url=url)).runs(filters, limit=limit, offset=offset)
    if as_json:
        print_json(page)
        return
    out().print(page_of_runs(page, now_ns(), filtered=bool(filters)))


def page_of_runs(page: dict[str, Any], now: int, *, filtered: bool = False) -> RenderableType:
    """Return a page of runs as a table with a line below that counts them."""
    found = page["runs"]
    if not found:
        if page["total"]:
            return Text(f"nothing beyond {page['offset']}; there are {page['total']} runs")
        return Text(
            "no run matches these filters"
            if filtered
            else "no run yet: point a harness here (README, \u201cPoint a harness at it\u201d), or see `headcount demo`"
        )
    return Group(RunsTable(found, now), _summary(page))


class RunsTable:
    """Runs as a table, one row each; where the terminal is narrow, agent and owner move below the run."""

    def __init__(self, found: Sequence[Document], now: int) -> None:
        self._found = found
        self._now = now

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self._narrow() if options.max_width < _WIDE else self._wide()

    def _wide(self) -> Table:
        table = _table("STATUS", "RUN", "AGENT", "OWNER", "AGE", "PROGRESS", "WHAT")
        for document in self._found:
            table.add_row(
                status_text(document),
                document["run"],
                document["agent"] or "-",
                owner_name(document["owner"]),
                _age(document, self._now),
                _progress(document, self._now),
                _what(document, self._now),
            )
        return table

    def _narrow(self) -> Table:
        table = _table("STATUS", "RUN", "AGE", "WHAT")
        for document in self._found:
            whose = f"{document['agent'] or 'child'} for {owner_name(document['owner'])}"
            run = Text.assemble(document["run"], (f"\n{whose}", "dim"))
            progress = Text("no progress", style="dim")
            if document["clocks"]["last_progress_at"] is not None:
                progress = Text("progress ").append(_progress(document, self._now))
            what = _what(document, self._now)
            table.add_row(
                status_text(document), run, _age(document, self._now), Text("\n").join([what, progress])
            )
        return table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in columns:
        match name:
            case "STATUS":
                table.add_column(name, no_wrap=True)
            case "AGE" | "PROGRESS":
                table.add_column(name, justify="right", no_wrap=True)
            case "WHAT":
                table.add_column(name, overflow="fold", ratio=1)
            case _:
                table.add_column(name, overflow="fold", max_width=36)
    return table


def _age(document: Document, now: int) -> str:
    return ago(document["receipts"]["dispatchAt"], now)


def _progress(document: Document, now: int) -> Text:
    last = document["clocks"]["last_progress_at"]
    return Text("none" if last is None else f"{ago(last, now)} ago", style="" if last else "dim")


def _what(document: Document, now: int) -> Text:
    text = Text(elapsed(finding(document), now))
    if document["abnormal_since"] is not None:
        text.append(f" (for {ago(document['abnormal_since'], now)})")
    for place, signal in enumerate(document["signals"]):
        style = {"page": "bold red", "warn": "yellow"}.get(signal["severity"], "dim")
        text.append(", " if place else "\n" if text.plain else "")
        text.append(signal["name"].replace("_", " "), style=style)
    if document["result_location"] and document["status"] not in ("completed", "recovered"):
        text.append(f"\nresult: {document['result_location']}", style="bold")
    return text


def _summary(page: dict[str, Any]) -> Text:
    found = page["runs"]
    wrong = sum(_is_wrong(document) for document in found)
    total = "1 run" if page["total"] == 1 else f"{page['total']} runs"
    shown = total if len(found) == page["total"] else f"{len(found)} of {total}"
    text = Text(f"\n{shown}, ")
    text.append(
        f"{wrong} with something wrong" if wrong else "nothing wrong", style="red" if wrong else "green"
    )
    if page.get("observer") == "degraded":
        text.append(
            "; the observer was away and is warming up, so silence does not count yet", style="yellow"
        )
    return text.append("\nheadcount run RUN shows one in full", style="dim")


def _is_wrong(document: Document) -> bool:
    """Whether the run, or a signal of it, is worth a look."""
    severities = {document["severity"], *(signal["severity"] for signal in document["signals"])}
    return bool(severities & {"warn", "page"})
