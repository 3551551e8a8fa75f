"""Brings a database to this program's schema: the numbered SQL files, each applied once and recorded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from string import Template

from headcount_collector.store.client import Store
from headcount_collector.store.cluster import clustered
from headcount_collector.store.content import CONTENT_ATTRIBUTES, content_pattern
from headcount_collector.store.errors import SchemaTooNew, StoreError

_FILE_NAME = re.compile(r"(\d{3})_(\w+)\.sql")
_INTAKE_VIEW = "otel_traces_mv"
ATTACHED = "attached"
"""Begins the recorded name of a migration that an OpenTelemetry Collector's own table stands in for."""
_FOREIGN = ("otel_traces", "otel_traces_trace_id_ts", "otel_logs")


@dataclass(frozen=True, slots=True, order=True)
class Migration:
    """One SQL statement, harmless if run again (IF NOT EXISTS): a crash may come before its record."""

    number: int
    name: str
    sql: str


def migrations() -> list[Migration]:
    """Read the migrations of this program, in order of number."""
    found = sorted(_read())
    numbers = [migration.number for migration in found]
    if len(set(numbers)) != len(numbers):
        raise StoreError(f"two migrations have the same number: {[m.name for m in found]}")
    return found


def statements(
    cluster: str | None = None,
    retention_days: int = 30,
    drop_attributes: Iterable[str] = CONTENT_ATTRIBUTES,
) -> list[str]:
    """Return every statement of the schema in order, as one server takes them, or a cluster. Raises StoreError."""
    values = _values(retention_days, drop_attributes)
    return [sql for migration in migrations() for sql in _statements(migration, values, cluster)]


def migrate(
    store: Store,
    retention_days: int = 30,
    drop_attributes: Iterable[str] = CONTENT_ATTRIBUTES,
    cluster: str | None = None,
) -> list[int]:
    """Apply what the database lacks and return the numbers applied; then make retention and content filter hold.

    Attributes named in `drop_attributes` (a trailing `*` matches any rest) are not stored; give none to capture
    content. On a `cluster` everything is made on all its servers. Raises SchemaTooNew on a database of a newer
    program.
    """
    values = _values(retention_days, drop_attributes)
    first, *rest = migrations()
    for statement in _statements(first, values, cluster):
        store.command(statement)
    applied = check_not_newer(store, rest)
    missing = [migration for migration in rest if migration.number not in applied]
    for migration in missing:
        _apply(store, migration, values, cluster)
    attached = _attached(applied)
    on = f" ON CLUSTER {cluster}" if cluster else ""
    _set_retention(store, retention_days, on, foreign=_FOREIGN if attached else ())
    view = next(m for m in rest if m.name == _INTAKE_VIEW)
    if view.number not in attached:
        _set_intake_view(store, view, values, on)
    return [migration.number for migration in missing]


def foreign_tables(store: Store) -> tuple[str, ...]:
    """Return the tables that somebody else fills and keeps, from which nothing is deleted here. Raises StoreError."""
    return _FOREIGN if _attached(_applied(store)) else ()


def check_not_newer(store: Store, known: list[Migration]) -> dict[int, str]:
    """Return the numbers and names of what was applied. Raises SchemaTooNew on a database of a newer program."""
    applied = _applied(store)
    newest = max(applied, default=0)
    if newest > known[-1].number:
        raise SchemaTooNew(
            f"the database {store.database} has schema {newest}, this program knows up to {known[-1].number}: "
            "upgrade headcount, or point it at another store"
        )
    return applied


def apply(
    store: Store,
    migration: Migration,
    retention_days: int = 30,
    drop_attributes: Iterable[str] = CONTENT_ATTRIBUTES,
) -> None:
    """Run one migration and record it. Raises StoreError naming it."""
    _apply(store, migration, _values(retention_days, drop_attributes), None)


def _applied(store: Store) -> dict[int, str]:
    return {int(n): str(name) for n, name in store.query("SELECT number, name FROM schema_migrations")}


def _attached(applied: Mapping[int, str]) -> set[int]:
    return {number for number, name in applied.items() if name.startswith(ATTACHED)}


def _values(retention_days: int, drop_attributes: Iterable[str]) -> dict[str, str]:
    return {"retention_days": str(retention_days), "content_attributes": content_pattern(drop_attributes)}


def _statements(migration: Migration, values: Mapping[str, str], cluster: str | None) -> list[str]:
    sql = Template(migration.sql).substitute(values)
    return [sql] if cluster is None else list(clustered(sql, cluster))


def _apply(store: Store, migration: Migration, values: Mapping[str, str], cluster: str | None) -> None:
    try:
        for statement in _statements(migration, values, cluster):
            store.command(statement)
    except (StoreError, KeyError, ValueError) as error:
        raise StoreError(f"migration {migration.number} {migration.name}: {error}") from error
    store.insert("schema_migrations", [(migration.number, migration.name)], ["number", "name"])


def _set_retention(store: Store, retention_days: int, on: str, foreign: tuple[str, ...]) -> None:
    """Change the TTL of every table that was made with another retention; those of others stay as they are."""
    tables = store.query(
        "SELECT name, extract(engine_full, 'TTL (.*?)(?: SETTINGS|$)') AS ttl FROM system.tables"
        " WHERE database = currentDatabase() AND ttl LIKE '%toIntervalDay(%'"
    )
    for table, ttl in tables:
        if table in foreign:
            continue
        wanted = re.sub(r"toIntervalDay\(\d+\)", f"toIntervalDay({retention_days})", ttl)
        if wanted != ttl:
            store.command(f"ALTER TABLE `{table}`{on} MODIFY TTL {wanted}")


def _set_intake_view(store: Store, migration: Migration, values: Mapping[str, str], on: str) -> None:
    """Give the unfolding view the present content filter: which attributes are kept may change from start to start."""
    _, select = Template(migration.sql).substitute(values).split(" AS\n", 1)
    store.command(f"ALTER TABLE {migration.name}{on} MODIFY QUERY {select}")


def _read() -> Iterator[Migration]:
    for file in files(__package__).joinpath("schema").iterdir():
        if match := _FILE_NAME.fullmatch(file.name):
            yield Migration(int(match[1]), match[2], file.read_text().strip().removesuffix(";"))
