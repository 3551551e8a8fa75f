"""The commands against a real collector: what a person reads, what a program gets, what an error says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from headcount_collector.cli import commands
from headcount_collector.settings import Settings
from tests.collector.running import Running, eventually, running_collector

CASES = Path(__file__).parents[1] / "cases"
HOOKS = Path(__file__).parents[1] / "captures/claude-code/teammate-mute/hooks.jsonl"
RUN = "toolu_9106fea11ef1427aa9b2"
POLICY = {"delivery_grace": "0s", "skew": "1s"}

app = typer.Typer()
commands(app)


def headcount(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "140"})


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"HEADCOUNT_{name.upper()}", raising=False)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_collector(tmp_path_factory.mktemp("data"), policy=POLICY) as found:
        # All but the last, which ends the session: the owner is still there and waits.
        for line in HOOKS.read_text().splitlines()[:-1]:
            found.post("/hooks/claude-code", json.dumps(json.loads(line)["body"]).encode())
        eventually(lambda: found.collector.verdicts.count({"status": "done_but_not_forwarded"}))
        eventually(lambda: found.collector.verdicts.count() == 2)
        yield found


def test_runs_is_a_table_that_says_what_is_wrong(running: Running) -> None:
    result = headcount("runs", "--url", running.url)
    assert result.exit_code == 0, result.output
    assert "■ done, not delivered" in result.output
    assert RUN in result.output
    assert "the owner does not have it" in result.output
    assert "2 runs, 1 with something wrong" in result.output


def test_runs_as_json_is_the_document_of_the_api(running: Running) -> None:
    page = json.loads(headcount("runs", "--url", running.url, "--json").output)
    api = running.get("/api/v1/runs?limit=50").json
    assert [run["run"] for run in page["runs"]] == [run["run"] for run in api["runs"]]
    assert page.keys() == api.keys()


def test_the_url_may_come_from_the_environment(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADCOUNT_URL", running.url)
    assert headcount("runs").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--abnormal"], 1),
        (["--normal"], 1),
        (["--status", "done_but_not_forwarded", "--mode", "teammate"], 1),
        (["--class", "done_but_not_forwarded"], 1),
        (["--owner", "", "--open"], 1),
        (["--closed"], 1),
        (["--agent", "nobody"], 0),
        (["--limit", "1", "--offset", "1"], 1),
    ],
)
def test_filters_narrow(arguments: list[str], found: int, running: Running) -> None:
    page = json.loads(headcount("runs", "--url", running.url, "--json", *arguments).output)
    assert len(page["runs"]) == found


def test_nothing_found_says_so(running: Running) -> None:
    assert "no run matches these filters" in headcount("runs", "--url", running.url, "--agent", "x").output
    assert (
        "nothing beyond 9; there are 2 runs"
        in headcount("runs", "--url", running.url, "--offset", "9").output
    )


def test_a_wrong_filter_is_an_error_of_one_line(running: Running) -> None:
    result = headcount("runs", "--url", running.url, "--status", "unwell")
    assert result.exit_code == 1
    assert result.stderr.startswith("headcount: status: Input should be 'active'")


@pytest.mark.parametrize("name", [RUN, "finder@session-edc7006a"])
def test_run_tells_what_happened_and_what_is_missing(name: str, running: Running) -> None:
    result = headcount("run", name, "--url", running.url)
    assert result.exit_code == 0, result.output
    for said in (
        "■ done, not delivered",
        "rule 7: the child ended its turn after its work, and nothing came back",
        "dispatched to general-purpose (foreground) by the root owner",
        "launch registered, now teammate",
        "ended its turn, without content",
        "missing: a completion forwarded to the owner",
        "what was believed",
    ):
        assert said in result.output
    assert "owed:" not in result.output


def test_run_as_json_is_the_document_of_the_api(running: Running) -> None:
    document = json.loads(headcount("run", RUN, "--url", running.url, "--json").output)
    assert document["run"] == RUN
    assert document["timeline"][0]["event"] == "dispatch"
    assert document["transitions"][-1]["to"] == "done_but_not_forwarded"


def test_an_unknown_run_is_an_error_of_one_line(running: Running) -> None:
    result = headcount("run", "nobody", "--url", running.url)
    assert result.exit_code == 1
    assert "no run goes by 'nobody'" in result.stderr


def test_what_to_start_is_said_where_nothing_answers() -> None:
    result = headcount("runs", "--url", "http://127.0.0.1:9")
    assert result.exit_code == 1
    assert "no collector answers at http://127.0.0.1:9" in result.stderr
    assert "start one with `headcount serve`" in result.stderr


def test_a_bad_setting_stops_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADCOUNT_TICK_S", "often")
    result = headcount("runs")
    assert result.exit_code == 1
    assert "HEADCOUNT_TICK_S: " in result.stderr
