"""`headcount openclaw`: OpenClaw's task ledger, read into a running collector, once or again and again."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from headcount_collector.cli.client import Client
from headcount_collector.cli.console import err, out, told
from headcount_collector.cli.options import Config, Url
from headcount_collector.errors import HeadcountError
from headcount_collector.evidence.openclaw import records_from_ledger
from headcount_collector.evidence.record import Record, export_request, span_of
from headcount_collector.settings import load_settings

COMMAND = ("openclaw", "tasks", "list", "--json")


class NoLedger(HeadcountError):
    """The task ledger cannot be read."""


@told
def openclaw(
    ledger: Annotated[
        Path | None,
        typer.Argument(
            help="A file with the ledger, or with spawn receipts one a line; - for standard input.",
            show_default=False,
        ),
    ] = None,
    every: Annotated[float, typer.Option(help="Seconds between two readings; 0 reads once.", min=0)] = 0,
    url: Url = None,
    config: Config = None,
) -> None:
    """Read OpenClaw's task ledger (`openclaw tasks list --json`) or a file of it, or of answers of `sessions_spawn`."""
    client = Client.of(load_settings(config, url=url))
    sent: set[bytes] = set()
    while True:
        try:
            _read(client, ledger, sent)
        except HeadcountError as error:
            if not every:
                raise
            err().print(f"{error}; tried again in {every:g} s", soft_wrap=True)
        if not every:
            return
        time.sleep(every)


def _read(client: Client, ledger: Path | None, sent: set[bytes]) -> None:
    fresh = [record for record in _records(ledger) if span_of(record).span_id not in sent]
    if fresh:
        client.export(export_request(fresh).SerializeToString())
        sent.update(span_of(record).span_id for record in fresh)
        out().print(f"{len({record.run for record in fresh})} runs, {len(fresh)} events")


def _records(ledger: Path | None) -> list[Record]:
    try:
        document = _document(_text(ledger))
    except ValueError as error:
        raise NoLedger(f"the ledger is no JSON: {error}") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoLedger(f"the ledger cannot be read: {error}; name a file, or - for standard input") from None
    if isinstance(document, dict) and document.get("ok") is False:
        raise NoLedger(f"the ledger cannot be read: {document.get('error')}")
    return records_from_ledger(document, time.time_ns())


def _document(text: str) -> object:
    """Return a JSON document, or the list of those that stand one a line."""
    try:
        return json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]


def _text(ledger: Path | None) -> str:
    if ledger is None:
        return subprocess.run(COMMAND, capture_output=True, text=True, check=False, timeout=60).stdout
    return sys.stdin.read() if str(ledger) == "-" else ledger.read_text(encoding="utf-8")
