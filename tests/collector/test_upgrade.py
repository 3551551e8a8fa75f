"""A store of an earlier schema is brought up to date with what it holds; what is older than the retention goes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from headcount_collector.derive.loader import FactsLoader, RunKey
from headcount_collector.evidence.record import Record, export_request
from headcount_collector.store import Store, migrate
from headcount_collector.store.migrate import apply, migrations

_DAY_NS = 86_400_000_000_000
_FIRST_WITH_FACTS = 21


@pytest.fixture(scope="module")
def engine() -> Iterator[Store]:
    store = Store.open(":memory:")
    yield store
    store.close()


def dispatch(run: str, at_ns: int | None = None) -> bytes:
    record = Record(
        "dispatch",
        at_ns or time.time_ns(),
        run=run,
        session="s",
        attributes={},
        service="tests",
        identity=run,
    )
    return export_request([record]).SerializeToString()


def schema_of(store: Store) -> list[tuple[str, str]]:
    rows = store.query(
        "SELECT name, create_table_query FROM system.tables WHERE database = currentDatabase() ORDER BY name"
    )
    return [(name, made.replace(f"{store.database}.", "")) for name, made in rows]


@pytest.fixture(scope="module")
def fresh(engine: Store) -> Iterator[Store]:
    found = engine.with_database("fresh")
    migrate(found)
    yield found
    found.close()


@pytest.mark.parametrize(
    "last", [m.number for m in migrations() if m.number >= _FIRST_WITH_FACTS][:-1:3] or [_FIRST_WITH_FACTS]
)
def test_every_earlier_schema_becomes_the_present_one_and_keeps_what_it_holds(
    last: int, engine: Store, fresh: Store
) -> None:
    old = engine.with_database(f"of_{last}")
    try:
        first, *rest = migrations()
        old.command(first.sql)
        for migration in rest:
            if migration.number <= last:
                apply(old, migration)
        old.commit([dispatch("before")], time.time_ns())

        assert migrate(old) == [migration.number for migration in rest if migration.number > last]
        assert schema_of(old) == schema_of(fresh)
        old.commit([dispatch("after")], time.time_ns())
        keys = [RunKey("s", run) for run in ("before", "after")]
        assert all(facts.dispatch is not None for facts in FactsLoader(old).load(keys).values())
        assert migrate(old) == []
    finally:
        old.close()


def test_raw_evidence_beyond_the_retention_goes_and_its_facts_stay(engine: Store) -> None:
    store = engine.with_database("ages")
    try:
        migrate(store, retention_days=30)
        now = time.time_ns()
        for run, days in (("old", 40), ("young", 10)):
            store.commit([dispatch(run, now - days * _DAY_NS)], now)
        store.command("OPTIMIZE TABLE otel_traces FINAL")
        spans = "SELECT SpanAttributes['subagent.run.id'] FROM otel_traces"
        assert store.query(spans) == [("young",)]
        assert store.query("SELECT run_id FROM evidence FINAL ORDER BY run_id") == [("old",), ("young",)]
        migrate(store, retention_days=5)
        store.command("ALTER TABLE otel_traces MATERIALIZE TTL SETTINGS mutations_sync = 2")
        store.command("OPTIMIZE TABLE otel_traces FINAL")
        assert store.query(spans) == []
    finally:
        store.close()


def test_what_a_store_may_have_been_made_with_never_changes() -> None:
    """A migration that was applied is not applied again: what it lacks needs one of its own, and a line here."""
    given = "".join(f"{sha256(m.sql.encode()).hexdigest()[:16]} {m.name}\n" for m in migrations())
    known = (Path(__file__).parent / "schema_digests.txt").read_text()
    assert given.startswith(known)
    assert given == known, "a new migration: add its line to schema_digests.txt"
