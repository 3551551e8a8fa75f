"""Brings a database to this program's schema: the numbered SQL files, each applied once and recorded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from string import Template

from headcount_collector.store.client import Store
from headcount_collector.store.content import CONTENT_ATTRIBUTES, content_pattern
from headcount_collector.store.errors import SchemaTooNew, StoreError

_FILE_NAME = re.compile(r"(\d{3})_(\w+)\.sql")
_INTAKE_VIEW = "otel_traces_mv"


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


def migrate(
    store: Store, retention_days: int = 30, drop_attributes: Iterable[str] = CONTENT_ATTRIBUTES
) -> list[int]:
    """Apply what the database lacks and return the numbers applied; then make retention and content filter hold.

    Attributes named in `drop_attributes` (a trailing `*` matches any rest) are not stored; give none to capture
    content. Raises SchemaTooNew on a database of a newer program.
    """
    first, *rest = migrations()
    store.command(first.sql)
    applied = {number for (number,) in store.query("SELECT number FROM schema_migrations")}
    known, newest = rest[-1].number, max(applied, default=0)
    if newest > known:
        raise SchemaTooNew(
            f"the database {store.database} has schema {newest}, this program knows up to {known}: "
            "upgrade headcount, or point it at another store"
        )
    values = {"retention_days": str(retention_days), "content_attributes": content_pattern(drop_attributes)}
    missing = [migration for migration in rest if migration.number not in applied]
    for migration in missing:
        _apply(store, migration, values)
    _set_retention(store, retention_days)
    _set_intake_view(store, next(m for m in rest if m.name == _INTAKE_VIEW), values)
    return [migration.number for migration in missing]


def _apply(store: Store, migration: Migration, values: Mapping[str, str]) -> None:
    try:
        store.command(Template(migration.sql).substitute(values))
    except (StoreError, KeyError, ValueError) as error:
        raise StoreError(f"migration {migration.number} {migration.name}: {error}") from error
    store.insert("schema_migrations", [(migration.number, migration.name)], ["number", "name"])


def _set_retention(store: Store, retention_days: int) -> None:
    """Change the TTL of every table that was made with another retention."""
    tables = store.query(
        "SELECT name, extract(engine_full, 'TTL (.*?)(?: SETTINGS|$)') AS ttl FROM system.tables"
        " WHERE database = currentDatabase() AND ttl LIKE '%toIntervalDay(%'"
    )
    for table, ttl in tables:
        wanted = re.sub(r"toIntervalDay\(\d+\)", f"toIntervalDay({retention_days})", ttl)
        if wanted != ttl:
            store.command(f"ALTER TABLE `{table}` MODIFY TTL {wanted}")


def _set_intake_view(store: Store, migration: Migration, values: Mapping[str, str]) -> None:
    """Give the unfolding view the present content filter: which attributes are kept may change from start to start."""
    _, select = Template(migration.sql).substitute(values).split(" AS\n", 1)
    store.command(f"ALTER TABLE {migration.name} MODIFY QUERY {select}")


def _read() -> Iterator[Migration]:
    for file in files(__package__).joinpath("schema").iterdir():
        if match := _FILE_NAME.fullmatch(file.name):
            yield Migration(int(match[1]), match[2], file.read_text().strip().removesuffix(";"))
