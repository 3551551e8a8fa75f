"""What every route has in common: problems, foreign pages, health, metrics."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.collector.running import Running, eventually, running_collector


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_collector(tmp_path_factory.mktemp("data")) as found:
        yield found


def test_an_unknown_path_is_a_problem(running: Running) -> None:
    answer = running.get("/nowhere")
    assert answer.status == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json == {
        "type": "about:blank",
        "title": "Not Found",
        "status": 404,
        "detail": "there is nothing at /nowhere; / lists what there is",
        "instance": "/nowhere",
    }


def test_a_wrong_method_is_a_problem_that_names_the_right_one(running: Running) -> None:
    answer = running.request("DELETE", "/api/v1/runs", None, {})
    assert answer.status == 405
    assert answer.json["detail"] == "/api/v1/runs does not take DELETE; it takes GET"
    assert answer.headers["allow"] == "GET"
    answer = running.request("PUT", "/api/v1/silences", None, {})
    assert (answer.status, answer.headers["allow"]) == (405, "GET, POST")


def test_a_body_that_is_no_text_is_a_problem_that_says_so(running: Running) -> None:
    answer = running.post("/api/v1/backups", b"\xff")
    assert answer.status == 400
    assert answer.json["detail"].startswith("the body cannot be read: 'utf-8' codec")


def test_the_root_is_a_page_for_people(running: Running) -> None:
    page = running.get("/").body.decode()
    assert "<title>" in page
    assert "/v1/traces" in page


def test_it_becomes_ready_once_it_judged(running: Running) -> None:
    ready = eventually(lambda: (answer := running.get("/readyz")).status == 200 and answer.json)
    assert ready["health"]["observer"] == "ok"
    assert running.get("/healthz").json == {"status": "ok"}


def test_unready_says_why(monkeypatch: pytest.MonkeyPatch, running: Running) -> None:
    monkeypatch.setattr(running.collector, "unready", lambda: ["the store does not answer: no", "second"])
    answer = running.get("/readyz")
    assert answer.status == 503
    assert answer.json["reasons"] == ["the store does not answer: no", "second"]
    assert answer.json["detail"] == "the store does not answer: no; second"


def test_metrics_are_prometheus_text(running: Running) -> None:
    answer = running.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = answer.body.decode().splitlines()
    sample = re.compile(r'[a-z_]+(\{[a-z_]+="[^"]*"\})? -?[0-9.e+-]+')
    assert all(line.startswith(("# HELP ", "# TYPE ")) or sample.fullmatch(line) for line in lines)
    assert 'headcount_open_runs{status="active"} 0' in lines
    named = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(named) == len(set(named))


@pytest.mark.parametrize(
    "header", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}, {"Origin": "null"}]
)
def test_a_foreign_web_page_is_refused(header: dict[str, str], running: Running) -> None:
    answer = running.get("/api/v1/runs", **header)
    assert answer.status == 403
    assert "is not this machine" in answer.json["detail"]


@pytest.mark.parametrize(
    "header", [{"Host": "localhost:4318"}, {"Host": "[::1]"}, {"Origin": "http://127.0.0.1:8080"}]
)
def test_this_machine_is_served_by_any_of_its_names(header: dict[str, str], running: Running) -> None:
    assert running.get("/api/v1/runs", **header).status == 200
