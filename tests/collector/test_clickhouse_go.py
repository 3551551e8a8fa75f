"""clickhouse-go, the driver beneath Grafana's data source, over HTTP: it reads every type that we store, and writes nothing."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headcount_collector.evidence.record import Record, export_request
from tests.collector.otelcol import program
from tests.collector.running import Running, eventually, running_collector

TOKEN = "a-token-of-some-length"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    program("clickhouse")
    with running_collector(tmp_path_factory.mktemp("data"), token=TOKEN, sql=True) as found:
        records = [
            Record(event, time.time_ns(), run=f"r{run}", session="s", attributes={}, service="tests")
            for run in range(300)
            for event in ("dispatch", "start")
        ]
        body = export_request(records).SerializeToString()
        answer = found.post("/v1/traces", body, "application/x-protobuf", Authorization=f"Bearer {TOKEN}")
        assert answer.status == 200
        assert eventually(lambda: found.collector.verdicts.named("r1", "s"))
        yield found


class Client:
    """Asks one question after another."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, sql: str, **parameters: str) -> Any:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        print(json.dumps({"sql": sql, "parameters": parameters}), file=stdin, flush=True)
        return json.loads(stdout.readline())

    def rows(self, sql: str, **parameters: str) -> list[list[str]]:
        told = self.ask(sql, **parameters)
        assert told["error"] == ""
        return told["rows"] or []


@contextmanager
def client_of(running: Running, compression: str = "gzip", token: str = TOKEN) -> Iterator[Client]:
    command = [
        str(program("clickhouse")),
        running.url.removeprefix("http://"),
        "/clickhouse/",
        token,
        compression,
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Client(process)


@pytest.fixture(scope="module")
def client(running: Running) -> Iterator[Client]:
    with client_of(running) as found:
        yield found


@pytest.mark.parametrize("compression", ["none", "gzip", "deflate", "br"])
def test_it_greets_and_reads_whatever_compression_it_offers(running: Running, compression: str) -> None:
    with client_of(running, compression) as client:
        assert client.ask("PING")["error"] == ""
        assert client.rows("SELECT 1 + 1") == [["2"]]


def test_compressed_blocks_are_declined_by_name(running: Running) -> None:
    with client_of(running, "lz4") as client:
        assert "let the client compress with gzip" in client.ask("SELECT 1")["error"]


def test_parameters_are_bound(client: Client) -> None:
    sql = "SELECT count() FROM evidence FINAL WHERE run_id = {run:String} AND event IN {events:Array(String)}"
    assert client.rows(sql, run="r7", events="['dispatch', 'start']") == [["2"]]


def test_every_column_of_every_table_is_read(running: Running, client: Client) -> None:
    tables = [name for (name,) in client.rows("SELECT name FROM system.tables WHERE database = 'headcount'")]
    assert {"otel_traces", "verdict", "transition", "evidence", "touched"} <= set(tables)
    for table in tables:
        columns = client.rows(
            "SELECT name, type FROM system.columns WHERE database = 'headcount' AND table = {t:String}",
            t=table,
        )
        plain = ", ".join(f"`{name}`" for name, kind in columns if not kind.startswith("AggregateFunction"))
        told = client.ask(f"SELECT {plain} FROM `{table}` LIMIT 50")
        assert told["error"] == "", (table, told["error"])
        if told["rows"]:
            assert len(told["types"]) == plain.count(", ") + 1
        if table in ("otel_traces", "verdict"):
            assert len(told["rows"]) == 50
    assert client.rows("SELECT groupBitmapMerge(pulse) FROM activity WHERE run_id = 'none'") == [["0"]]


def test_many_blocks_are_read_whole(client: Client) -> None:
    rows = client.rows("SELECT number, toString(number), map('a', number) FROM numbers(200000)")
    assert len(rows) == 200_000
    assert rows[-1] == ["199999", "199999", "map[a:199999]"]


def test_moments_keep_their_nanoseconds(running: Running, client: Client) -> None:
    ((text,),) = client.rows("SELECT max(Timestamp) FROM otel_traces")
    ((exact,),) = running.collector.store.query(
        "SELECT toUnixTimestamp64Nano(max(Timestamp)) FROM otel_traces"
    )
    assert text.rstrip("Z").partition(".")[2].ljust(9, "0") == f"{exact % 10**9:09d}"


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO verdict (run_id) VALUES ('x')",
        "SELECT 1 INTO OUTFILE '/tmp/never'",
        "SELECT file('/etc/hostname')",
        "SELECT * FROM url('http://127.0.0.1:1/', CSV, 'a String')",
        "DROP TABLE otel_traces",
        "SET readonly = 0",
        "KILL QUERY WHERE 1",
    ],
)
def test_what_is_no_reading_is_refused_with_a_code(client: Client, sql: str) -> None:
    told = client.ask(sql)
    assert told["code"] in (497, 164, 62), told
    assert client.rows("SELECT 1") == [["1"]]


def test_without_the_token_nothing_is_read(running: Running) -> None:
    with client_of(running, token="a-wrong-token-of-length") as client:
        assert "401" in client.ask("SELECT 1")["error"]


def test_a_statement_that_fails_says_why(client: Client) -> None:
    told = client.ask("SELECT nothing FROM verdict")
    assert told["code"] == 47
    assert "nothing" in told["error"]


def test_the_program_is_the_driver_of_the_module_file() -> None:
    assert "github.com/ClickHouse/clickhouse-go/v2" in (Path(__file__).parent / "golang/go.mod").read_text()
