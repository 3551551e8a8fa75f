"""`headcount policy show|check|suggest`: the times that hold, whether a file of them can be used, and better deadlines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from headcount_collector.cli.client import Client
from headcount_collector.cli.console import err, out, print_json, told
from headcount_collector.cli.options import Config, Json, Url
from headcount_collector.cli.policy_file import read_policy_table
from headcount_collector.errors import HeadcountError
from headcount_collector.judge.policy import Overrides, Policy, PolicyError, Times
from headcount_collector.judge.words import span
from headcount_collector.settings import load_settings

policy = typer.Typer(name="policy", help="The times by which runs are judged.", no_args_is_help=True)


class PolicyCheckError(HeadcountError):
    """A file whose policy cannot be used."""


@policy.command()
@told
def show(
    agent: Annotated[str | None, typer.Option(help="For runs of this agent type.")] = None,
    session: Annotated[str, typer.Option(help="For runs of this session.")] = "",
    service: Annotated[str, typer.Option(help="For runs that this service dispatches.")] = "",
    attended: Annotated[bool, typer.Option("--attended", help="Where a person sits at the session.")] = False,
    as_json: Json = False,
    url: Url = None,
    config: Config = None,
) -> None:
    """Show the times that the collector judges by, and where each comes from."""
    asked = {"session": session, "service": service, "attended": str(attended).lower()}
    if agent is not None:
        asked["agent"] = agent
    found = Client.of(load_settings(config, url=url)).policy(asked)
    if as_json:
        print_json(found)
        return
    out().print(_table(found))
    for kind in ("agents", "sessions", "services"):
        if found[kind]:
            out().print(Text(f"{kind} with times of their own: {', '.join(found[kind])}", style="dim"))


def _table(found: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("TIME", "VALUE", "FROM"):
        table.add_column(name)
    for row in found["times"]:
        table.add_row(
            row["name"], row["value"], row["from"], style="dim" if row["from"] == "default" else "bold"
        )
    for tool, limit in found["tools"].items():
        table.add_row(f"tool_max of {tool}", limit, "settings", style="bold")
    return table


@policy.command()
@told
def check(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help=r"A headcount.toml, or a file with a \[policy].")
    ],
) -> None:
    r"""Say whether the \[policy] of a file can be used, and what in it contradicts itself."""
    try:
        found = Policy.from_mapping(read_policy_table(file, str(file)))
    except PolicyError as error:
        raise PolicyCheckError(f"{file}: {error}") from None
    for warning in contradictions(found):
        err().print(Text.assemble(("warning: ", "yellow"), warning), soft_wrap=True)
    parts = [
        f"{len(table)} {name}{'' if len(table) == 1 else 's'}"
        for name, table in (
            ("agent type", found.agent),
            ("service", found.service),
            ("session", found.session),
            ("tool", found.default.tools),
        )
        if table
    ]
    own = f", with times of their own for {', '.join(parts)}" if parts else ""
    out().print(Text(f"{file} can be used: expected {span(found.default.expected)}{own}"), soft_wrap=True)


def contradictions(found: Policy) -> Iterator[str]:
    """Say which times of a policy make others pointless."""
    scopes: list[tuple[str, Overrides]] = [("policy", {})]
    for kind in ("agent", "service", "session"):
        table = getattr(found, kind)
        scopes += [(f"policy.{kind}.{name}", keys) for name, keys in table.items()]
    scopes += [("policy.attended", found.attended), ("policy.unattended", found.unattended)]
    said = set()
    for where, keys in scopes:
        times = found.default if not keys else _with(found.default, keys)
        for text in _contradictions(times):
            if text not in said:
                said.add(text)
                yield f"{where}: {text}"


def _with(times: Times, keys: Overrides) -> Times:
    return Policy(default=times, agent={"these": keys}).times("", "these", "")


def _contradictions(times: Times) -> Iterator[str]:
    overdue = times.overdue or round(times.overdue_factor * times.expected)
    for lower, less, upper, more, why in (
        ("expected", times.expected, "overdue", overdue, "a late run is at once no longer merely slow"),
        ("zero_progress", times.zero_progress, "idle", times.idle, "a run that never began looks idle first"),
        ("idle", times.idle, "tool_max", times.tool_max, "a long tool call counts as idling"),
        ("liveness", times.liveness, "idle", times.idle, "a dead session looks alive for all of its silence"),
        (
            "human_wait",
            times.human_wait,
            "human_wait_attended",
            times.human_wait_attended,
            "a person at the session is given less time than one who is away",
        ),
    ):
        if less > more:
            yield f"{lower} ({span(less)}) is longer than {upper} ({span(more)}): {why}"


@policy.command()
@told
def suggest(as_json: Json = False, url: Url = None, config: Config = None) -> None:
    """Propose deadlines from how long the runs of each agent type took, as TOML to paste."""
    found = Client.of(load_settings(config, url=url)).suggestions()
    if as_json:
        print_json(found)
        return
    if not found["agents"]:
        err().print("no run of a named agent type was delivered yet: there is nothing to learn from")
        return
    typer.echo(found["toml"], nl=False)
    thin = [one["agent"] for one in found["agents"] if one["thin"]]
    if thin:
        err().print(
            Text.assemble(
                ("warning: ", "yellow"), f"few runs of {', '.join(thin)}: take their times for guesses"
            ),
            soft_wrap=True,
        )
