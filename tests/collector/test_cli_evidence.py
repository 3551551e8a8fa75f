"""The commands that read evidence from files into a running collector, and the one that fetches a stranded result."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from headcount_collector.cli import commands
from headcount_collector.cli.client import Client
from headcount_collector.cli.transcripts import Reader, session_of, sessions_below
from headcount_collector.settings import Settings
from tests.collector.running import Running, eventually, running_collector

from .test_openclaw import done
from .transcripts import lay_out

RUN = "toolu_9106fea11ef1427aa9b2"
ANSWER = "CHILD RESULT: the answer is 42."

app = typer.Typer()
commands(app)


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"HEADCOUNT_{name.upper()}", raising=False)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_collector(tmp_path_factory.mktemp("data"), retention_days=3650) as found:
        yield found


def headcount(running: Running, *arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(app, [*arguments, "--url", running.url], input=given, env={"COLUMNS": "140"})


def test_transcripts_are_read_once_and_the_stranded_answer_recovered(
    running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    project = tmp_path / "projects" / "-home-dev"
    project.mkdir(parents=True)
    lay_out("teammate-mute", project)
    result = headcount(running, "claude-code", "transcripts", str(tmp_path / "projects"))
    assert result.exit_code == 0, result.output
    assert "events" in result.output
    eventually(lambda: running.get(f"/api/v1/runs/{RUN}").status == 200)
    recovered = headcount(running, "recover", RUN)
    assert recovered.exit_code == 0, recovered.output
    assert ANSWER in recovered.output
    document = json.loads(headcount(running, "recover", RUN, "--json").output)
    assert (document["run"], document["result"]) == (RUN, ANSWER)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "elsewhere"))
    assert headcount(running, "recover", RUN).exit_code == 1


def test_what_grows_is_sent_from_where_it_was(running: Running, tmp_path: Path) -> None:
    main = lay_out("background", tmp_path)
    lines = main.read_text().splitlines()
    main.write_text("\n".join(lines[:8]))
    reader = Reader(Client(running.url))
    first = reader.read(main)
    assert reader.read(main) == 0
    main.write_text("\n".join(lines))
    assert 0 < reader.read(main) < first
    assert reader.read(main) == 0


def test_a_changed_file_leads_to_its_session(tmp_path: Path) -> None:
    main = lay_out("plain", tmp_path)
    (agent,) = (tmp_path / main.stem / "subagents").glob("*.jsonl")
    assert session_of(agent) == session_of(agent.with_suffix(".meta.json")) == session_of(main) == main
    assert session_of(tmp_path / "note.txt") is None
    assert list(sessions_below(tmp_path)) == [main]
    assert list(sessions_below(main)) == [main]


def test_a_folder_without_transcripts_is_named(running: Running, tmp_path: Path) -> None:
    result = headcount(running, "claude-code", "transcripts", str(tmp_path))
    assert result.exit_code == 1
    assert "no transcript" in result.output


def test_a_ledger_comes_from_a_file_or_standard_input(running: Running, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.json"
    ledger.write_text(json.dumps({"tasks": [done(7, deliveryStatus="delivered")]}))
    assert headcount(running, "openclaw", str(ledger)).exit_code == 0
    given = json.dumps([done(8, deliveryStatus="delivered")])
    assert headcount(running, "openclaw", "-", given=given).exit_code == 0

    def read() -> bool:
        return all(running.get(f"/api/v1/runs/{run}").status == 200 for run in ("r7", "r8"))

    eventually(read)


@pytest.mark.parametrize("text", ["no json", None])
def test_a_ledger_that_cannot_be_read_is_named(running: Running, tmp_path: Path, text: str | None) -> None:
    ledger = tmp_path / "ledger.json"
    if text is not None:
        ledger.write_text(text)
    result = headcount(running, "openclaw", str(ledger))
    assert result.exit_code == 1
    assert "ledger" in result.output
