"""`headcount claude-code transcripts`: sessions read from their files into a running collector, once or as they grow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from watchfiles import watch

from headcount_collector.cli.client import Client, ClientError
from headcount_collector.cli.console import err, out, told
from headcount_collector.cli.options import Config, Url
from headcount_collector.errors import HeadcountError
from headcount_collector.evidence.claude_code_transcript import records_from_transcript
from headcount_collector.evidence.record import export_request, span_of
from headcount_collector.settings import load_settings

_TOGETHER = 2_000
_AGAIN_MS = 2_000
"""So often what could not be sent is tried again."""


class NoTranscript(HeadcountError):
    """There is no transcript at the path that was named."""


class Reader:
    """Reads sessions again and again, and sends what it has not sent yet."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._sent: dict[Path, set[bytes]] = {}

    def read(self, path: Path) -> int:
        """Send what is new in a session's files; return how many events. Raises ClientError."""
        sent = self._sent.setdefault(path, set())
        fresh = [record for record in records_from_transcript(path) if span_of(record).span_id not in sent]
        for start in range(0, len(fresh), _TOGETHER):
            some = fresh[start : start + _TOGETHER]
            self._client.export(export_request(some).SerializeToString())
            sent.update(span_of(record).span_id for record in some)
        return len(fresh)


@told
def transcripts(
    path: Annotated[
        Path, typer.Argument(help="A session's .jsonl, or a folder of them (~/.claude/projects).")
    ],
    follow: Annotated[
        bool, typer.Option("--watch", help="Go on reading as they grow, until Ctrl-C.")
    ] = False,
    url: Url = None,
    config: Config = None,
) -> None:
    """Read sessions from Claude Code's transcripts: for where no hooks were installed, or some were lost."""
    reader = Reader(Client.of(load_settings(config, url=url)))
    found = list(sessions_below(path))
    if not found and not follow:
        raise NoTranscript(
            f"{path} is no transcript and has none below it; name a <session>.jsonl or a folder"
        )
    if follow:
        return _follow(reader, path)
    for session in found:
        out().print(f"{session.name}: {reader.read(session)} events", soft_wrap=True)
    return None


def _follow(reader: Reader, path: Path) -> None:
    """Read what changes, until interrupted; what the collector does not take is tried again.

    A file that is made in a new folder before the folder itself is watched is told of by nobody: so sessions are looked
    for, too, whenever nothing was told for a while.
    """
    folder = path if path.is_dir() else path.parent
    owing = set(sessions_below(path))
    known = set(owing)
    _read(reader, owing)
    # Once more: what was written between the first reading and the beginning of the watch is no change.
    owing |= set(sessions_below(path))
    out().print(f"watching {path}", soft_wrap=True)
    for changes in watch(folder, raise_interrupt=False, yield_on_timeout=True, rust_timeout=_AGAIN_MS):
        changed = {session for _, name in changes for session in _sessions_of(Path(name))}
        owing |= changed if path.is_dir() else changed & {path.absolute()}
        if not changes:
            owing |= set(sessions_below(path)) - known
        known |= owing
        _read(reader, owing)


def _read(reader: Reader, owing: set[Path]) -> None:
    """Read sessions and take out of the set those that went."""
    for session in sorted(owing):
        try:
            number = reader.read(session)
        except ClientError as error:
            err().print(f"{session.name}: {error}", soft_wrap=True)
            continue
        owing.discard(session)
        if number:
            out().print(f"{session.name}: {number} events", soft_wrap=True)


def sessions_below(path: Path) -> Iterator[Path]:
    """Yield the sessions' own files at or below a path."""
    if path.is_file():
        yield path
    else:
        yield from sorted(file for file in path.rglob("*.jsonl") if session_of(file) == file)


def _sessions_of(changed: Path) -> Iterator[Path]:
    """Yield the sessions that a change is about: all in a new folder, whose first files are not told one by one."""
    if changed.is_dir():
        yield from sessions_below(changed)
    elif session := session_of(changed):
        yield session


def session_of(changed: Path) -> Path | None:
    """Return the session's file that a changed file belongs to; None where it belongs to none."""
    folders = [*changed.parents]
    for place, folder in enumerate(folders[:-1]):
        if folder.name == "subagents":
            return folders[place + 1].with_suffix(".jsonl")
    return changed if changed.suffix == ".jsonl" and changed.is_file() else None
