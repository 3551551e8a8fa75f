"""`headcount watch` against a real collector: the same *Now* as the page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner, Result

from headcount_collector.cli.client import Client
from headcount_collector.cli.watch import look, screen_of, watch
from headcount_collector.cli.words import now_ns
from tests.collector.page_evidence import commit, story
from tests.collector.running import Running, eventually, running_collector

app = typer.Typer()
app.command()(watch)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_collector(tmp_path_factory.mktemp("data"), tick_s=0.2, log_level="error") as found:
        commit(found.collector, story())
        eventually(lambda: found.get("/api/v1/runs?session=s1").json["total"] == 6)
        yield found


def headcount(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "140"})


def test_what_is_wrong_stands_above_what_is_open_and_closed(running: Running) -> None:
    result = headcount("--once", "--url", running.url)
    assert result.exit_code == 0, result.output
    places = [result.output.index(word) for word in ("runs need a look", "reviewer-7", "lead-1", "done-1")]
    assert places == sorted(places)
    assert "judged" in result.output


def test_filters_narrow_it(running: Running) -> None:
    result = headcount("--once", "--agent", "lead", "--url", running.url)
    assert "all quiet, 1 open" in result.output
    assert "reviewer-7" not in result.output


def test_where_nothing_answers_it_says_what_to_start() -> None:
    result = headcount("--once", "--url", "http://127.0.0.1:9")
    assert result.exit_code == 1
    assert "headcount serve" in result.output


def test_a_collector_that_goes_away_leaves_the_last_look_with_the_reason(running: Running) -> None:
    seen = look(Client(running.url), {}, rows=10)
    console = Console(width=120, record=True, file=None, force_terminal=False, quiet=False)
    with console.capture() as captured:
        console.print(screen_of(seen, now_ns(), "no collector answers"))
    assert "no collector answers" in captured.get()
    assert "reviewer-7" in captured.get()


def test_a_low_screen_shows_the_most_urgent_and_counts_the_rest(running: Running) -> None:
    seen = look(Client(running.url), {}, rows=2)
    assert [len(seen[name]["runs"]) for name in ("attention", "open", "closed")] == [2, 1, 1]
    assert seen["attention"]["total"] == 3
