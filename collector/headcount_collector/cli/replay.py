"""`headcount replay`: judge recorded evidence, and check what its files expect, as unit tests check code."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from headcount_collector.cli.client import Client
from headcount_collector.cli.console import out, print_json, told
from headcount_collector.cli.options import Config, Json, Url
from headcount_collector.cli.policy_file import read_policy_table
from headcount_collector.cli.rejudge import (
    page_of_rejudgement,
    range_of,
    rejudged_by_collector,
    rejudged_in_store,
)
from headcount_collector.cli.runs import RunsTable
from headcount_collector.cli.serve import need_engine
from headcount_collector.cli.words import STATUS_WORDS, Document, owner_name
from headcount_collector.errors import HeadcountError
from headcount_collector.evidence.moment import moment_ns
from headcount_collector.judge.policy import Policy
from headcount_collector.settings import Settings, load_settings

if TYPE_CHECKING:
    from headcount_collector.replay.run import ReplayReport


class ReplayCommandError(HeadcountError):
    """An argument of `headcount replay` that cannot be used."""


@told
def replay(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE...", help="Replay files, or folders of *.jsonl.")
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Only check what the files expect; exit code 1 where it does not hold."),
    ] = False,
    policy: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help=r"Judge by the \[policy] of this TOML file instead of each file's own."
        ),
    ] = None,
    begin: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="MOMENT",
            help="Instead of files, judge the stored runs dispatched from here on: RFC 3339, or as 24h ago.",
        ),
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", metavar="MOMENT", help="End of that range; now, if left out.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Read this folder's store, over which no collector runs.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most so many stored runs.")] = 10_000,
    as_json: Json = False,
    url: Url = None,
    config: Config = None,
) -> None:
    """Judge recorded evidence at the speed of the machine; or stored runs by another policy."""
    if begin is not None:
        if files or check:
            raise ReplayCommandError("--from judges what is stored: give no files and no --check with it")
        if policy is None:
            raise ReplayCommandError("--from needs --policy FILE: the policy to compare with the present one")
        compared = _compared(
            load_settings(config, url=url, data=data), range_of(begin, end), policy, data, limit
        )
        if as_json:
            print_json(compared)
        else:
            out().print(page_of_rejudgement(compared))
        return
    if not files or end is not None or data is not None:
        raise ReplayCommandError("give replay files, or a range of stored runs: --from MOMENT --policy FILE")
    need_engine()
    chosen = None if policy is None else Policy.from_mapping(read_policy_table(policy, f"--policy {policy}"))
    reports = []
    for report in _replayed(_expanded(files), chosen):
        reports.append(report)
        if not as_json:
            _print_check(out(), report) if check else _print_runs(out(), report)
    if as_json:
        print_json({"replays": [_document(report) for report in reports]})
    elif check:
        _print_summary(out(), reports)
    if check and not all(report.passed for report in reports):
        raise typer.Exit(1)


def _compared(
    settings: Settings, moments: tuple[str, str], policy: Path, data: Path | None, limit: int
) -> Document:
    """Compare the present policy with another over stored runs: of a folder, or by way of a running collector."""
    table = read_policy_table(policy, f"--policy {policy}")
    Policy.from_mapping(table)
    if data is not None:
        return rejudged_in_store(settings, *moments, table, limit)
    return rejudged_by_collector(Client.of(settings), *moments, table, limit)


def _replayed(files: list[Path], policy: Policy | None) -> Iterator[ReplayReport]:
    from headcount_collector.evidence.replay_file import read_replay_file
    from headcount_collector.replay.run import Replayer

    with contextlib.closing(Replayer.open()) as replayer:
        for path in files:
            try:
                file = read_replay_file(path)
            except OSError as error:
                raise ReplayCommandError(f"{path}: {error.strerror or error}") from None
            yield replayer.replay(file, policy)


def _expanded(paths: list[Path]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        inside = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        if not inside:
            raise ReplayCommandError(f"{path} is a folder without *.jsonl")
        found += inside
    return found


def _print_check(console: Console, report: ReplayReport) -> None:
    sign, style = ("✓", "green") if report.passed else ("✗", "bold red")
    text = Text.assemble((f"{sign} ", style), report.file, (f"  {report.checked} checked", "dim"))
    if report.unjudged:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(report.unjudged.items()))
        text.append(f", not judged by this version: {kinds}", style="dim")
    console.print(text, soft_wrap=True)
    for miss in report.misses:
        console.print(Text(f"    {miss}"), soft_wrap=True)


def _print_summary(console: Console, reports: list[ReplayReport]) -> None:
    failed = sum(not report.passed for report in reports)
    checked = sum(report.checked for report in reports)
    missed = sum(len(report.misses) for report in reports)
    console.print(
        Text(
            f"{len(reports) - failed} files passed, {failed} failed; "
            f"{checked} expectations checked, {missed} do not hold"
        )
    )


def _print_runs(console: Console, report: ReplayReport) -> None:
    from headcount_collector.watch.documents import document_of

    console.print(Text(report.title or report.file, style="bold"), soft_wrap=True)
    for transition in report.transitions:
        verdict = transition.verdict
        sign, words, style = STATUS_WORDS[verdict.status]
        said = verdict.failure_class or (verdict.evidence[0] if verdict.evidence else "")
        at_s = (transition.believed_at - report.t0_ns) / 1e9
        console.print(
            Text.assemble(
                (f"{at_s:9.1f} s  ", "dim"),
                f"{verdict.run} is ",
                (f"{sign} {words}", style),
                (f"  {said}", "dim"),
            ),
            soft_wrap=True,
        )
    documents = [document_of(verdict) for _, verdict in sorted(report.verdicts.items())]
    now = max((verdict.at for verdict in report.verdicts.values()), default=report.t0_ns)
    console.print(RunsTable(documents, now))
    for incident in report.incidents:
        console.print(_incident_line(incident, report.t0_ns), soft_wrap=True)
    console.print()


def _incident_line(incident: Document, t0_ns: int) -> Text:
    """Say whose an incident is and which messages it would have sent."""
    steps = [f"{step['step']} at {(moment_ns(step['at']) - t0_ns) / 1e9:.1f} s" for step in incident["steps"]]
    whose = owner_name(incident["owner"]) + (f" in {incident['session']}" if incident["session"] else "")
    said = ", ".join(steps) or "nobody was told"
    return Text(f"incident of {whose}: {incident['severity']}, {incident['state']}; {said}")


def _document(report: ReplayReport) -> dict[str, Any]:
    from headcount_collector.watch.documents import document_of, rfc3339

    return {
        "file": report.file,
        "title": report.title,
        "passed": report.passed,
        "checked": report.checked,
        "misses": [
            {
                "line": miss.line,
                "at_s": miss.at_s,
                "subject": miss.subject,
                "key": miss.key,
                "expected": miss.expected,
                "found": miss.found,
            }
            for miss in report.misses
        ],
        "unjudged": report.unjudged,
        "runs": [document_of(verdict) for _, verdict in sorted(report.verdicts.items())],
        "transitions": [
            {
                "session": transition.verdict.session,
                "run": transition.verdict.run,
                "believed_at": rfc3339(transition.believed_at),
                "happened_at": rfc3339(transition.verdict.since),
                "from": transition.before,
                "to": transition.verdict.status,
                "class": transition.verdict.failure_class,
                "late": transition.late,
            }
            for transition in report.transitions
        ],
        "incidents": report.incidents,
    }
