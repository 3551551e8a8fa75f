"""Migrations against the real engine: applied once, in order, and never to a newer database."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from headcount_collector.store import SchemaTooNew, Store, StoreError, migrate
from headcount_collector.store.content import content_pattern
from headcount_collector.store.migrate import migrations
from tests.collector.otlp_messages import request, span


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(tmp_path)
    yield opened
    opened.close()


def recorded(store: Store) -> list[int]:
    return [number for (number,) in store.query("SELECT number FROM schema_migrations ORDER BY number")]


def definitions(store: Store) -> list[tuple[str, str]]:
    return [
        (name, query)
        for name, query in store.query(
            "SELECT name, create_table_query FROM system.tables WHERE database = currentDatabase() ORDER BY name"
        )
    ]


def test_migrations_are_applied_once_and_recorded(store: Store) -> None:
    numbers = [migration.number for migration in migrations()][1:]
    assert migrate(store) == numbers
    before = definitions(store)
    assert migrate(store) == []
    assert recorded(store) == numbers
    assert definitions(store) == before


def test_a_crash_before_the_record_does_not_hinder_the_next_start(store: Store) -> None:
    numbers = migrate(store)
    store.command("TRUNCATE TABLE schema_migrations")
    assert migrate(store) == numbers


def test_a_newer_database_is_refused_and_both_versions_are_named(store: Store) -> None:
    newest = migrate(store)[-1]
    store.insert("schema_migrations", [(newest + 1, "of_tomorrow")], ["number", "name"])
    with pytest.raises(SchemaTooNew, match=rf"schema {newest + 1}, this program knows up to {newest}"):
        migrate(store)


def test_every_migration_is_one_statement_of_one_object() -> None:
    for migration in migrations():
        statement = re.sub(r"--.*", "", migration.sql)
        made = re.findall(r"\bCREATE (?:TABLE|MATERIALIZED VIEW|VIEW) IF NOT EXISTS (\w+)", statement)
        altered = re.findall(r"\bALTER TABLE (\w+)\b", statement)
        assert made == [migration.name] or (not made and [*map(migration.name.startswith, altered)] == [True])
        assert ";" not in statement


def test_another_retention_changes_the_tables_that_exist(store: Store) -> None:
    def days() -> set[str]:
        query = (
            "SELECT extract(engine_full, 'toIntervalDay\\((\\d+)\\)') FROM system.tables"
            " WHERE database = currentDatabase() AND name LIKE 'otel_traces%' AND engine = 'MergeTree'"
        )
        return {found for (found,) in store.query(query)}

    migrate(store, retention_days=30)
    assert days() == {"30"}
    migrate(store, retention_days=7)
    assert days() == {"7"}


def test_otel_traces_has_the_exporters_columns(store: Store) -> None:
    migrate(store)
    columns = store.query(
        "SELECT name, type, default_kind FROM system.columns WHERE database = currentDatabase()"
        " AND table = 'otel_traces' ORDER BY position"
    )
    attributes = "Map(LowCardinality(String), String)"
    assert columns == [
        ("Timestamp", "DateTime64(9)", ""),
        ("TraceId", "String", ""),
        ("SpanId", "String", ""),
        ("ParentSpanId", "String", ""),
        ("TraceState", "String", ""),
        ("SpanName", "LowCardinality(String)", ""),
        ("SpanKind", "LowCardinality(String)", ""),
        ("ServiceName", "LowCardinality(String)", ""),
        ("ResourceAttributes", attributes, ""),
        ("ScopeName", "String", ""),
        ("ScopeVersion", "String", ""),
        ("SpanAttributes", attributes, ""),
        ("Duration", "UInt64", ""),
        ("StatusCode", "LowCardinality(String)", ""),
        ("StatusMessage", "String", ""),
        ("Events.Timestamp", "Array(DateTime64(9))", ""),
        ("Events.Name", "Array(LowCardinality(String))", ""),
        ("Events.Attributes", f"Array({attributes})", ""),
        ("Links.TraceId", "Array(String)", ""),
        ("Links.SpanId", "Array(String)", ""),
        ("Links.TraceState", "Array(String)", ""),
        ("Links.Attributes", f"Array({attributes})", ""),
        ("ResourceAttributeItems", "Array(String)", "ALIAS"),
        ("SpanAttributeItems", "Array(String)", "ALIAS"),
    ]


def test_content_is_kept_only_while_capture_is_on(store: Store) -> None:
    def stored(received_ns: int) -> dict[str, str]:
        held = span()
        held.attributes.add(key="user_prompt").value.string_value = "secret"
        held.attributes.add(key="user_prompt_length").value.int_value = 6
        store.commit([request([held]).SerializeToString()], received_ns)
        rows = store.query(
            "SELECT SpanAttributes FROM otel_traces"
            " WHERE ResourceAttributes['headcount.received_unix_nano'] = {at:String}",
            {"at": str(received_ns)},
        )
        return dict(rows[0][0])

    migrate(store)
    assert stored(1) == {"user_prompt_length": "6"}
    migrate(store, drop_attributes=())
    assert stored(2) == {"user_prompt": "secret", "user_prompt_length": "6"}
    migrate(store)
    assert stored(3) == {"user_prompt_length": "6"}


def test_a_description_is_content_in_the_span_and_in_the_facts(store: Store) -> None:
    def stored(run: str) -> list[tuple[str, str]]:
        held = span()
        for key, value in (
            ("subagent.event", "dispatch"),
            ("subagent.run.id", run),
            ("session.id", "s"),
            ("subagent.description", "secret"),
            ("subagent.description.digest", "d"),
        ):
            held.attributes.add(key=key).value.string_value = value
        store.commit([request([held]).SerializeToString()], 1)
        columns = "{map}['subagent.description'], {map}['subagent.description.digest']"
        of_run = "{map}['subagent.run.id'] = {{run:String}}"
        ((in_span),) = store.query(
            f"SELECT {columns} FROM otel_traces WHERE {of_run}".format(map="SpanAttributes"), {"run": run}
        )
        ((in_facts),) = store.query(
            f"SELECT {columns} FROM evidence WHERE run_id = {{{{run:String}}}}".format(map="attributes"),
            {"run": run},
        )
        return [in_span, in_facts]

    migrate(store)
    assert stored("r1") == [("", "d"), ("", "d")]
    migrate(store, drop_attributes=())
    assert stored("r2") == [("secret", "d"), ("secret", "d")]


def test_a_failing_migration_is_named(store: Store) -> None:
    store.command("CREATE TABLE otel_traces_trace_id_ts (x UInt8) ENGINE = Memory")
    with pytest.raises(StoreError, match="migration 3 otel_traces_trace_id_ts_mv"):
        migrate(store)


@pytest.mark.parametrize(
    ("names", "key", "matches"),
    [
        (["user_prompt"], "user_prompt", True),
        (["user_prompt"], "user_prompt_length", False),
        (["a.b"], "aXb", False),
        (["llm.prompts*"], "llm.prompts.0.content", True),
        ([], "", False),
        ([], "anything", False),
    ],
)
def test_the_content_filter_matches_exactly_what_is_listed(
    store: Store, names: list[str], key: str, matches: bool
) -> None:
    found = store.query(
        "SELECT match({key:String}, {pattern:String})", {"key": key, "pattern": content_pattern(names)}
    )
    assert found == [(int(matches),)]


def test_a_name_that_could_break_out_of_the_filter_is_refused() -> None:
    with pytest.raises(ValueError, match="only letters"):
        content_pattern(["x') OR 1"])
