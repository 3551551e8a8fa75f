"""Server-sent events: who looks at a run hears when that run was judged anew, and nothing of others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from urllib.parse import urlencode, urlsplit

import pytest

from headcount_collector.judge.verdict import Receipts, Verdict
from headcount_collector.watch.pulse import Pulse
from headcount_collector.watch.tick import TickReport
from headcount_collector.watch.verdicts import Evaluation
from tests.collector.page_evidence import commit, record
from tests.collector.running import PATIENCE_S, Running, running_collector


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_collector(tmp_path_factory.mktemp("data"), tick_s=0.2, log_level="error") as found:
        yield found


def listening(running: Running, **narrowed: str) -> tuple[HTTPConnection, HTTPResponse]:
    """Open a stream; its first line has come, so that whatever is judged from now on is heard."""
    connection = HTTPConnection(urlsplit(running.url).netloc, timeout=PATIENCE_S)
    connection.request("GET", f"/api/v1/events?{urlencode(narrowed)}")
    answer = connection.getresponse()
    assert answer.getheader("content-type") == "text/event-stream; charset=utf-8"
    assert answer.readline().startswith(b"retry: ")
    return connection, answer


def heard(answer: HTTPResponse, event: str) -> dict[str, list[dict[str, str]]]:
    """Return what the next event of a kind says."""
    while answer.readline().strip() != f"event: {event}".encode():
        pass
    said: dict[str, list[dict[str, str]]] = json.loads(answer.readline().removeprefix(b"data: "))
    return said


def test_a_viewer_of_a_run_hears_of_that_run_only(running: Running) -> None:
    connection, answer = listening(running, session="s1", run="mine")
    try:
        commit(
            running.collector, [record("dispatch", "another", 5, "s1"), record("dispatch", "mine", 5, "s2")]
        )
        assert "at" in heard(answer, "tick")
        commit(running.collector, [record("dispatch", "mine", 5, "s1")])
        assert heard(answer, "changed")["runs"] == [{"session": "s1", "run": "mine"}]
    finally:
        connection.close()


def test_a_viewer_of_everything_hears_of_everything(running: Running) -> None:
    connection, answer = listening(running)
    try:
        commit(running.collector, [record("dispatch", "x", 5, "s3"), record("dispatch", "y", 5, "s4")])
        runs = heard(answer, "changed")["runs"]
        assert {"session": "s3", "run": "x"} in runs
        assert {"session": "s4", "run": "y"} in runs
    finally:
        connection.close()


def test_a_pulse_gives_what_came_after_and_forgets_the_oldest() -> None:
    pulse = Pulse()
    for at in range(300):
        verdict = Verdict("s", f"r{at}", at, "active", "9", at, receipts=Receipts(f"r{at}"))
        evaluation = Evaluation(at, 0, 0, 0, 0, 1, 0, 1, "ok", at)
        pulse.after_tick(TickReport(evaluation, {("s", f"r{at}"): verdict}, (), (), ()))
    assert pulse.number == 300
    assert [beat.number for beat in pulse.since(298)] == [299, 300]
    assert [beat.judged for beat in pulse.since(299)] == [frozenset({("s", "r299")})]
    assert len(pulse.since(0)) == 256
