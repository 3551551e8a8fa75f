"""`headcount replay --from` against a running collector and over its folder, and what both refuse."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from headcount_collector.evidence.moment import moment_text
from headcount_collector.evidence.record import export_request
from headcount_collector.judge.policy import SECOND
from tests.collector.running import Running, eventually, running_collector
from tests.collector.test_cli import headcount
from tests.collector.test_rejudge import dispatched


@pytest.fixture
def stricter(tmp_path: Path) -> str:
    file = tmp_path / "stricter.toml"
    file.write_text('[policy]\nexpected = "1s"\n')
    return str(file)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def running(data: Path) -> Iterator[Running]:
    with running_collector(data) as found:
        body = export_request([dispatched("r1", time.time_ns() - 5 * SECOND)]).SerializeToString()
        assert found.post("/v1/traces", body, "application/x-protobuf").status == 200
        eventually(lambda: found.collector.verdicts.count({}))
        yield found


def test_a_range_is_judged_by_the_collector_that_holds_it(running: Running, stricter: str) -> None:
    result = headcount("replay", "--from", "1h", "--policy", stricter, "--url", running.url)
    assert result.exit_code == 0, result.output
    for said in ("r1", "newly abnormal", "● at work", "▲ overdue", "0 now, 1 under"):
        assert said in result.output
    now = moment_text(time.time_ns())
    found = json.loads(
        headcount(
            "replay", "--from", "1h", "--to", now, "--policy", stricter, "--url", running.url, "--json"
        ).output
    )
    assert (found["runs"], found["kinds"]) == (1, {"newly_abnormal": 1})


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"from": "yesterday", "policy": {}}, "from: Value error, 'yesterday' is no RFC 3339"),
        ({"from": "2999-01-01T00:00:00Z", "policy": {}}, "the range is empty"),
        ({"from": "2026-01-01T00:00:00Z", "policy": {"idel": "1m"}}, "policy: idel is no policy key"),
        ({"from": "2026-01-01T00:00:00Z", "policy": {}, "limit": 10_001}, "limit: "),
        ({"policy": {}}, "from: Field required"),
    ],
)
def test_the_route_refuses_what_it_cannot_judge(body: object, says: str, running: Running) -> None:
    answer = running.post("/api/v1/rejudge", json.dumps(body).encode())
    assert answer.status == 422
    assert says in answer.json["detail"]


def test_a_folder_that_a_collector_serves_is_refused_with_its_name(
    running: Running, data: Path, stricter: str
) -> None:
    result = headcount("replay", "--from", "1h", "--policy", stricter, "--data", str(data))
    assert result.exit_code == 1
    assert str(data) in result.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "give replay files, or a range of stored runs"),
        (["--from", "1h"], "--from needs --policy FILE"),
        (["--from", "1h", "--check"], "give no files and no --check"),
        (["--from", "soon", "--policy", "POLICY"], "--from soon is no moment"),
        (["--from", "1h", "--to", "2h", "--policy", "POLICY"], "--from 1h is not before --to 2h"),
        (["--from", "1h", "--policy", "POLICY", "--data", "/does/not/exist"], "is no folder of a collector"),
    ],
)
def test_arguments_that_do_not_go_together_are_named(arguments: list[str], says: str, stricter: str) -> None:
    result = headcount("replay", *(stricter if word == "POLICY" else word for word in arguments))
    assert result.exit_code == 1
    assert says in result.stderr
