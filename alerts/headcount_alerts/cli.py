"""Commands of the alerts: `headcount incidents`, `headcount ack`, `headcount dismiss-all`, `headcount alerts …`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from headcount_alerts.client import AlertsClient
from headcount_alerts.errors import AlertsConfigError
from headcount_alerts.tree import drawn
from headcount_collector.cli.console import out, print_json, told
from headcount_collector.cli.options import Config, Json, Url
from headcount_collector.cli.words import ago, now_ns, owner_name
from headcount_collector.settings import load_settings

Document = dict[str, Any]

_STYLES = {"page": "bold red", "warn": "yellow", "info": "dim"}

alerts = typer.Typer(
    name="alerts", no_args_is_help=True, help="Who is told of what: routes, outbox, silences, tests."
)


def commands(app: typer.Typer) -> None:
    """Add the commands of the alerts to the `headcount` script's application."""
    app.command()(incidents)
    app.command()(ack)
    app.add_typer(alerts)


@told
def incidents(
    number: Annotated[str | None, typer.Argument(metavar="[ID]", help="Show this one in full.")] = None,
    state: Annotated[str | None, typer.Option(help="Only open, or only closed.")] = None,
    session: Annotated[str | None, typer.Option(help="Only of this session.")] = None,
    owner: Annotated[str | None, typer.Option(help="Only owed to this owner; '' is the root.")] = None,
    run: Annotated[str | None, typer.Option(help="Only those that this run ever was in.")] = None,
    fleet: Annotated[str | None, typer.Option(help="Only those that this fleet incident collected.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many.")] = 50,
    as_json: Json = False,
    url: Url = None,
    config: Config = None,
) -> None:
    """List incidents, open and severe ones first; or show one with every decision about it."""
    client = AlertsClient.of(load_settings(config, url=url))
    if number is not None:
        document = client.incident(number)
        print_json(document) if as_json else _print_incident(document)
        return
    asked = {"state": state, "session": session, "owner": owner, "run": run, "fleet": fleet}
    page = client.incidents({name: value for name, value in asked.items() if value is not None}, limit=limit)
    print_json(page) if as_json else _print_incidents(page)


@told
def ack(
    number: Annotated[str, typer.Argument(metavar="ID", help="The incident.")],
    by: Annotated[str, typer.Option(help="Who is on it.")] = "",
    url: Url = None,
    config: Config = None,
) -> None:
    """Say that somebody is on an incident: its ladder rests. It closes when the work moved, and not by this."""
    document = AlertsClient.of(load_settings(config, url=url)).acknowledge(number, by or _user())
    until = document["acknowledged"]["until"] if document["acknowledged"] else None
    out().print(Text(f"incident {number}: {document['state']}, acknowledged until {until}"))


@alerts.command()
@told
def check(config: Config = None) -> None:
    """Validate the alerts of the configuration and draw their tree. Nothing is sent."""
    from headcount_alerts.channels.build import build_channels
    from headcount_alerts.settings import load_alerts
    from headcount_alerts.text import Texts

    settings = load_alerts(load_settings(config).alerts)
    receivers = build_channels(settings, Texts(settings.templates))
    out().print(drawn(settings, {name: [line.name for line in lines] for name, lines in receivers.items()}))


@alerts.command("test")
@told
def trial(
    run: Annotated[
        str | None,
        typer.Argument(metavar="[RUN]", help="A run that the collector knows; where it would go now."),
    ] = None,
    session: Annotated[str | None, typer.Option(help="The run's session.")] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            "--label", metavar="NAME=VALUE", help="Without a run: what to route, as agent=reviewer."
        ),
    ] = None,
    receiver: Annotated[
        str | None, typer.Option(help="Send a test message over this receiver's channels.")
    ] = None,
    as_json: Json = False,
    url: Url = None,
    config: Config = None,
) -> None:
    """Say where a run, or what has these labels, would go, and print the message; or send a test message."""
    settings = load_settings(config, url=url)
    if receiver is not None:
        found = AlertsClient.of(settings).test(receiver)
        for name, outcome in found["channels"].items():
            out().print(Text(f"{name}: {outcome}"), soft_wrap=True)
        if not found["channels"]:
            out().print(Text(f"{receiver} has no channel"))
        if any(outcome != "sent" for outcome in found["channels"].values()):
            raise typer.Exit(1)
        return
    document = (
        AlertsClient.of(settings).preview(run, session)
        if run is not None
        else _sampled(settings, label or [])
    )
    print_json(document) if as_json else _print_preview(document)


@alerts.command()
@told
def outbox(
    waiting: Annotated[bool, typer.Option("--waiting", help="Only what is not delivered yet.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many.")] = 50,
    as_json: Json = False,
    url: Url = None,
    config: Config = None,
) -> None:
    """List messages with what became of them."""
    page = AlertsClient.of(load_settings(config, url=url)).outbox(waiting=waiting, limit=limit)
    if as_json:
        print_json(page)
        return
    table = _table("WHEN", "INCIDENT", "STEP", "CHANNEL", "OUTCOME", "TRIES", "ERROR")
    for message in page["messages"]:
        table.add_row(
            f"{ago(message['decided_at'], now_ns())} ago",
            message["incident"],
            message["step"],
            message["channel"],
            message["outcome"],
            str(message["tries"]),
            message["error"] or "",
        )
    out().print(table if page["messages"] else Text("nothing was sent yet, and nothing waits"))


