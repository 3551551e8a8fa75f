"""SQL for dashboards: clients of ClickHouse read with it, and nothing gets out, in, or away."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import clickhouse_connect
import pytest
from clickhouse_connect.driver.exceptions import DatabaseError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headcount_collector.evidence.record import Record, export_request
from headcount_collector.store import StoreError
from headcount_collector.store.statement import Allowed, StatementRefused, single_statement
from tests.collector.running import Answer, Running, running_collector

TOKEN = "a-token-of-some-length"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_collector(tmp_path_factory.mktemp("data"), token=TOKEN, sql=True) as found:
        record = Record(
            event="dispatch",
            at_ns=1_800_000_000_000_000_000,
            run="r1",
            session="s1",
            attributes={"gen_ai.agent.name": "reviewer"},
            start_ns=None,
            phase=None,
            service="tests",
            identity=None,
        )
        # By the store itself, since intake would refuse a time that is not about now.
        found.collector.store.commit(
            [export_request([record]).SerializeToString()], 1_800_000_000_000_000_000
        )
        yield found


def ask(running: Running, sql: str, **named: str) -> Answer:
    path = f"/clickhouse/?{urlencode(named)}"
    return running.post(path, sql.encode(), "text/plain", **{"X-ClickHouse-Key": TOKEN})


@pytest.fixture(scope="module")
def client(running: Running) -> Iterator[Any]:
    host, port = running.url.removeprefix("http://").split(":")
    client = clickhouse_connect.get_client(
        host=host, port=int(port), password=TOKEN, proxy_path="clickhouse", autogenerate_session_id=False
    )
    yield client
    client.close()


def test_clickhouse_connect_reads_rows(client: Any) -> None:
    rows = client.query(
        "SELECT SpanName, SpanAttributes['gen_ai.agent.name'] AS agent, count() FROM otel_traces "
        "WHERE SpanAttributes['subagent.run.id'] = {run:String} GROUP BY ALL",
        parameters={"run": "r1"},
    ).result_rows
    assert rows == [("subagent.dispatch", "reviewer", 1)]


def test_clickhouse_connect_gets_the_error_of_a_statement(client: Any) -> None:
    with pytest.raises(DatabaseError, match="function file is not allowed"):
        client.query("SELECT file('/etc/hostname')")
    assert client.query("SELECT 1 AS one").result_rows == [(1,)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1;",
        "WITH x AS (SELECT run_id FROM headcount.verdict) SELECT count() FROM x",
        "SELECT countIf(run_id != ''), uniqExact(session_id), sumMapIf(map('a', 1), 1) FROM verdict FINAL",
        "SELECT toStartOfInterval(believed_at, INTERVAL 60 second) AS t, count() FROM transition GROUP BY t ORDER BY t WITH FILL",
        "SELECT arrayMap(x -> upper(x), ['a']), CASE WHEN 1 THEN 2 ELSE 3 END, 'x'::LowCardinality(String)",
        "SELECT * FROM (SELECT number FROM numbers(3)) AS a LEFT JOIN (SELECT 1 AS number) AS b USING number",
        "SELECT row_number() OVER (PARTITION BY run_id ORDER BY version) FROM verdict",
        "SELECT * EXCEPT document FROM verdict WHERE run_id IN (SELECT run_id FROM evidence)",
        "SELECT displayName(), version(), revision(), timezone()",
        "SELECT name FROM system.tables WHERE database = currentDatabase()",
        "SHOW TABLES",
        "SHOW TABLES FROM headcount",
        "SHOW DATABASES",
        "DESCRIBE TABLE otel_traces",
        "SELECT 1 UNION ALL SELECT 2 FORMAT JSON",
        "SELECT 'INTO OUTFILE', 1 AS `Function file`",
    ],
)
def test_what_dashboards_ask_is_answered(sql: str, running: Running) -> None:
    answer = ask(running, sql)
    assert answer.status == 200, answer.body


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 INTO OUTFILE '{out}'",
        "SELECT 1 INTO OUTFILE '{out}' TRUNCATE FORMAT CSV",
        "(SELECT 1) INTO OUTFILE '{out}'",
        "SELECT 1 UNION ALL SELECT 2 INTO OUTFILE '{out}'",
        "EXPLAIN AST SELECT 1 INTO OUTFILE '{out}'",
        "DESCRIBE TABLE otel_traces INTO OUTFILE '{out}'",
        "SHOW TABLES INTO OUTFILE '{out}'",
        "INSERT INTO FUNCTION file('{out}', 'CSV') SELECT 1",
        "SELECT file('/etc/hostname')",
        "SELECT * FROM file('/etc/hostname', 'LineAsString')",
        "DESCRIBE TABLE url('http://127.0.0.1:1/')",
        "DESC file('/etc/hostname', 'LineAsString')",
        "SELECT * FROM url('http://127.0.0.1:1/', CSV, 'a String')",
        "SELECT * FROM remote('127.0.0.1', system.one)",
        "SELECT * FROM s3('http://127.0.0.1:1/x')",
        "SELECT * FROM executable('x', CSV, 'a String')",
        "SELECT * FROM merge('system', 'tables')",
        "SELECT * FROM viewExplain('EXPLAIN AST', '', (SELECT 1))",
        "SELECT * FROM (EXPLAIN SELECT 1)",
        "EXPLAIN SELECT 1",
        "SELECT 'a' AS `a\n Function file`",
        "SELECT joinGet('system.x', 'a', 1)",
        "SELECT dictGet('a', 'b', 1)",
        "SELECT getSetting('readonly')",
        "SELECT sleep(3)",
        "SELECT * APPLY(file) FROM (SELECT '/etc/hostname')",
        "SELECT arrayMap(x -> file(x), ['/etc/hostname'])",
        "SELECT aiGenerate('x')",
        "SELECT 1 SETTINGS max_execution_time = 0",
        "SELECT * FROM (SELECT 1 SETTINGS readonly = 0)",
        "SELECT * FROM system.query_log",
        "SELECT * FROM system.processes",
        "SELECT * FROM other.verdict",
        "SELECT 1 IN system.processes",
        "SELECT 1 WHERE 'a' NOT IN other.verdict",
        "SHOW TABLES FROM system",
        "SHOW CREATE TABLE verdict",
        "SHOW GRANTS",
        "KILL QUERY WHERE 1",
        "SYSTEM SHUTDOWN",
        "SET readonly = 0",
        "DROP TABLE otel_traces",
        "TRUNCATE TABLE otel_traces",
        "ALTER TABLE otel_traces DELETE WHERE 1",
        "OPTIMIZE TABLE otel_traces",
        "CREATE TABLE x (a UInt8) ENGINE = Memory",
        "CREATE TEMPORARY TABLE x (a UInt8)",
        "INSERT INTO verdict (run_id) VALUES ('x')",
        "ATTACH TABLE x",
        "BACKUP DATABASE headcount TO File('x')",
        "USE system",
        "SELECT 1; DROP TABLE otel_traces",
        "SELECT 1 /* ; */; SELECT 2",
        "SELECT ';'",
        "SELECT 1 FORMAT Null",
        "SELECT 1 PARALLEL WITH SELECT 2",
        "",
        "   ;  ",
        "nonsense",
    ],
)
def test_everything_else_is_refused(sql: str, running: Running, tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = ask(running, sql.replace("{out}", str(out)))
    assert answer.status in ((400, 403) if sql.strip(" ;") else (200, 400)), answer.body
    assert answer.status == 200 or answer.headers["x-clickhouse-exception-code"] in (
        "497",
        "62",
        "73",
        "46",
        "164",
    )
    assert not out.exists()
    assert running.collector.store.query("SELECT count() FROM otel_traces") == [(1,)]


def test_an_identifier_parameter_opens_no_other_table(running: Running) -> None:
    assert ask(running, "SELECT count() FROM {t:Identifier}", param_t="verdict").status == 200
    assert ask(running, "SELECT count() FROM {t:Identifier}", param_t="system.processes").status == 403
    assert (
        ask(
            running, "SELECT count() FROM {d:Identifier}.{t:Identifier}", param_d="system", param_t="errors"
        ).status
        == 403
    )


@pytest.mark.parametrize(
    ("kind", "given", "value"),
    [
        ("String", "it's", "it's"),
        ("String", r"it\'s\ta\\b", "it's\ta\\b"),
        ("Array(String)", r"['a', 'it\'s']", "a|it's"),
        ("Map(String, UInt8)", "{'k': 7}", "7"),
        ("Nullable(String)", r"\N", "none"),
        ("DateTime64(3)", "2026-01-02 03:04:05.678", "2026-01-02 03:04:05.678"),
    ],
)
def test_parameters_are_taken_as_clickhouse_takes_them(
    running: Running, kind: str, given: str, value: str
) -> None:
    said = {"Array(String)": "arrayStringConcat(x, '|')", "Map(String, UInt8)": "x['k']"}.get(
        kind, "ifNull(toString(x), 'none')"
    )
    answer = ask(running, f"WITH {{p:{kind}}} AS x SELECT {said} FORMAT JSONCompact", param_p=given)
    assert [str(one) for (one,) in answer.json["data"]] == [value], answer.body


def test_a_parameter_that_nobody_asked_for_changes_nothing(running: Running) -> None:
    assert ask(running, "SELECT 'a%b%(x)s' LIKE 'a%'", param_x="1").body == b"1\n"


def test_settings_of_the_url_loosen_nothing(running: Running) -> None:
    answer = ask(
        running,
        "SELECT value FROM system.settings WHERE name = 'readonly'",
        readonly="0",
        max_execution_time="0",
    )
    assert answer.body == b"1\n"


def test_a_query_that_takes_too_long_is_ended_and_harms_no_other(running: Running) -> None:
    sql = running.collector.sql
    assert sql is not None
    endless = "SELECT sum(number) FROM numbers(100000000) WHERE sipHash64(number) = 1 HAVING throwIf(count() >= 0) = 0"
    with pytest.raises(StoreError):
        sql.run(endless, {})
    assert sql.run("SELECT 7", {}) == (b"7\n", "TabSeparated")


def test_only_who_has_the_token_may_ask(running: Running) -> None:
    assert running.post("/clickhouse/", b"SELECT 1", "text/plain").status == 401
    assert running.get("/clickhouse/?query=SELECT%201", **{"X-ClickHouse-Key": "wrong"}).status == 401
    assert running.get(f"/clickhouse/?query=SELECT%201&password={TOKEN}").body == b"1\n"


def test_another_database_is_unknown(running: Running) -> None:
    answer = ask(running, "SELECT 1", database="system")
    assert (answer.status, answer.headers["x-clickhouse-exception-code"]) == (404, "81")


def test_it_is_off_unless_switched_on(running: Running) -> None:
    assert os.environ.get("HEADCOUNT_SQL") is None
    assert type(running.collector.settings).model_fields["sql"].default is False


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(max_size=60))
def test_no_text_is_more_than_refused(running: Running, text: str) -> None:
    sql = running.collector.sql
    assert sql is not None
    with contextlib.suppress(StoreError):
        sql.run(f"SELECT {text}", {})
    assert running.collector.store.query("SELECT count() FROM otel_traces") == [(1,)]


@given(st.text(max_size=40))
def test_no_line_of_a_tree_that_is_not_known_passes(line: str) -> None:
    allowed = Allowed("headcount", [("plus", "Arithmetic", "", False)])
    with pytest.raises(StatementRefused):
        allowed.check(["SelectWithUnionQuery (children 1)", f" ?{line}"])


def test_functions_that_are_tables_elsewhere_are_not_among_the_allowed(running: Running) -> None:
    names = running.collector.store.query(
        "SELECT name FROM system.table_functions WHERE lower(name) NOT IN ('numbers', 'values', 'sqlstandardvalues', 'generateseries',"
        " 'generate_series', 'format', 'null')"
    )
    functions: Any = running.collector.store.query(
        "SELECT name, categories, alias_to, is_aggregate = 1 FROM system.functions"
    )
    allowed = Allowed("headcount", functions)
    passed = []
    for (name,) in names:
        with contextlib.suppress(StatementRefused):
            allowed.check(["SelectWithUnionQuery", f" Function {name}"])
            passed.append(name)
    assert passed == []


def test_a_semicolon_may_end_a_statement() -> None:
    assert single_statement(" SELECT 1 ; \n") == "SELECT 1"
