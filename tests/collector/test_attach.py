"""Attaching to a database of an OpenTelemetry Collector: old and new layouts, what comes and what was there before."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import pytest

from headcount_collector.derive.loader import FactsLoader, RunKey
from headcount_collector.judge.policy import Policy
from headcount_collector.store import Store, StoreError, migrate
from headcount_collector.store.attach import attach, backfill, recognise
from headcount_collector.store.size import shrink, sizes
from headcount_collector.watch.tick import Tick

SECOND = 10**9
NEW = """
    CREATE TABLE {table} (
        Timestamp DateTime64(9), TraceId String, SpanId String, ParentSpanId String, TraceState String,
        SpanName LowCardinality(String), SpanKind LowCardinality(String), ServiceName LowCardinality(String),
        ResourceAttributes Map(LowCardinality(String), String), ScopeName String, ScopeVersion String,
        SpanAttributes Map(LowCardinality(String), String), Duration UInt64, StatusCode LowCardinality(String),
        StatusMessage String,
        Events Nested (Timestamp DateTime64(9), Name LowCardinality(String), Attributes Map(LowCardinality(String), String)),
        Links Nested (TraceId String, SpanId String, TraceState String, Attributes Map(LowCardinality(String), String))
    ) ENGINE = MergeTree PARTITION BY toDate(Timestamp) ORDER BY (ServiceName, SpanName, toDateTime(Timestamp))
    TTL toDateTime(Timestamp) + toIntervalDay(3)"""
OLD = """
    CREATE TABLE {table} (
        Timestamp DateTime64(9), TraceId String, SpanId String, ParentSpanId String, TraceState String,
        SpanName LowCardinality(String), SpanKind LowCardinality(String), ServiceName LowCardinality(String),
        ResourceAttributes Map(LowCardinality(String), String), SpanAttributes Map(LowCardinality(String), String),
        Duration Int64, StatusCode LowCardinality(String), StatusMessage String,
        Events Nested (Timestamp DateTime64(9), Name LowCardinality(String), Attributes Map(LowCardinality(String), String)),
        Links Nested (TraceId String, SpanId String, TraceState String, Attributes Map(LowCardinality(String), String))
    ) ENGINE = MergeTree PARTITION BY toDate(Timestamp) ORDER BY (ServiceName, SpanName, toUnixTimestamp(Timestamp), TraceId)"""


@pytest.fixture(scope="module")
def engine() -> Iterator[Store]:
    store = Store.open(":memory:")
    yield store
    store.close()


@pytest.fixture
def store(engine: Store, request: pytest.FixtureRequest) -> Iterator[Store]:
    found = engine.with_database(f"db_{abs(hash(request.node.name))}")
    yield found
    found.close()


def export(
    store: Store, table: str, run: str, at_ns: int, events: Sequence[str] = ("dispatch", "start")
) -> None:
    """Insert lifecycle spans as the exporter does."""
    for number, event in enumerate(events):
        store.command(
            f"INSERT INTO {table} (Timestamp, TraceId, SpanId, SpanName, SpanKind, ServiceName, SpanAttributes, Duration)"
            " SELECT fromUnixTimestamp64Nano({at:Int64}), 't', {id:String}, {name:String}, 'Internal', 'theirs',"
            " map('subagent.event', {event:String}, 'subagent.run.id', {run:String}, 'session.id', 's'), 0",
            {
                "at": at_ns + number,
                "id": f"{run}{number}",
                "name": f"subagent.{event}",
                "event": event,
                "run": run,
            },
        )


def judged(store: Store, run: str) -> str:
    """Judge as a collector on a shared store does, and return the run's status."""
    now = time.time_ns()
    tick = Tick(store, Policy(), overlap_ns=60 * SECOND)
    tick.resume(now)
    tick.evaluate(now, now)
    rows = store.query("SELECT status FROM verdict FINAL WHERE run_id = {run:String}", {"run": run})
    return str(rows[0][0]) if rows else ""


