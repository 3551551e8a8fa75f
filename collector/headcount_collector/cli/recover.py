"""`headcount recover`: prints the result that was reached and not delivered, from where it lies."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

import typer

from headcount_collector.cli.client import Client
from headcount_collector.cli.console import err, print_json, told
from headcount_collector.cli.options import Config, Json, Url
from headcount_collector.errors import HeadcountError
from headcount_collector.evidence.claude_code_transcript import final_answer
from headcount_collector.settings import load_settings


class NothingToRecover(HeadcountError):
    """No result of the run was found where one could lie."""


@told
def recover(
    name: Annotated[str, typer.Argument(metavar="RUN", help="The run's id, or any other name of it.")],
    session: Annotated[
        str | None, typer.Option(help="Its session, where the name is used in several.")
    ] = None,
    as_json: Json = False,
    url: Url = None,
    config: Config = None,
) -> None:
    """Print a run's final answer from where it lies: a located result, or the child's transcript."""
    document = Client.of(load_settings(config, url=url)).run(name, session)
    found = stranded(document)
    if as_json:
        print_json({"run": document["run"], "location": str(found[0]), "result": found[1]})
    else:
        err().print(f"{document['run']}: {found[0]}", soft_wrap=True)
        sys.stdout.write(found[1] if found[1].endswith("\n") else found[1] + "\n")


def stranded(document: dict[str, Any]) -> tuple[Path, str]:
    """Return where a run's result lies and the result. Raises NothingToRecover, naming the places."""
    tried: list[Path] = []
    for path in _places(document):
        tried.append(path)
        text = _result_in(path)
        if text:
            return path, text
    location = document.get("result_location")
    if location and not str(location).startswith("file:"):
        raise NothingToRecover(f"the result of {document['run']} lies at {location}; fetch it there")
    said = ", ".join(map(str, tried)) or "no place is known"
    raise NothingToRecover(
        f"no result of {document['run']} was found ({said}); is this the machine it was worked on?"
    )


def _places(document: dict[str, Any]) -> Iterator[Path]:
    """Yield the child's transcripts first: what they hold is the answer itself; then the located result."""
    location = _file(document.get("result_location"))
    if location is not None and location.suffix == ".jsonl":
        yield location
    yield from _transcripts(document)
    if location is not None and location.suffix != ".jsonl":
        yield location


def _file(location: object) -> Path | None:
    parts = urlsplit(str(location or ""))
    return Path(unquote(parts.path)) if parts.scheme == "file" and parts.netloc in ("", "localhost") else None


def _transcripts(document: dict[str, Any]) -> Iterator[Path]:
    """Yield the files that Claude Code keeps of the agents that are names of this run."""
    root = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude") / "projects"
    session = str(document.get("session") or "")
    names = {*document.get("child_sessions", ()), *document.get("names", ())}
    if not session or "/" in session:
        return
    for folder in root.glob("*"):
        for name in sorted(names):
            path = folder / session / "subagents" / f"agent-{name}.jsonl"
            if "/" not in name and path.is_file():
                yield path


def _result_in(path: Path) -> str | None:
    if path.suffix == ".jsonl":
        return final_answer(path)
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