@alerts.command()
@told
def silence(
    matchers: Annotated[
        list[str], typer.Argument(metavar="MATCHER...", help='As agent=reviewer or class=~"owner_.*".')
    ],
    lasting: Annotated[str, typer.Option("--for", help="How long, as 2h.")] = "2h",
    since: Annotated[str | None, typer.Option(help="From when, RFC 3339; now, if not given.")] = None,
    by: Annotated[str, typer.Option(help="Who says so.")] = "",
    reason: Annotated[str, typer.Option(help="Why.")] = "",
    url: Url = None,
    config: Config = None,
) -> None:
    """Keep messages back for a while, or for a maintenance window to come. It closes nothing."""
    body = {"matchers": matchers, "duration": lasting, "since": since, "by": by or _user(), "reason": reason}
    found = AlertsClient.of(load_settings(config, url=url)).silence(body)
    out().print(
        Text(f"silence {found['id']} {found['state']} until {found['until']}: {', '.join(found['matchers'])}")
    )


@alerts.command()
@told
def silences(as_json: Json = False, url: Url = None, config: Config = None) -> None:
    """List silences that have not ended."""
    page = AlertsClient.of(load_settings(config, url=url)).silences()
    if as_json:
        print_json(page)
        return
    table = _table("ID", "STATE", "UNTIL", "MATCHERS", "BY", "REASON")
    for one in page["silences"]:
        table.add_row(
            one["id"], one["state"], one["until"], ", ".join(one["matchers"]), one["by"], one["reason"]
        )
    out().print(table if page["silences"] else Text("no silence"))


@alerts.command()
@told
def unsilence(
    number: Annotated[str, typer.Argument(metavar="ID", help="The silence.")],
    url: Url = None,
    config: Config = None,
) -> None:
    """End a silence now."""
    found = AlertsClient.of(load_settings(config, url=url)).unsilence(number)
    out().print(Text(f"silence {found['id']} {found['state']}"))


def _sampled(settings: Any, labels: Sequence[str]) -> Document:
    from headcount_alerts.preview import preview, sample
    from headcount_alerts.routing import Routing
    from headcount_alerts.settings import load_alerts
    from headcount_alerts.silence import parse_matcher
    from headcount_alerts.text import Texts

    found = load_alerts(settings.alerts)
    matchers = [parse_matcher(label) for label in labels]
    for label, matcher in zip(labels, matchers, strict=True):
        if matcher.op != "=":
            raise AlertsConfigError(f"--label {label}: give the value that it has, as agent=reviewer")
    now = time.time_ns()
    incident = sample(now, {matcher.name: matcher.value for matcher in matchers})
    return preview(incident, now, Routing(found), Texts(found.templates), found.url)


def _print_preview(document: Document) -> None:
    console = out()
    if not document["alerts"]:
        console.print(Text("nothing is wrong with it: nobody would be told now. If something were:"))
    for path in document["paths"]:
        duty = "" if path["on_duty"] else " (outside of its hours: messages wait)"
        steps = ", then ".join(path[step] for step in ("notified", "reminded", "escalated"))
        group = (
            ""
            if path["group"] is None
            else f", grouped by {', '.join(path['group']) or 'nothing: all are one'}"
        )
        console.print(Text(f"{path['route']}: {steps}{group}{duty}"), soft_wrap=True)
    console.print(Text(f"\n{document['title']}\n", style="bold"), soft_wrap=True)
    console.print(Text(document["body"]), soft_wrap=True)


def _print_incidents(page: Document) -> None:
    if not page["incidents"]:
        out().print(Text("no incident"))
        return
    table = _table("ID", "SEVERITY", "LEVEL", "OWNER", "SESSION", "AGE", "RUNS", "WHAT")
    for found in page["incidents"]:
        is_open = found["state"] == "open"
        table.add_row(
            found["id"],
            Text(found["severity"], style=_STYLES[found["severity"]] if is_open else "dim"),
            (found["level"] or "-") if is_open else "closed",
            owner_name(found["owner"]),
            found["session"] or "-",
            ago(found["opened_at"], now_ns()),
            f"{found['unmet']}/{len(found['runs'])}" if found["runs"] else "-",
            _what(found),
        )
    out().print(table)
    if page["total"] > len(page["incidents"]):
        out().print(Text(f"{len(page['incidents'])} of {page['total']} incidents", style="dim"))


def _what(found: Document) -> str:
    names = list(dict.fromkeys(w["name"].replace("_", " ") for w in found["wrong"]))
    return ", ".join(names[:3]) or (found["reason"] if found["kind"] != "owner" else "nothing wrong now")


def _print_incident(found: Document) -> None:
    console = out()
    head = f"incident {found['id']}: {found['state']}, {found['severity']}, {found['level'] or 'nobody told yet'}"
    console.print(Text(head, style="bold"))
    whose = f"owed to {owner_name(found['owner'])}" + (
        f" in session {found['session']}" if found["session"] else ""
    )
    console.print(Text(whose))
    if found["acknowledged"]:
        console.print(Text(f"{found['acknowledged']['by']} is on it until {found['acknowledged']['until']}"))
    if found["deferred"]:
        console.print(Text(f"held back: {found['deferred']['reason']}"))
    for member in found["members"]:
        sign = "✓" if member["met"] else "✗"
        where = f", result: {member['result_location']}" if member["result_location"] else ""
        console.print(
            Text(f"  {sign} {member['run']} ({member['agent'] or '-'}) {member['status']}{where}"),
            soft_wrap=True,
        )
    for wrong in found["wrong"]:
        text = (
            f"  {wrong['run']}: {wrong['name'].replace('_', ' ')} ({wrong['severity']}) {wrong['evidence']}"
        )
        console.print(Text(text), soft_wrap=True)
    table = _table("AT", "DECISION", "REASON")
    for decision in found["decisions"]:
        table.add_row(decision["at"], decision["decision"].replace("_", " "), decision["reason"])
    console.print(table)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in columns:
        table.add_column(name, overflow="fold")
    return table


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""
