"""The store against the real embedded engine: handles, databases, the lock and what is left after a kill."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from headcount_collector.store import Store, StoreError, StoreLocked, migrate
from tests.collector.otlp_messages import request, span


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(tmp_path)
    yield opened
    opened.close()


def one_span(name: str) -> bytes:
    held = span(name)
    held.attributes.add(key="n").value.int_value = 7
    return request([held], service="here").SerializeToString()


def test_joined_bodies_become_rows_with_the_receivers_time(store: Store) -> None:
    migrate(store)
    store.commit([one_span("a"), one_span("b")], received_ns=1_234_567_890_123_456_789)
    rows = store.query(
        "SELECT SpanName, ServiceName, SpanAttributes['n'], ResourceAttributes['headcount.received_unix_nano']"
        " FROM otel_traces ORDER BY SpanName"
    )
    assert rows == [
        ("a", "here", "7", "1234567890123456789"),
        ("b", "here", "7", "1234567890123456789"),
    ]


def test_the_engine_holds_no_more_than_a_laptop_has(store: Store) -> None:
    caches = store.query(
        "SELECT sum(toUInt64(value)) FROM system.server_settings WHERE name IN ('mark_cache_size',"
        " 'primary_index_cache_size', 'index_mark_cache_size', 'uncompressed_cache_size', 'query_condition_cache_size')"
    )
    assert 0 < caches[0][0] < 1024**3


def test_a_second_database_of_the_same_engine_is_its_own(store: Store) -> None:
    migrate(store)
    other = store.with_database("case_1")
    migrate(other)
    other.commit([one_span("elsewhere")], received_ns=1)
    assert store.query("SELECT count() FROM otel_traces") == [(0,)]
    assert other.query("SELECT count() FROM otel_traces") == [(1,)]
    other.close()
    assert store.query("SELECT 1") == [(1,)]


def test_rows_and_parameters_come_back_as_python_values(store: Store) -> None:
    store.command(
        "CREATE TABLE t (a UInt64, b Array(String), c Map(String, UInt8)) ENGINE = MergeTree ORDER BY a"
    )
    store.insert("t", [(1, ["x"], {"k": 2}), (2, [], {})], ["a", "b", "c"])
    store.insert("t", [], ["a", "b", "c"])
    assert store.query("SELECT a, b, c FROM t WHERE a = {wanted:UInt64}", {"wanted": 1}) == [
        (1, ["x"], {"k": 2})
    ]


def test_an_engine_error_says_what_failed_and_keeps_the_code(store: Store) -> None:
    with pytest.raises(StoreError, match="query failed") as unknown:
        store.query("SELECT * FROM missing")
    assert unknown.value.code == 60
    assert not unknown.value.data_at_fault


def test_bytes_that_are_no_message_are_the_datas_fault(store: Store) -> None:
    migrate(store)
    with pytest.raises(StoreError, match="commit failed") as garbage:
        store.commit([b"\xff\xff\xff\xff"], received_ns=1)
    assert garbage.value.data_at_fault
    store.commit([one_span("after")], received_ns=2)
    assert store.query("SELECT SpanName FROM otel_traces") == [("after",)]


def test_what_was_written_is_there_after_reopening(tmp_path: Path) -> None:
    for number in range(2):
        store = Store.open(tmp_path)
        migrate(store)
        store.commit([one_span(f"run {number}")], received_ns=number + 1)
        names = store.query("SELECT SpanName FROM otel_traces ORDER BY SpanName")
        store.close()
        assert names == [(f"run {n}",) for n in range(number + 1)]


def test_a_store_in_memory_works_without_a_folder() -> None:
    store = Store.open(":memory:", readonly_handle=False)
    migrate(store)
    store.commit([one_span("a")], received_ns=1)
    assert store.query("SELECT count() FROM otel_traces") == [(1,)]
    store.close()


def in_another_process(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )


OPEN = "import sys; from headcount_collector.store import Store; Store.open(sys.argv[1]).close(); print('opened')"


def test_a_second_process_is_told_who_has_the_folder(store: Store, tmp_path: Path) -> None:
    store.tell_port(4318)
    result = in_another_process(OPEN, str(tmp_path))
    assert "StoreLocked" in result.stderr
    assert f"in use by process {os.getpid()}, which serves on port 4318" in result.stderr
    assert "--data" in result.stderr


def test_a_second_store_in_the_same_process_is_refused_too(store: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreLocked):
        Store.open(tmp_path)
    with pytest.raises(StoreError, match="already initialized"):
        Store.open(tmp_path / "other")


def test_the_folder_is_free_when_its_process_was_killed(tmp_path: Path) -> None:
    killed = "import os, sys, signal; from headcount_collector.store import Store; Store.open(sys.argv[1]);"
    killed += "os.kill(os.getpid(), signal.SIGKILL)"
    assert in_another_process(killed, str(tmp_path)).returncode == -9
    assert in_another_process(OPEN, str(tmp_path)).stdout == "opened\n"


def test_batches_are_spooled_inside_the_data_folder_which_opening_empties(tmp_path: Path) -> None:
    before = tempfile.gettempdir()
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp" / "left.raw").write_bytes(b"telemetry of a killed process")
    store = Store.open(tmp_path)
    assert not list((tmp_path / "tmp").iterdir())
    assert tempfile.gettempdir() == str(tmp_path / "tmp")
    store.close()
    assert tempfile.gettempdir() == before


def test_nothing_is_written_to_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    store = Store.open(tmp_path / "data")
    migrate(store)
    store.commit([one_span("a")], received_ns=1)
    store.close()
    assert not list((tmp_path / "here").iterdir())


@pytest.mark.parametrize("location", ["http://127.0.0.1:1/headcount", "https://user:secret@127.0.0.1:1"])
def test_a_server_that_does_not_answer_is_an_error_without_the_password(location: str) -> None:
    with pytest.raises(StoreError, match="open failed") as refused:
        Store.open(location)
    assert "secret" not in str(refused.value)
