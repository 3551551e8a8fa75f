"""`headcount run`: one run in full — the verdict in words, what it rests on, what happened and what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from headcount_collector.cli.client import Client
from headcount_collector.cli.console import out, print_json, told
from headcount_collector.cli.options import Config, Json, Url
from headcount_collector.cli.times import account_in_words
from headcount_collector.cli.words import (
    Document,
    ago,
    clock,
    finding,
    localised,
    moment_ns,
    now_ns,
    owner_name,
    status_text,
)
from headcount_collector.judge.policy import SECOND
from headcount_collector.judge.words import span
from headcount_collector.settings import load_settings

_EVENT_STYLES = {
    "progress": "cyan",
    "child_done": "green",
    "completion_received": "green",
    "completion_forwarded": "green",
    "completion_consumed": "green",
    "kill": "red",
    "child_gone": "red",
    "owner_gone": "red",
    "abort": "red",
}


@told
def run(
    name: Annotated[str, typer.Argument(metavar="RUN", help="The run's id, or any other name of it.")],
    session: Annotated[
        str | None, typer.Option(help="Its session, where the name is used in several.")
    ] = None,
    as_json: Json = False,
    url: Url = None,
    config: Config = None,
) -> None:
    """Show one run in full: what happened, when, what is missing, since when."""
    document = Client.of(load_settings(config, url=url)).run(name, session)
    if as_json:
        print_json(document)
    else:
        out().print(page_of_run(document, now_ns()))


def page_of_run(document: Document, now: int) -> RenderableType:
    """Return one run as a page."""
    parts: list[RenderableType] = [_verdict(document, now), Text(), _identity(document, now), Text()]
    parts += [
        Text("why", style="dim"),
        *(Text(f"  {localised(line)}") for line in document["evidence"]),
        Text(),
    ]
    if document["signals"]:
        parts += [Text("signals", style="dim"), *_signals(document, now), Text()]
    parts += [Text("what happened", style="dim"), _timeline(document), *_missing(document, now)]
    if document["transitions"]:
        parts += [Text(), Text("what was believed", style="dim"), _transitions(document)]
    return Group(*parts)


def _verdict(document: Document, now: int) -> Text:
    text = status_text(document)
    text.append(f"  {document['run']}", style="bold")
    said = finding(document)
    if said:
        text.append(f"\n  {localised(said)}")
    since = document["abnormal_since"] or document["since"]
    if since:
        text.append(f"\n  since {clock(since)}, {ago(since, now)} ago", style="dim")
    return text


def _identity(document: Document, now: int) -> Table:
    receipts = document["receipts"]
    table = Table.grid(padding=(0, 2, 0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    rows = {
        "agent": " ".join(word for word in (document["agent"], f"({document['mode']})") if word),
        "owner": owner_name(document["owner"]) + f", session {document['session']}",
        "parent run": document["parent"],
        "also known as": ", ".join(_other_names(document)),
        "child session": ", ".join(document["child_sessions"]),
        "dispatched": _moment(receipts["dispatchAt"], now),
        "expected by": _moment(receipts["expectedBy"] or document["deadline"], now),
        "last progress": _moment(document["clocks"]["last_progress_at"], now),
        "last activity": _moment(document["clocks"]["last_activity_at"], now),
        "work": f"{_count(document['tool_calls'], 'tool call')}, {_count(document['output_tokens'], 'output token')}",
        "time": account_in_words(document["account"]) if document["account"]["total_s"] else "",
        "in flight": localised(", ".join(document["in_flight"])),
        "ended": ", ".join(
            word for word in (_moment(document["ended_at"], now), document["outcome"]) if word
        ),
        "completion received": _moment(receipts["completionReceivedAt"], now)
        + (f", by {receipts['resultSource']}" if receipts["resultSource"] else ""),
        "forwarded to owner": {True: "yes", False: "no", None: ""}[receipts["forwardedToMain"]],
        "delivered": _moment(document["delivered_at"], now),
        "result lies at": document["result_location"],
    }
    for name, value in rows.items():
        if value:
            table.add_row(name, Text(value))
    return table


def _other_names(document: Document) -> Iterator[str]:
    """Leave out names that only say how a digest stands for the run."""
    return (name for name in document["names"] if name != document["run"] and not name.startswith("owed:"))


def _signals(document: Document, now: int) -> Iterator[Text]:
    for signal in document["signals"]:
        name = signal["name"].replace("_", " ")
        yield Text(
            f"  {name} ({signal['severity']}, for {ago(signal['since'], now)}): {localised(signal['evidence'])}"
        )


def _timeline(document: Document) -> Table:
    table = Table.grid(padding=(0, 2, 0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(style="dim", justify="right", no_wrap=True)
    before = None
    for entry in document["timeline"]:
        at = moment_ns(entry["at"])
        gap = "" if before is None or at is None or at - before < SECOND else f"+{span(at - before)}"
        table.add_row(
            clock(entry["at"]), Text(entry["text"], style=_EVENT_STYLES.get(entry["event"], "")), gap
        )
        before = at
    return table


def _missing(document: Document, now: int) -> Iterator[Text]:
    if document["abnormal_since"] is None:
        if document["would_change"]:
            yield Text("  would change it: " + ", or ".join(document["would_change"]), style="dim")
        return
    wanted = [line for line in document["would_change"] if line != "a dismissal"]
    since = document["abnormal_since"]
    text = Text("  missing: ", style="bold red")
    text.append(", or ".join(wanted) or "the result", style="bold")
    text.append(f"; since {clock(since)}, {ago(since, now)}", style="bold")
    yield text


def _transitions(document: Document) -> Table:
    table = Table.grid(padding=(0, 2, 0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for change in document["transitions"]:
        what = f"{change['from'] or 'unknown'} → {change['to']}"
        late = ", learned late" if change["late"] else ""
        table.add_row(clock(change["believed_at"]), what, localised(change["reason"]) + late)
    return table


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _moment(text: str | None, now: int) -> str:
    moment = moment_ns(text)
    if text is None or moment is None:
        return ""
    return f"{clock(text)}, " + (f"{span(now - moment)} ago" if moment <= now else f"in {span(moment - now)}")
