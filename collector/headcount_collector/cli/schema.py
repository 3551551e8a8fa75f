"""`headcount schema`: our tables in a database that an OpenTelemetry Collector fills, and as text for a cluster."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from headcount_collector.cli.console import err, out, told
from headcount_collector.cli.options import Config
from headcount_collector.errors import HeadcountError
from headcount_collector.settings import load_settings

_SECOND = 10**9
app = typer.Typer(name="schema", help="The database's tables.", no_args_is_help=True)


class SchemaError(HeadcountError):
    """Something that cannot be done with this store."""


@app.command()
@told
def attach(
    store: Annotated[
        str | None,
        typer.Option(help="The database: http(s)://user@host:8123/database.", show_default=False),
    ] = None,
    source: Annotated[
        str, typer.Option("--from", metavar="TABLE", help="The table that the ClickHouse exporter fills.")
    ] = "otel_traces",
    backfill_days: Annotated[
        float, typer.Option(min=0, help="Derive what came in the last so many days, too.")
    ] = 0.0,
    config: Config = None,
) -> None:
    """Add the derived tables and views to a database that an OpenTelemetry Collector fills."""
    settings = load_settings(config, store=store)
    if not settings.shared_store:
        raise SchemaError(
            "an OpenTelemetry Collector writes into a ClickHouse server: name it, --store http://host:8123/otel"
        )
    from headcount_collector.store import Store
    from headcount_collector.store.attach import attach as attach_to

    opened = Store.open(settings.store_location)
    try:
        layout, applied = attach_to(opened, source, settings.retention_days)
        says = f"{layout.table.replace('`', '')} has {layout.says}; {len(applied)} objects were added"
        out().print(Text(says), soft_wrap=True)
        if backfill_days:
            _backfill(opened, source, backfill_days)
    finally:
        opened.close()
    out().print(Text(f"next: headcount serve --store {settings.store_shown}"), soft_wrap=True)


@app.command("print")
@told
def print_schema(
    cluster: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="For this cluster of ClickHouse servers.", show_default=False),
    ] = None,
    config: Config = None,
) -> None:
    """Print every statement of the schema, for a person to run."""
    from headcount_collector.store.migrate import statements

    settings = load_settings(config)
    for statement in statements(cluster or settings.cluster, settings.retention_days):
        out().file.write(f"{statement};\n\n")


def _backfill(opened: object, source: str, days: float) -> None:
    from headcount_collector.store import Store
    from headcount_collector.store.attach import backfill

    assert isinstance(opened, Store)
    until = time.time_ns()
    since = until - round(days * 86_400 * _SECOND)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err()) as bar:
        task = bar.add_task("backfill", total=until - since)

        def tell(done_ns: int) -> None:
            at = datetime.fromtimestamp(done_ns // _SECOND, UTC)
            bar.update(task, completed=done_ns - since, description=f"backfill, up to {at:%Y-%m-%d %H:%M}")

        backfill(opened, since, until, source, progress=tell)
