"""`headcount watch`: the page *Now* in the terminal, live: what is wrong first, then what is open, then what closed lately."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlencode

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.rule import Rule
from rich.text import Text

from headcount_collector.cli.client import Client, ClientError
from headcount_collector.cli.console import out, told
from headcount_collector.cli.options import Config, Url
from headcount_collector.cli.runs import RunsTable
from headcount_collector.cli.words import ago, now_ns
from headcount_collector.settings import load_settings

_CHROME = 10
"""Lines of the screen that are not for runs."""
_LINES = 2
"""Lines that a run takes, more or less."""
_CLOSED = 5

SECTIONS = (
    ("attention", "needs a look", {"attention": "true"}, "urgency"),
    ("open", "open and as it should be", {"open": "true", "attention": "false"}, "urgency"),
    ("closed", "recently closed", {"open": "false", "attention": "false"}, "latest"),
)
"""Name, title, filters and order of each part; the page has the same."""


@told
def watch(
    session: Annotated[str | None, typer.Option(help="Only runs of this session.")] = None,
    owner: Annotated[str | None, typer.Option(help="Only runs owed to this owner; '' is the root.")] = None,
    agent: Annotated[str | None, typer.Option(help="Only this agent type.")] = None,
    service: Annotated[str | None, typer.Option(help="Only this service.")] = None,
    every: Annotated[float, typer.Option(min=0.2, max=60, help="Seconds between two looks.")] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="Look once, print, and end.")] = False,
    url: Url = None,
    config: Config = None,
) -> None:
    """Watch the runs live: what is wrong first. Ctrl-C ends it."""
    asked = {"session": session, "owner": owner, "agent": agent, "service": service}
    filters = {name: value for name, value in asked.items() if value is not None}
    client, console = Client.of(load_settings(config, url=url)), out()
    if once or not console.is_terminal:
        console.print(screen_of(look(client, filters, _rows(console)), now_ns()))
        return
    seen = look(client, filters, _rows(console))  # where no collector answers now, say so and end
    pause = threading.Event()
    with (
        contextlib.suppress(KeyboardInterrupt),
        Live(console=console, screen=True, auto_refresh=False) as live,
    ):
        trouble = ""
        while True:
            live.update(screen_of(seen, now_ns(), trouble), refresh=True)
            pause.wait(every)
            try:
                seen, trouble = look(client, filters, _rows(console)), ""
            except ClientError as error:
                trouble = str(error)


def _rows(console: Console) -> int:
    return max(3, (console.height - _CHROME) // _LINES)


def look(client: Client, filters: Mapping[str, str], rows: int) -> dict[str, Any]:
    """Return what one look finds: a page of runs for each of SECTIONS, and `observer`."""
    found: dict[str, Any] = {"observer": client.get("/api/v1/observer?limit=1")}
    left = rows
    for name, _, wanted, order in SECTIONS:
        limit = max(1, min(left, _CLOSED if name == "closed" else left))
        query = urlencode({**filters, **wanted, "order": order, "limit": limit})
        found[name] = client.get(f"/api/v1/runs?{query}")
        left -= len(found[name]["runs"])
    return found


def screen_of(seen: Mapping[str, Any], now: int, trouble: str = "") -> RenderableType:
    """Return one look as a screen; `trouble` says why it may be old."""
    parts: list[RenderableType] = [_headline(seen, now, trouble), Text()]
    for name, title, _, _ in SECTIONS:
        page = seen[name]
        if not page["runs"]:
            continue
        style = "bold red" if name == "attention" else "dim"
        shown = len(page["runs"])
        count = f"{page['total']}" if shown == page["total"] else f"{shown} of {page['total']}"
        parts += [
            Rule(Text(f"{title}, {count}", style=style), align="left", style="dim"),
            RunsTable(page["runs"], now),
            Text(),
        ]
    return Group(*parts)


def _headline(seen: Mapping[str, Any], now: int, trouble: str) -> Text:
    wrong, observer = seen["attention"]["total"], seen["observer"]
    if wrong:
        text = Text(f"{wrong} {'run needs' if wrong == 1 else 'runs need'} a look", style="bold red")
    else:
        text = Text("all quiet", style="bold green")
        text.append(f", {seen['open']['total']} open", style="green")
    text.append(f"   judged {ago(observer['last_evaluation_at'], now)} ago", style="dim")
    evidence = observer["intake"]["last_commit_at"]
    text.append(f", evidence {ago(evidence, now)} ago" if evidence else ", no evidence yet", style="dim")
    if observer["observer"] == "degraded":
        text.append("   the observer is warming up: silence does not count yet", style="yellow")
    for reason in (*observer["unready"], *([trouble] if trouble else [])):
        text.append(f"\n{reason}", style="bold yellow")
    return text
