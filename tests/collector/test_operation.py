"""Keeping it running: backups, budget, numbers, logs, and a doctor that names what is wrong."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount_collector.cli.doctor import findings
from headcount_collector.cli.log import JsonFormatter, TextFormatter
from headcount_collector.store import Store, StoreError, migrate
from headcount_collector.store.backup import restore
from headcount_collector.store.cluster import kept_by, where_rows_lie
from headcount_collector.store.migrate import statements
from headcount_collector.store.size import shrink, sizes
from tests.collector.intake_server import PROTOBUF
from tests.collector.otlp_messages import request, span
from tests.collector.running import Running, eventually, running_collector

DAY = 86_400 * 10**9


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_collector(tmp_path_factory.mktemp("operation") / "data") as found:
        yield found


def send(running: Running, name: str, start_ns: int | None = None) -> None:
    body = request([span(name, start_ns=start_ns)]).SerializeToString()
    assert running.post("/v1/traces", body, PROTOBUF["content-type"]).status == 200


def test_a_backup_is_taken_while_it_serves_and_restored_elsewhere(running: Running, tmp_path: Path) -> None:
    send(running, "kept")
    answer = running.post("/api/v1/backups", b'{"name": "before"}')
    assert answer.status == 201, answer.body
    send(running, "after the backup")
    again = running.post("/api/v1/backups", b'{"name": "before"}')
    assert (again.status, "take another name" in again.json["detail"]) == (409, True)
    assert running.post("/api/v1/backups", b'{"name": "../x"}').status == 409
    program = (
        "import sys; from pathlib import Path; from headcount_collector.store.backup import restore\n"
        "from headcount_collector.store import Store, migrate\n"
        "print(restore(Path(sys.argv[1]), Path(sys.argv[2])))\n"
        "store = Store.open(sys.argv[2]); print(migrate(store))\n"
        "print(store.query('SELECT SpanName FROM otel_traces')); store.close()"
    )  # in a process of its own: this one has a store open already
    done = subprocess.run(
        [sys.executable, "-c", program, answer.json["path"], str(tmp_path / "new")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == ["1", "[]", "[('kept',)]"], done.stderr


def test_a_backup_is_not_restored_over_a_store_or_from_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is no backup"):
        restore(tmp_path, tmp_path / "new")
    (tmp_path / ".backup").touch()
    (tmp_path / "old" / "engine").mkdir(parents=True)
    with pytest.raises(StoreError, match="holds a store already"):
        restore(tmp_path, tmp_path / "old")


def test_the_oldest_days_go_first_and_the_newest_stays(running: Running) -> None:
    database = running.collector.store.with_database("budget")
    migrate(database)
    now = time.time_ns()
    for days in (0, 3, 9, 6):
        database.commit(
            [request([span(str(days), start_ns=now - days * DAY)]).SerializeToString()], now + days
        )
    total = sum(size.bytes for size in sizes(database))
    assert shrink(database, total) == []
    (first,) = [one for one in shrink(database, total - 1) if one.startswith("otel_traces ")] or ["none"]
    assert first == time.strftime("otel_traces %Y%m%d", time.gmtime((now - 9 * DAY) // 10**9))
    shrink(database, 1)
    assert database.query("SELECT DISTINCT SpanName FROM otel_traces") == [("0",)]


def test_metrics_follow_the_conventions_and_tell_of_store_and_disk(running: Running) -> None:
    running.collector.housekeeping.look()
    text = running.get("/metrics").body.decode()
    names = re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE)
    assert len({name for name, _ in names}) == len(names)
    for name, kind in names:
        assert re.fullmatch(r"headcount_[a-z0-9_]+", name)
        assert (kind == "counter") == name.endswith("_total"), name
    for name in (
        "headcount_store_bytes",
        "headcount_disk_free_bytes",
        "headcount_queued_bytes",
        "headcount_judging",
    ):
        assert f"\n{name}" in text


def test_a_disk_without_room_is_a_reason_not_to_be_ready(running: Running) -> None:
    eventually(lambda: running.get("/readyz").status == 200)
    running.collector.housekeeping.free_bytes = 1024**2
    assert "has 1 MiB left: make room" in running.get("/readyz").json["detail"]
    running.collector.housekeeping.free_bytes = None


@pytest.mark.parametrize("form", [TextFormatter(), JsonFormatter()])
@given(text=st.text())
def test_an_entry_is_one_line_whatever_it_says(form: logging.Formatter, text: str) -> None:
    record = logging.LogRecord("x", logging.INFO, "", 0, "said %s", (text,), None)
    line = form.format(record)
    assert len(line.splitlines()) == 1
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", line)


def test_json_entries_carry_level_scope_and_traceback() -> None:
    try:
        raise ValueError("bad\nvalue")
    except ValueError:
        record = logging.LogRecord("scope", logging.ERROR, "", 0, "it failed", (), sys.exc_info())
    entry = json.loads(JsonFormatter().format(record))
    assert (entry["severity_text"], entry["scope"], entry["body"]) == ("ERROR", "scope", "it failed")
    assert entry["exception.type"] == "ValueError"


def test_the_doctor_finds_a_running_collector_well(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADCOUNT_DATA", str(running.collector.settings.data))
    eventually(lambda: running.get("/readyz").status == 200)
    found = list(findings(None, running.url))
    assert [one for one in found if one.state == "wrong"] == []
    assert any("takes evidence and judges" in one.what for one in found)


def test_the_doctor_names_what_is_wrong_and_what_mends_it(
    running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "token"
    secret.write_text("a-token-of-some-length\n")
    secret.chmod(0o644)
    for name, value in {
        "DATA": str(tmp_path / "data"),
        "TOKEN_FILE": str(secret),
        "HTTP": "0.0.0.0:4318",
    }.items():
        monkeypatch.setenv(f"HEADCOUNT_{name}", value)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", running.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    mends = [one.mend for one in findings(None, running.url) if one.state != "ok"]
    assert f"chmod 600 {secret}" in mends
    assert any("HEADCOUNT_TLS_CERT" in mend for mend in mends)
    assert any("OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf" in mend for mend in mends)
    assert any("OTEL_EXPORTER_OTLP_HEADERS" in mend for mend in mends)
    gone: Any = list(findings(None, "http://127.0.0.1:1"))
    assert any(one.state == "wrong" and "no collector answers" in one.what for one in gone)
    monkeypatch.setenv("HEADCOUNT_TICK_S", "never")
    (only,) = findings(None, None)
    assert (only.state, "HEADCOUNT_TICK_S" in only.mend) == ("wrong", True)


@pytest.mark.parametrize("cluster", [None, "main"])
def test_every_statement_of_the_schema_parses(cluster: str | None, running: Running) -> None:
    store: Store = running.collector.store
    made = list(statements(cluster))
    for statement in made:
        store.query(f"EXPLAIN AST {statement}")
    joined = "\n".join(made)
    assert joined.count("CREATE MATERIALIZED VIEW") == 10
    if cluster:
        assert "ENGINE = ReplicatedAggregatingMergeTree('/clickhouse/tables/" in joined
        assert "ENGINE = Distributed(main, currentDatabase(), evidence_local, session_key)" in joined
        assert "FROM otel_traces_local" in joined
        assert not re.search(r"^ENGINE = (?!Replicated|Distributed|Null)", joined, re.MULTILINE)
        assert all("ON CLUSTER main" in statement for statement in made)


def test_rows_are_deleted_where_they_lie(running: Running) -> None:
    store: Store = running.collector.store
    assert where_rows_lie(store, "verdict") == "verdict"
    of_the_cluster = kept_by(
        "Distributed('main', 'headcount', 'verdict_local', cityHash64(run_id))", "verdict"
    )
    assert of_the_cluster == "verdict_local ON CLUSTER main"
    store.query(f"EXPLAIN AST DELETE FROM {of_the_cluster} WHERE run_id = 'r1'")


def test_a_cluster_name_is_no_sql() -> None:
    with pytest.raises(StoreError, match="no name of a cluster"):
        list(statements("x; DROP"))
