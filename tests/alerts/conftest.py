"""One engine for all, and a migrated database for each test."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from headcount_collector.store import Store, migrate

_NUMBERS = count(1)


@pytest.fixture(scope="module")
def engine() -> Iterator[Store]:
    store = Store.open(":memory:")
    yield store
    store.close()


@pytest.fixture
def store(engine: Store) -> Iterator[Store]:
    database = engine.with_database(f"alerts_{next(_NUMBERS)}")
    migrate(database, retention_days=3650)
    yield database
    database.command(f"DROP DATABASE `{database.database}`")
    database.close()
