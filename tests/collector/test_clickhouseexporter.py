"""The OpenTelemetry Collector's own ClickHouse exporter makes and fills its table; we attach to it and judge from it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from headcount_collector.derive.loader import FactsLoader, RunKey
from headcount_collector.store import Store, migrate
from headcount_collector.store.attach import attach, backfill, recognise
from tests.collector.clickhouse_endpoint import Endpoint, clickhouse_endpoint
from tests.collector.otelcol import collecting, free_port, program
from tests.collector.otlp_messages import request, span
from tests.collector.running import eventually
from tests.collector.test_otelcol import post, send

PER_REQUEST = 100
NO_CONTENT = "transform/no_content"
SCALE = (Path(__file__).parents[2] / "docs/scale.md").read_text()


def processor_of_the_docs(name: str) -> Any:
    """Return a processor as docs/scale.md configures it."""
    (found,) = (text for text in re.findall(r"```yaml\n(.*?)```", SCALE, re.DOTALL) if name in text)
    return yaml.safe_load(found)["processors"][name]


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    program("otelcol")
    with clickhouse_endpoint(tmp_path_factory.mktemp("server")) as found:
        yield found


@pytest.fixture(scope="module")
def port(endpoint: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a Collector that exports there."""
    port = free_port()
    config: dict[str, Any] = {
        "receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}},
        "exporters": {
            "clickhouse": {
                "endpoint": endpoint.url,
                "database": "theirs",
                "compress": "none",
                "async_insert": False,
                "create_schema": True,
                "ttl": "72h",
            }
        },
        "processors": {NO_CONTENT: processor_of_the_docs(NO_CONTENT)},
        "service": {
            "pipelines": {
                "traces": {"receivers": ["otlp"], "processors": [NO_CONTENT], "exporters": ["clickhouse"]}
            }
        },
    }
    with collecting(tmp_path_factory.mktemp("otelcol"), config, f"http://127.0.0.1:{port}/"):
        yield port


@pytest.fixture(scope="module")
def store(endpoint: Endpoint, port: int) -> Iterator[Store]:
    store = Store.open(f"{endpoint.url}/theirs")
    yield store
    store.close()


def runs_known(store: Store) -> int:
    ((found,),) = store.query("SELECT uniqExact(run_id) FROM evidence FINAL WHERE event = 'dispatch'")
    return int(found)


def test_its_table_is_recognised_and_what_it_writes_is_judged(
    store: Store, port: int, tmp_path: Path
) -> None:
    send(port, "before", 0)
    assert eventually(lambda: store.query("SELECT count() FROM otel_traces") == [(PER_REQUEST,)])
    before = store.query("SHOW CREATE TABLE otel_traces")
    layout = recognise(store)
    assert (layout.whole, layout.says) == (True, "the exporter's present layout")

    _, applied = attach(store)
    assert applied
    assert store.query("SHOW CREATE TABLE otel_traces") == before
    assert runs_known(store) == 0

    send(port, "after", 1)
    assert eventually(lambda: runs_known(store) == PER_REQUEST)
    backfill(store, time.time_ns() - 3600 * 10**9, time.time_ns())
    assert runs_known(store) == 2 * PER_REQUEST
    key = RunKey("before", "before 0.0")
    assert FactsLoader(store).load([key])[key].dispatch is not None


def test_content_does_not_get_past_the_processor_of_the_docs(store: Store, port: int) -> None:
    telling = span("telling")
    for key in (
        "user_prompt",
        "gen_ai.prompt.0.content",
        "subagent.description",
        "gen_ai.usage.input_tokens",
    ):
        telling.attributes.add(key=key).value.string_value = "x"
    telling.events.add(name="e").attributes.add(key="gen_ai.output.messages").value.string_value = "x"
    post(port, request([telling]).SerializeToString())
    asked = "SELECT SpanAttributes, Events.Attributes FROM otel_traces WHERE SpanName = 'telling'"
    assert eventually(lambda: store.query(asked)) == [({"gen_ai.usage.input_tokens": "x"}, [{}])]


def test_its_columns_are_those_of_our_own_table(store: Store) -> None:
    asked = (
        "SELECT table, name, extract(type, '^(?:SimpleAggregateFunction.m.., )?(.*?)[)]?$') FROM system.columns"
        " WHERE database = currentDatabase() AND default_kind = '' AND table IN ('otel_traces', 'otel_traces_trace_id_ts')"
        " ORDER BY table, position"
    )
    ours = store.with_database("ours")
    try:
        migrate(ours)
        assert ours.query(asked) == store.query(asked)
    finally:
        ours.close()
