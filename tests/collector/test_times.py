"""Sums of time accounts, over the API and as `headcount times`, and the account of one run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from headcount_collector.judge.accounts import Account
from headcount_collector.judge.policy import SECOND
from headcount_collector.judge.verdict import Receipts, Verdict
from tests.collector.running import Running, running_collector
from tests.collector.test_cli import headcount

T0 = 1_796_000_000 * SECOND
ACCOUNT = Account(100 * SECOND, 40 * SECOND, {"approval": 20 * SECOND}, 30 * SECOND, 10 * SECOND)
RUN = Verdict(
    "s1",
    "r1",
    at=T0 + 100 * SECOND,
    status="completed",
    rule="2",
    since=T0,
    agent="reviewer",
    model="m-1",
    service="here",
    names=("r1",),
    receipts=Receipts("r1", dispatch_at=T0),
    delivered_at=T0 + 100 * SECOND,
    account=ACCOUNT,
)
VERDICTS = [
    RUN,
    replace(RUN, run="r2", names=("r2",), model="m-2", status="active", delivered_at=None),
    replace(RUN, run="r3", names=("r3",), agent="finder", owner="lead", session="s2"),
    replace(RUN, run="stray", names=("stray",), receipts=Receipts("stray"), account=Account()),
]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    # As in test_api_runs: these verdicts rest on no evidence.
    with running_collector(tmp_path_factory.mktemp("data"), tick_s=60) as found:
        found.collector.verdicts.write(VERDICTS, [], version=1)
        yield found


@pytest.mark.parametrize(
    ("by", "runs"),
    [
        ("agent", {"reviewer": 2, "finder": 1}),
        ("session", {"s1": 2, "s2": 1}),
        ("model", {"m-1": 2, "m-2": 1}),
        ("owner", {"": 2, "lead": 1}),
        ("service", {"here": 3}),
    ],
)
def test_times_are_summed_by_what_is_asked_and_only_of_dispatched_runs(
    by: str, runs: dict[str, int], running: Running
) -> None:
    found = running.get(f"/api/v1/accounts?by={by}").json["accounts"]
    assert {account[by]: account["runs"] for account in found} == runs
    for account in found:
        parts = ("working_s", "waiting_s", "idle_s", "delivery_s")
        assert sum(account[part] for part in parts) == account["total_s"] == 100 * account["runs"]
        assert account["net_s"] == 70 * account["runs"]


def test_the_filters_of_runs_narrow_the_sums(running: Running) -> None:
    found = running.get("/api/v1/accounts?open=false&session=s1").json["accounts"]
    assert [(account["agent"], account["runs"]) for account in found] == [("reviewer", 1)]


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("by=colour", "by: Input should be 'session'"),
        ("agnet=x", "no such filter: agnet"),
        ("order=x", "order"),
    ],
)
def test_a_wrong_question_is_a_problem(query: str, says: str, running: Running) -> None:
    answer = running.get(f"/api/v1/accounts?{query}")
    assert answer.status == 422
    assert says in answer.json["detail"]


def test_times_is_a_table_with_what_remains_without_idling(running: Running) -> None:
    result = headcount("times", "--url", running.url)
    assert result.exit_code == 0, result.output
    lines = [" ".join(line.split()) for line in result.output.splitlines()]
    assert lines[1:] == [
        "reviewer 2 3m 20s 1m 20s 40s 1m 20s 2m 20s",
        "finder 1 1m 40s 40s 20s 30s 10s 1m 10s",
        "all of these 3 5m 2m 1m 1m 30s 30s 3m 30s",
        "1 open run counted until last judged, at 2026-11-30 00:55:00 or later",
    ]


def test_times_takes_filters_and_gives_the_document_of_the_api(running: Running) -> None:
    result = headcount("times", "--url", running.url, "--by", "owner", "--owner", "lead", "--json")
    assert json.loads(result.output) == running.get("/api/v1/accounts?by=owner&owner=lead&limit=50").json
    assert "no dispatched run matches" in headcount("times", "--url", running.url, "--agent", "x").output


def test_run_shows_where_its_time_went(running: Running) -> None:
    printed = headcount("run", "r1", "--url", running.url).output
    assert "1m 40s: working 40s, waiting (approval) 20s, idle 30s, on its way back 10s" in printed
