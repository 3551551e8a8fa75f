"""How much the store holds, and what goes first when that is more than it may."""

from __future__ import annotations

from dataclasses import dataclass

from headcount_collector.store.client import Store
from headcount_collector.store.cluster import where_rows_lie
from headcount_collector.store.migrate import foreign_tables

_EVIDENCE = ("otel_traces", "otel_logs", "otel_traces_trace_id_ts")
"""Raw evidence, by day or week: what may go early, since facts and verdicts stay."""


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes on disk, rows and parts of one table."""

    table: str
    bytes: int
    rows: int
    parts: int


def sizes(store: Store) -> list[Size]:
    """Return the size of each table that holds anything. Raises StoreError."""
    rows = store.query(
        "SELECT table, sum(bytes_on_disk), sum(rows), count() FROM system.parts"
        " WHERE database = currentDatabase() AND active GROUP BY table ORDER BY table"
    )
    return [Size(str(table), int(held), int(count), int(parts)) for table, held, count, parts in rows]


def shrink(store: Store, budget_bytes: int) -> list[str]:
    """Delete the oldest days of raw evidence until the store fits; return them. The newest of each table stays.

    On a cluster the server that is asked decides for all: its share of the tables is what must fit. Tables that others
    fill stay as they are. Raises StoreError.
    """
    total = sum(size.bytes for size in sizes(store))
    if total <= budget_bytes:
        return []
    dropped = []
    for table, partition, held in _oldest(store):
        if total <= budget_bytes:
            break
        store.command(f"ALTER TABLE {table} DROP PARTITION ID '{partition}'")
        dropped.append(f"{table} {partition}")
        total -= held
    return dropped


def _oldest(store: Store) -> list[tuple[str, str, int]]:
    foreign = foreign_tables(store)
    lie = (where_rows_lie(store, table) for table in _EVIDENCE if table not in foreign)
    places = {place.split()[0]: place for place in lie}
    rows = store.query(
        "SELECT table, partition_id, sum(bytes_on_disk) FROM system.parts"
        " WHERE database = currentDatabase() AND active AND table IN {tables:Array(String)}"
        " GROUP BY table, partition_id ORDER BY table, partition_id",
        {"tables": list(places)},
    )
    found = [(places[str(table)], str(partition), int(held)) for table, partition, held in rows]
    newest = {table: partition for table, partition, _ in found}
    return sorted((row for row in found if row[1] != newest[row[0]]), key=lambda row: (row[1], row[0]))
