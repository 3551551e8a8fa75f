"""`headcount replay --from …`: what another policy would have made of the stored runs, and how that is shown."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from headcount_collector.cli.client import Client
from headcount_collector.cli.serve import need_engine
from headcount_collector.cli.words import STATUS_WORDS, Document, ago, clock, moment_ns
from headcount_collector.errors import HeadcountError
from headcount_collector.evidence.moment import moment_ns as read_moment
from headcount_collector.evidence.moment import moment_text
from headcount_collector.judge.policy import Policy, PolicyError, parse_duration
from headcount_collector.settings import Settings

_CHANGES = {
    "newly_abnormal": ("newly abnormal", "red"),
    "no_longer_abnormal": ("no longer abnormal", "green"),
    "sooner": ("abnormal sooner", "yellow"),
    "later": ("abnormal later", "yellow"),
    "otherwise": ("judged otherwise", "yellow"),
}


class RangeError(HeadcountError):
    """A range that cannot be used."""


def range_of(begin: str, end: str | None) -> tuple[str, str]:
    """Read `--from` and `--to`: RFC 3339, or how long ago as "24h"; without an end, now. Raises RangeError."""
    now = time.time_ns()
    first, last = _moment(begin, "--from", now), now if end is None else _moment(end, "--to", now)
    if first >= last:
        raise RangeError(f"--from {begin} is not before --to {end or 'now'}")
    return moment_text(first), moment_text(last)


def _moment(text: str, option: str, now: int) -> int:
    try:
        return now - parse_duration(text, option)
    except PolicyError:
        pass
    try:
        return read_moment(text)
    except ValueError:
        raise RangeError(
            f"{option} {text} is no moment: write one like 2026-11-30T12:00:00Z, or how long ago, like 24h"
        ) from None


def rejudged_by_collector(
    client: Client, begin: str, end: str, policy: Mapping[str, Any], limit: int
) -> Document:
    """Ask a running collector."""
    return client.post("/api/v1/rejudge", {"from": begin, "to": end, "policy": policy, "limit": limit})


def rejudged_in_store(
    settings: Settings, begin: str, end: str, policy: Mapping[str, Any], limit: int
) -> Document:
    """Read the store itself, where no collector runs over it."""
    if settings.store is None:
        need_engine()
        if not Path(settings.data).is_dir():
            raise RangeError(f"--data {settings.data} is no folder of a collector")
    from headcount_collector.replay.rejudge import rejudge
    from headcount_collector.store.client import Store
    from headcount_collector.store.migrate import check_not_newer, migrations

    with contextlib.closing(Store.open(settings.store_location)) as store:
        known = migrations()
        newest = max(check_not_newer(store, known), default=0)
        if newest < known[-1].number:
            raise RangeError(
                f"the store has schema {newest}, this program needs {known[-1].number}: start headcount serve on it once"
            )
        found = rejudge(
            store,
            read_moment(begin),
            read_moment(end),
            present=settings.judged_by,
            other=Policy.from_mapping(policy),
            limit=limit,
        )
    return found.document()


def page_of_rejudgement(found: Document) -> RenderableType:
    """Return what would have changed as a table, and totals."""
    parts: list[RenderableType] = []
    if found["changes"]:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for name in ("RUN", "AGENT", "CHANGE", "BEFORE", "AFTER"):
            table.add_column(name, overflow="fold")
        for change in found["changes"]:
            words, style = _CHANGES[change["change"]]
            table.add_row(
                change["run"],
                change["agent"] or "-",
                Text(words, style=style),
                _side(change["before"]),
                _side(change["after"]),
            )
        parts += [table, Text()]
    parts.append(_totals(found))
    return Group(*parts)


def _side(side: Document) -> Text:
    sign, words, style = STATUS_WORDS[side["status"]]
    text = Text(f"{sign} {words}", style=style)
    for said in (side["leaning"] or side["class"], side["severity"]):
        if said:
            text.append(f", {said.replace('_', ' ')}")
    if side["first_abnormal_at"]:
        text.append(f"\nabnormal from {clock(side['first_abnormal_at'])}", style="dim")
    if side["signals"]:
        text.append("\n" + ", ".join(name.replace("_", " ") for name in side["signals"]), style="dim")
    return text


def _totals(found: Document) -> Text:
    ever = found["ever_abnormal"]
    length = ago(found["from"], moment_ns(found["to"]) or 0)
    text = Text(f"{found['runs']} runs dispatched within {length} until {clock(found['to'])}, ")
    text.append(f"{found['changed']} would be judged otherwise", style="bold")
    text.append(f"; at some time abnormal: {ever['before']} now, {ever['after']} under the other policy")
    kinds = ", ".join(f"{count} {_CHANGES[kind][0]}" for kind, count in sorted(found["kinds"].items()))
    if kinds:
        text.append(f"\n{kinds}")
    for status in STATUS_WORDS:
        was, would = (found["statuses"][side].get(status, 0) for side in ("before", "after"))
        if was != would:
            text.append(f"\n{STATUS_WORDS[status][1]}: {was} → {would}")
    if found["truncated"]:
        text.append("\nthere are more runs in this range: narrow it, or raise --limit", style="yellow")
    return text
