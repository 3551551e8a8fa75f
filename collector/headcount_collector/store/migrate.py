"""Brings a database to this program's schema: the numbered SQL files, each applied once and recorded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from string import Template

from headcount_collector.store.client import Store
from headcount_collector.store.errors import SchemaTooNew, StoreError

_NAME = re.compile(r"(\d{3})_(\w+)\.sql")


@dataclass(frozen=True, slots=True, order=True)
class Migration:
    """One SQL statement, which must be harmless if run again (IF NOT EXISTS): a crash may come before its record."""

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


def migrate(store: Store, retention_days: int = 30) -> list[int]:
    """Apply what the database lacks and return the numbers applied. Raises SchemaTooNew on a newer database."""
    first, *rest = migrations()
    store.command(first.sql)
    applied = {number for (number,) in store.query("SELECT number FROM schema_migrations")}
    known = max(migration.number for migration in rest)
    newest = max(applied, default=0)
    if newest > known:
        raise SchemaTooNew(
            f"the database {store.database} has schema {newest}, this program knows up to {known}: "
            "upgrade headcount, or point it at another store"
        )
    missing = [migration for migration in rest if migration.number not in applied]
    for migration in missing:
        _apply(store, migration, retention_days)
    return [migration.number for migration in missing]


def _apply(store: Store, migration: Migration, retention_days: int) -> None:
    try:
        store.command(Template(migration.sql).substitute(retention_days=retention_days))
    except StoreError as error:
        raise StoreError(f"migration {migration.name}: {error}", code=error.code) from error
    store.insert("schema_migrations", [(migration.number, migration.name)], ["number", "name"])


def _read() -> Iterator[Migration]:
    for file in files(__package__).joinpath("schema").iterdir():
        if match := _NAME.fullmatch(file.name):
            yield Migration(int(match[1]), match[2], file.read_text().strip().removesuffix(";"))
