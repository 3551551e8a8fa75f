"""One engine for the tests of this folder, with three databases: a world with everything in it, none, and many runs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from headcount_collector.judge.policy import SECOND
from headcount_collector.store.client import Store
from headcount_collector.store.migrate import migrate
from tests.dashboards import many, world
from tests.dashboards.macros import ALL, Scene

_DAYS = 3650


@dataclass(frozen=True, slots=True)
class Database:
    """A database and what Grafana knows when it asks it."""

    store: Store
    scene: Scene


@pytest.fixture(scope="package")
def engine() -> Iterator[Store]:
    store = Store.open(":memory:")
    yield store
    store.close()


@pytest.fixture(scope="package")
def played(engine: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Recorded cases, played to their moment, and a run of every status, class and signal."""
    with_world = database_of(engine, "world")
    # The queries ask the database's clock how old things are, so the world ends now.
    end_s = int(time.time())
    world.play(with_world, end_s * SECOND, tmp_path_factory.mktemp("cases"), tick_ns=300 * SECOND)
    world.write_every_kind(with_world, end_s * SECOND)
    yield Database(with_world, scene_of(end_s, world.SESSION, world.RUN))
    with_world.close()


@pytest.fixture(scope="package")
def empty(engine: Store) -> Iterator[Database]:
    """A database that was migrated and never heard of anything."""
    store = database_of(engine, "nothing")
    yield Database(store, scene_of(int(time.time()), "", ""))
    store.close()


@pytest.fixture(scope="package")
def crowded(engine: Store) -> Iterator[Database]:
    """Twenty thousand runs over thirty days."""
    store = database_of(engine, "many")
    many.fill(store, 20_000)
    yield Database(store, scene_of(int(time.time()), "session-50", "run-1002"))
    store.close()


def database_of(engine: Store, name: str) -> Store:
    """Make a database of its own."""
    store = engine.with_database(name)
    migrate(store, retention_days=_DAYS)
    return store


def scene_of(end_s: int, session: str, run: str) -> Scene:
    """Return the last six hours, with everything chosen."""
    variables: dict[str, str | list[str]] = {
        "environment": [ALL],
        "service": [ALL],
        "agent": [ALL],
        "session": session,
        "owner": [ALL],
        "run": run,
    }
    return Scene(end_s - 6 * 3600, end_s + 60, 60, variables)
