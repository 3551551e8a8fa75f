"""The schema's statements for a cluster of servers: replicated, and sharded so that what belongs together meets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from headcount_collector.store.client import Store
from headcount_collector.store.errors import StoreError

_SHARDED_BY = {
    "schema_migrations": "0",
    "otel_traces": "cityHash64(TraceId)",
    "otel_traces_trace_id_ts": "cityHash64(TraceId)",
    "otel_logs": "cityHash64(TraceId)",
    "evidence": "session_key",
    "activity": "run_key",
    "call": "run_key",
    "producer": "cityHash64(producer)",
    "touched": "cityHash64(session_id)",
    "verdict": "cityHash64(session_id, run_id)",
    "transition": "cityHash64(session_id, run_id)",
    "session_environment": "cityHash64(session_id)",
    "evaluation": "0",
    "lease": "0",
}
"""What the rows of a table are spread by; rows that one key of the table merges are on one shard. 0: the first shard."""
_TABLE = re.compile(r"CREATE TABLE IF NOT EXISTS (\w+)")
_VIEW = re.compile(r"CREATE MATERIALIZED VIEW IF NOT EXISTS (\w+) TO (\w+)")
_ALTER = re.compile(r"ALTER TABLE (\w+)")
_FROM_SHARD = re.compile(r"\bFROM (otel_traces|verdict)\b")
_ENGINE = re.compile(r"ENGINE = (\w*MergeTree)(?:\(([^)]*)\))?")
_DISTRIBUTED = re.compile(r"Distributed\('?(\w+)'?")
_TAKES_AGAIN = "replicated_deduplication_window = 0"
_PATH = "'/clickhouse/tables/{shard}/{database}/{table}', '{replica}'"


def clustered(sql: str, cluster: str) -> Iterator[str]:
    """Yield what one statement of the schema becomes on a cluster. Raises StoreError.

    Each table that keeps rows is a replicated NAME_local on every shard and a Distributed NAME over them. Views read
    what is inserted on their shard and write through the Distributed tables, so that the facts of a run meet on the
    shard of their key, wherever the spans came in.
    """
    if not re.fullmatch(r"\w+", cluster):
        raise StoreError(f"{cluster!r} is no name of a cluster")
    on = f"ON CLUSTER {cluster}"
    if view := _VIEW.search(sql):
        name, target = view[1], view[2]
        head = f"CREATE MATERIALIZED VIEW IF NOT EXISTS {name} {on} TO {target}"
        yield _FROM_SHARD.sub(r"FROM \1_local", sql.replace(view[0], head))
        return
    if altered := _ALTER.search(sql):
        name = altered[1]
        # What reads or writes by columns follows the tables that keep them; a view is one on each server.
        for each in (name,) if "MODIFY QUERY" in sql else (f"{name}_local", name):
            text = sql.replace(altered[0], f"ALTER TABLE {each} {on}")
            yield _FROM_SHARD.sub(r"FROM \1_local", text)
        return
    table = _TABLE.search(sql)
    if table is None:
        raise StoreError(f"this is about neither table nor view: {sql[:80]!r}")
    name = table[1]
    engine = _ENGINE.search(sql)
    if engine is None:  # Null: nothing is kept, each shard has its own
        yield sql.replace(table[0], f"{table[0]} {on}")
        return
    arguments = ", ".join(part for part in (_PATH, engine[2]) if part)
    local = sql.replace(table[0], f"CREATE TABLE IF NOT EXISTS {name}_local {on}")
    # A block that comes again is taken again: facts count it once, and on older servers a table that passes over it
    # keeps it from its views, so that a commit which failed halfway would never be whole.
    more = "," if "\nSETTINGS " in local else "\nSETTINGS"
    yield f"{local.replace(engine[0], f'ENGINE = Replicated{engine[1]}({arguments})')}{more} {_TAKES_AGAIN}"
    key = _SHARDED_BY.get(name, "rand()" if engine[1] == "MergeTree" else "0")
    yield (
        f"CREATE TABLE IF NOT EXISTS {name} {on} AS {name}_local\n"
        f"ENGINE = Distributed({cluster}, currentDatabase(), {name}_local, {key})"
    )


def where_rows_lie(store: Store, table: str) -> str:
    """Return what a statement that deletes must name: a table, or on a cluster the table that each shard keeps."""
    rows = store.query(
        "SELECT engine_full FROM system.tables WHERE database = {database:String} AND name = {table:String}",
        {"database": store.database, "table": table},
    )
    return kept_by(str(rows[0][0]) if rows else "", table)


def kept_by(engine: str, table: str) -> str:
    """Return the table that keeps the rows of another, by that one's engine as `system.tables` tells it."""
    distributed = _DISTRIBUTED.match(engine)
    return table if distributed is None else f"{table}_local ON CLUSTER {distributed[1]}"
