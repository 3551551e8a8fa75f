"""A ClickHouse endpoint that drops, delays and lies: senders are told to retry, and everything is there in the end."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from headcount_collector.receive import Intake, create_intake
from headcount_collector.receive.errors import Malformed, StoreFailed
from headcount_collector.store import Store, StoreError, migrate
from headcount_collector.store.migrate import statements
from tests.collector.clickhouse_endpoint import CLUSTER, Endpoint, clickhouse_endpoint
from tests.collector.dispatched import dispatch
from tests.collector.intake_server import PROTOBUF, serving_intake


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with clickhouse_endpoint(tmp_path_factory.mktemp("server")) as found:
        yield found


@pytest.fixture(scope="module")
def store(endpoint: Endpoint) -> Iterator[Store]:
    store = Store.open(f"{endpoint.url}/headcount")
    migrate(store)
    yield store
    store.close()


@pytest.fixture
def intake(store: Store, endpoint: Endpoint) -> Iterator[Intake]:
    made = create_intake(store)
    yield made
    endpoint.behave("well")
    made.close()


def test_a_second_start_finds_nothing_to_migrate(store: Store) -> None:
    assert migrate(store) == []


def test_text_and_parameters_go_over_http(store: Store) -> None:
    assert store.query("SELECT {x:String}, 'é'", {"x": "a'b\\c"}) == [("a'b\\c", "é")]


@pytest.mark.parametrize("mode", ["drop", "late", "delay", "lie", "proxy", "parts", "readonly"])
def test_what_was_not_acknowledged_is_taken_when_the_server_is_well(
    mode: str, endpoint: Endpoint, store: Store, intake: Intake
) -> None:
    body = dispatch(mode)
    with serving_intake(intake) as client:
        endpoint.behave(mode)
        answer = client.post("/v1/traces", content=body, headers=PROTOBUF)
        if mode == "delay":
            assert answer.status_code == 200
        else:
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        endpoint.behave("well")
        assert client.post("/v1/traces", content=body, headers=PROTOBUF).status_code == 200
    # A retried span may stand twice among the spans, never in the facts.
    assert store.query("SELECT count() FROM evidence FINAL WHERE run_id = {run:String}", {"run": mode}) == [
        (1,)
    ]


@pytest.mark.parametrize("views_look", ["0", "1"])
def test_what_failed_halfway_on_a_cluster_is_whole_when_it_comes_again(
    views_look: str, tmp_path: Path
) -> None:
    # Replicated tables pass over a block that they had before, and by the default of older servers their views do, too.
    older = {"deduplicate_blocks_in_dependent_materialized_views": views_look}
    with clickhouse_endpoint(tmp_path / "server", settings=older) as endpoint:
        store = Store.open(f"{endpoint.url}/headcount")
        migrate(store, cluster=CLUSTER)
        body, received = dispatch("r"), time.time_ns()
        store.command("ALTER TABLE evidence_local ADD CONSTRAINT full CHECK run_id != 'r'")
        with pytest.raises(StoreError):
            store.commit([body], received)
        store.command("ALTER TABLE evidence_local DROP CONSTRAINT full")
        store.commit([body], received)
        store.commit([body], received)
        assert store.query("SELECT count() FROM evidence FINAL WHERE run_id = 'r'") == [(1,)]
        store.close()


def test_a_replicated_table_takes_a_batch_again() -> None:
    # Today's engine hands what a table passed over to its views; older ones did not, so that is not left to them.
    tables = [sql for sql in statements(CLUSTER) if "ENGINE = Replicated" in sql]
    assert len(tables) > 15
    for sql in tables:
        assert re.search(r"\nSETTINGS .*\breplicated_deduplication_window = 0$", sql), sql


def test_a_server_that_is_gone_fails_the_request_and_not_the_committer(tmp_path: Path) -> None:
    with clickhouse_endpoint(tmp_path / "gone") as gone:
        store = Store.open(f"{gone.url}/headcount")
        migrate(store)
        intake = create_intake(store)
        gone.process.kill()
        gone.process.wait()
        for _ in range(2):
            with pytest.raises(StoreFailed, match="try again"):
                intake.committer.submit(dispatch("r"), 1).result(60)
        with pytest.raises(StoreError):
            store.query("SELECT 1")
        intake.close()
        store.close()


@pytest.mark.parametrize(
    ("code", "retryable"),
    [
        (243, True),  # NOT_ENOUGH_SPACE
        (242, True),  # TABLE_IS_READ_ONLY
        (252, True),  # TOO_MANY_PARTS
        (241, True),  # MEMORY_LIMIT_EXCEEDED
        (202, True),  # TOO_MANY_SIMULTANEOUS_QUERIES
        (209, True),  # SOCKET_TIMEOUT
        (319, True),  # UNKNOWN_STATUS_OF_INSERT
        (999, True),  # KEEPER_EXCEPTION
        (None, True),
        (436, False),  # PROTOBUF_FIELD_NOT_REPEATED and their like: the bytes
        (33, False),  # CANNOT_READ_ALL_DATA
    ],
)
def test_the_engines_code_says_whose_fault_it_is(
    code: int | None, retryable: bool, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing:
        def commit(self, bodies: object, received_ns: int) -> None:
            raise StoreError("no", code=code)

        def insert(self, *_: object) -> None:
            raise NotImplementedError

    caplog.set_level(logging.CRITICAL)
    intake = create_intake(Failing())
    with pytest.raises(StoreFailed if retryable else Malformed):
        intake.committer.submit(b"x", 1).result(30)
    intake.close()
