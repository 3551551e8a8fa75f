"""Attaching to a database that an OpenTelemetry Collector fills: our derived objects beside its table, and its past."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from headcount_collector.store.client import Store
from headcount_collector.store.errors import StoreError
from headcount_collector.store.migrate import ATTACHED, Migration, apply, check_not_newer, migrations

_NEEDED = {
    "Timestamp": r"DateTime64\(9.*\)",
    "TraceId": "String",
    "SpanId": "String",
    "ParentSpanId": "String",
    "SpanName": r"(LowCardinality\()?String\)?",
    "ServiceName": r"(LowCardinality\()?String\)?",
    "ResourceAttributes": r"Map\(.*String.*, String\)",
    "SpanAttributes": r"Map\(.*String.*, String\)",
    "Duration": "U?Int64",
    "StatusCode": r"(LowCardinality\()?String\)?",
}
_WRITTEN = (
    "ScopeName",
    "ScopeVersion",
    "TraceState",
    "SpanKind",
    "StatusMessage",
    "Events.Timestamp",
    "Links.TraceId",
)
_FIRST_DERIVED = 10
_TABLE = re.compile(r"(?:`?(\w+)`?\.)?`?(\w+)`?")
_FROM = "FROM otel_traces\n    WHERE "
_ARRIVED = "toUnixTimestamp64Nano(now64(9))"
_HOUR_NS = 3_600_000_000_000


@dataclass(frozen=True, slots=True)
class Layout:
    """The exporter's table as it was found."""

    table: str
    """Quoted, with its database where that is another."""
    whole: bool
    """Whether it is in this database under the name `otel_traces` with all columns, so that we may write into it, too."""
    says: str


def recognise(store: Store, source: str = "otel_traces") -> Layout:
    """Tell which of the exporter's layouts `source` ([DATABASE.]TABLE) has. Raises StoreError for any other."""
    found = _TABLE.fullmatch(source)
    if not found:
        raise StoreError(f"{source!r} is no [DATABASE.]TABLE")
    database, table = found[1] or store.database, found[2]
    columns = dict(
        store.query(
            "SELECT name, type FROM system.columns WHERE database = {database:String} AND table = {table:String}",
            {"database": database, "table": table},
        )
    )
    if not columns:
        raise StoreError(
            f"there is no table {database}.{table}: name the one the Collector's exporter fills (--from)"
        )
    for name, kind in _NEEDED.items():
        if name not in columns:
            raise StoreError(
                f"{database}.{table} has no column {name}: it is not a table of the ClickHouse exporter"
            )
        if not re.fullmatch(kind, columns[name]):
            raise StoreError(
                f"{database}.{table}.{name} is {columns[name]}: this layout is not read here (with `json: true` the "
                "exporter writes JSON columns; switch that off)"
            )
    missing = [name for name in _WRITTEN if name not in columns]
    old = [f"without {', '.join(missing)}"] if missing else []
    if columns["Duration"] == "Int64":
        old.append("with signed durations")
    ours = database == store.database and table == "otel_traces"
    return Layout(
        f"`{table}`" if database == store.database else f"`{database}`.`{table}`",
        ours and not missing,
        "an older layout of the exporter, " + " and ".join(old) if old else "the exporter's present layout",
    )


def attach(store: Store, source: str = "otel_traces", retention_days: int = 30) -> tuple[Layout, list[int]]:
    """Create what derives from `source` and return its layout and the numbers applied. Harmless when repeated.

    The source itself is never changed, nor is how long it keeps its rows. Where it has the present layout under the
    name otel_traces, this program's own intake is set up beside the exporter's, too. Raises StoreError.
    """
    layout = recognise(store, source)
    first, *rest = migrations()
    store.command(first.sql)
    applied = check_not_newer(store, rest)
    done = []
    for migration in rest:
        if migration.number in applied:
            continue
        if migration.number == 1 or (migration.number < _FIRST_DERIVED and not layout.whole):
            store.insert(
                "schema_migrations", [(migration.number, f"{ATTACHED} {source}")], ["number", "name"]
            )
            continue
        apply(store, _derived(migration, layout), retention_days)
        done.append(migration.number)
    return layout, done


def backfill(
    store: Store,
    since_ns: int,
    until_ns: int,
    source: str = "otel_traces",
    *,
    step_ns: int = _HOUR_NS,
    progress: Callable[[int], None] = lambda done_ns: None,
) -> None:
    """Derive the facts of the spans that began in [since, until), a slice after another, oldest first.

    Spans that were derived already change nothing. A span counts as received when it ended. The judge takes up the
    runs of each slice when it is done. `progress` is told up to when. Raises StoreError; what was done stays done.
    """
    layout = recognise(store, source)
    view = next(m for m in migrations() if m.name == "lifecycle_from_otel_traces_mv")
    _, select = _derived(view, layout).sql.split(" AS\n", 1)
    where = f"FROM {layout.table}\n    WHERE "
    if select.count(where) != 1 or select.count(_ARRIVED) != 1:
        raise StoreError(f"migration {view.number} {view.name} is not written as the backfill expects")
    select = select.replace(_ARRIVED, "finished").replace(
        where,
        f"{where}Timestamp >= fromUnixTimestamp64Nano({{since:Int64}})"
        " AND Timestamp < fromUnixTimestamp64Nano({until:Int64}) AND (",
    )
    head, tail = select.rsplit("\n)\n", 1)
    insert = f"INSERT INTO lifecycle {head})\n)\n{tail}"
    for at in range(since_ns, until_ns, step_ns):
        end = min(at + step_ns, until_ns)
        began = _store_ns(store)
        store.command(insert, {"since": at, "until": end})
        store.command(
            "INSERT INTO touched (received_ns, session_id, run_id, owner, child, gone)"
            " SELECT DISTINCT toUnixTimestamp64Nano(now64(9)), session_id, run_id, owner, child, gone FROM touched"
            " WHERE written >= toDateTime(intDiv({began:Int64}, 1000000000)) AND received_ns < {began:Int64}",
            {"began": began},
        )
        progress(end)


def _derived(migration: Migration, layout: Layout) -> Migration:
    sql = migration.sql.replace(_FROM, f"FROM {layout.table}\n    WHERE ")
    return Migration(migration.number, migration.name, sql)


def _store_ns(store: Store) -> int:
    ((now,),) = store.query("SELECT toUnixTimestamp64Nano(now64(9))")
    return int(now)