@pytest.mark.parametrize(
    ("ddl", "says"), [(NEW, "present layout"), (OLD, "without ScopeName, ScopeVersion and with signed")]
)
def test_what_a_collector_writes_after_attaching_is_judged(ddl: str, says: str, store: Store) -> None:
    store.command(ddl.format(table="otel_traces"))
    layout, applied = attach(store)
    assert says in layout.says
    assert 10 in applied
    assert 1 not in applied
    export(store, "otel_traces", "r", time.time_ns())
    assert judged(store, "r") == "active"


def test_attaching_twice_changes_nothing(store: Store) -> None:
    store.command(OLD.format(table="otel_traces"))
    attach(store)
    assert attach(store)[1] == []
    assert migrate(store) == []


@pytest.mark.parametrize("ddl", [NEW, OLD])
def test_what_was_there_before_is_backfilled_once(ddl: str, store: Store) -> None:
    store.command(ddl.format(table="otel_traces"))
    now = time.time_ns()
    export(store, "otel_traces", "old", now - 3 * 3600 * SECOND)
    export(store, "otel_traces", "older", now - 50 * 3600 * SECOND)
    attach(store)
    assert judged(store, "old") == ""
    done: list[int] = []
    for _ in range(2):
        backfill(store, now - 4 * 3600 * SECOND, now, progress=done.append)
    assert done == sorted(done[:4]) * 2
    assert store.query("SELECT count() FROM evidence FINAL WHERE run_id = 'old'") == [(2,)]
    assert store.query("SELECT count() FROM evidence FINAL WHERE run_id = 'older'") == [(0,)]
    facts = FactsLoader(store).load([RunKey("s", "old")])[RunKey("s", "old")]
    assert facts is not None
    assert judged(store, "old") != ""
    received = store.query("SELECT max(received_ns) FROM evidence WHERE run_id = 'old'")[0][0]
    assert received < now  # as of its end, so that its producer's clock is not taken for hours late


def test_the_present_layout_takes_our_own_intake_beside(store: Store) -> None:
    from tests.collector.otlp_messages import request, span

    store.command(NEW.format(table="otel_traces"))
    attach(store)
    store.commit([request([span("ours")]).SerializeToString()], time.time_ns())
    assert store.query("SELECT SpanName FROM otel_traces") == [("ours",)]


def test_their_retention_stays_theirs(store: Store) -> None:
    store.command(NEW.format(table="otel_traces"))
    attach(store)
    migrate(store, 90)
    ((theirs,),) = store.query(
        "SELECT engine_full FROM system.tables WHERE database = currentDatabase() AND name = 'otel_traces'"
    )
    ((ours,),) = store.query(
        "SELECT engine_full FROM system.tables WHERE database = currentDatabase() AND name = 'evidence'"
    )
    assert "toIntervalDay(3)" in theirs
    assert "toIntervalDay(90)" in ours


def test_a_table_of_another_database_and_name(engine: Store, store: Store) -> None:
    theirs = engine.with_database("theirs")
    theirs.command(NEW.format(table="spans"))
    attach(store, "theirs.spans")
    export(store, "theirs.spans", "r", time.time_ns())
    assert judged(store, "r") == "active"
    theirs.close()


@pytest.mark.parametrize(
    ("ddl", "source", "says"),
    [
        ("SELECT 1", "otel_traces", "there is no table"),
        ("CREATE TABLE x (a UInt8) ENGINE = Memory", "x", "no column Timestamp"),
        (
            NEW.format(table="x").replace(
                "SpanAttributes Map(LowCardinality(String), String)", "SpanAttributes JSON"
            ),
            "x",
            "json: true",
        ),
        ("SELECT 1", "x; DROP TABLE y", "is no"),
    ],
)
def test_what_is_no_table_of_the_exporter_is_named(ddl: str, source: str, says: str, store: Store) -> None:
    store.command(ddl)
    with pytest.raises(StoreError, match=says):
        recognise(store, source)


def test_a_budget_deletes_nothing_of_a_table_that_others_keep(store: Store) -> None:
    store.command(NEW.format(table="otel_traces"))
    for days in (2, 1, 0):
        export(store, "otel_traces", str(days), time.time_ns() - days * 86400 * SECOND)
    attach(store, "otel_traces")
    assert sum(size.bytes for size in sizes(store)) > 1
    assert shrink(store, 1) == []
    assert store.query("SELECT uniq(toDate(Timestamp)) FROM otel_traces") == [(3,)]
