"""`headcount demo`: a throw-away collector and an agent process that lives through known incidents, shown as they turn."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.rule import Rule
from rich.text import Text

from headcount_collector.cli.client import Client
from headcount_collector.cli.console import out, told
from headcount_collector.cli.runs import RunsTable
from headcount_collector.cli.serve import need_engine
from headcount_collector.cli.story import STORY, Seen
from headcount_collector.cli.words import now_ns
from headcount_collector.errors import HeadcountError

POLICY = """\
tick_s = 0.25
log_level = "warning"
[policy]
expected = "6s"
delivery_grace = "2s"
blocked_after = "20s"
start_within = "3s"
zero_progress = "4s"
first_token = "3s"
idle = "5s"
liveness = "3s"
skew = "1s"
kill_backstop = "2s"
consume = "5s"
"""
"""Times that a quarter of an hour has in life are seconds here."""

_LONGEST_S = 90.0
_POLL_S = 0.4
_PICTURE_WIDTH = 130
_ROWS = 30
"""Rows of the screen that are not for the log."""


class DemoError(HeadcountError):
    """The demo could not be played, or its incidents were not told apart."""


@told
def demo(
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the last screen as an SVG picture.")
    ] = None,
) -> None:
    """Play known incidents against a throw-away collector, and show how they are told apart (half a minute)."""
    need_engine()
    console = out()
    with tempfile.TemporaryDirectory(prefix="headcount-demo-") as folder, _collector(Path(folder)) as url:
        console.print(
            Text(f"a throw-away collector serves on {url}; an agent process lives through five incidents:\n")
        )
        for run, story in STORY.items():
            console.print(Text.assemble((f"  {run:<16}", "bold"), (story, "dim")), soft_wrap=True)
        console.print()
        with _agents(url) as agents:
            seen, screen = _watch(console, Client(url), agents)
    if picture is not None:
        _draw(screen, picture)
    missed = seen.missed()
    if missed:
        raise DemoError("the incidents were not told apart: " + "; ".join(missed))
    console.print(Text("every incident was told apart; next: headcount serve", style="bold green"))


def _draw(screen: RenderableType, picture: Path) -> None:
    recorder = Console(record=True, width=_PICTURE_WIDTH, file=io.StringIO(), force_terminal=True)
    recorder.print(screen)
    svg = recorder.export_svg(title="headcount demo", unique_id="headcount-demo")
    try:
        # Without the web fonts that rich names: a picture must not call anybody.
        picture.write_text(re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL), encoding="utf-8")
    except OSError as error:
        raise DemoError(f"--picture {picture}: {error.strerror or error}") from None


def _watch(console: Console, client: Client, agents: subprocess.Popen[bytes]) -> tuple[Seen, RenderableType]:
    """Show the runs until the agents are done and the last verdict is as it must be; return the last screen too."""
    seen = Seen(now_ns())
    ends = time.monotonic() + _LONGEST_S
    live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
    with live or contextlib.nullcontext():
        while True:
            done = agents.poll() is not None
            documents = client.runs({}, limit=50)["runs"]
            now = now_ns()
            lines = [line for document in documents for line in seen.add(document, now)]
            if live is not None:
                live.update(_screen(documents, seen, now, lines=max(3, console.height - _ROWS)), refresh=True)
            else:
                for line in lines:
                    console.print(line, soft_wrap=True)
            if (done and not seen.missed()) or time.monotonic() > ends:
                break
            if done and agents.returncode:
                raise DemoError(f"the agent process ended with {agents.returncode}")
            time.sleep(_POLL_S)
    screen = _screen(documents, seen, now)
    console.print(screen)
    return seen, screen


def _screen(documents: list[dict[str, Any]], seen: Seen, now: int, *, lines: int = 12) -> RenderableType:
    order = {run: place for place, run in enumerate(STORY)}
    found = sorted(documents, key=lambda document: order.get(document["run"], len(order)))
    return Group(
        Rule("what turned", align="left", style="dim"),
        *seen.log[-lines:],
        Text(),
        Rule("runs", align="left", style="dim"),
        RunsTable(found, now),
        Text(),
    )


@contextlib.contextmanager
def _collector(folder: Path) -> Iterator[str]:
    """Run a real collector in a process of its own; yields its URL."""
    config = folder / "headcount.toml"
    config.write_text(POLICY, encoding="utf-8")
    arguments = ["serve", "--http", "127.0.0.1:0", "--data", str(folder / "data"), "--config", str(config)]
    with _process("headcount.cli", *arguments, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if found := re.search(rb"http://\S+:\d+", line):
                yield found[0].decode()
                return
        raise DemoError(f"the collector did not start (exit code {process.wait()})")


@contextlib.contextmanager
def _agents(url: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run the agent process that lives through the incidents."""
    with _process("headcount.incidents", HEADCOUNT_ENDPOINT=url, HEADCOUNT_SPOOL="off") as process:
        yield process


@contextlib.contextmanager
def _process(
    module: str, *arguments: str, stdout: int | None = None, **variables: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a module of ours with nothing set but what is given; it ends at the latest with the context."""
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("HEADCOUNT_", "OTEL_"))
    }
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        env=environment | variables,
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
