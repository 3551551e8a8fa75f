"""Each framework for real, in its own environment, against a scripted model: what its runs come to is what is judged.

Five scenarios for every adapter: a run that completes, two at once of the same name, one that errors, one that hangs
(judged to the second, without waiting for it), one whose result is not forwarded.
"""

from __future__ import annotations

import ast
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from headcount_collector.judge.policy import SECOND, Policy
from headcount_collector.judge.verdict import Verdict
from headcount_collector.store.client import Store
from headcount_collector.store.migrate import migrate
from headcount_collector.watch.tick import Tick
from tests.instrumentation.receiver import ReceivedSpan, Receiver

from .environments import python_of

PROGRAMS = Path(__file__).with_name("programs")
ADAPTER_SOURCES = Path(__file__).parents[2] / "instrumentation" / "headcount" / "adapters"
DATABASES = count(1)
EXPECTED_S = 900


@dataclass(frozen=True, slots=True)
class Adapter:
    """One adapter: the environment it is tested in, and what its framework cannot tell."""

    program: str
    environment: str
    tools: int = 1
    told_error: str = "error"
    told_cancelled: str = "cancelled"


ADAPTERS = [
    Adapter("openai_agents", "openai-agents"),
    Adapter("langchain", "langchain"),
    Adapter("pydantic_ai", "pydantic-ai"),
    Adapter("agent_framework", "agent-framework"),
    Adapter("google_adk", "google-adk"),
    Adapter("crewai", "crewai", told_cancelled="error"),  # a time limit, the one way to stop an agent
]


@dataclass
class Played:
    """What a program said over OTLP, judged by the real store and tick at any moment."""

    spans: list[ReceivedSpan]
    judge: Callable[[int], dict[str, Verdict]]

    @property
    def end_ns(self) -> int:
        return max(span.end_ns for span in self.spans)

    def at_s(self, event: str) -> int:
        return next(span.end_ns for span in self.spans if span.event == event)

    def of(self, run: str) -> list[str]:
        return [str(span.event) for span in self.spans if span.attributes.get("subagent.run.id") == run]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = Store.open(tmp_path_factory.mktemp("store"))
    yield store
    store.close()


@pytest.fixture
def play(engine: Store, tmp_path: Path) -> Iterator[Callable[[Adapter, str], Played]]:
    stores = []

    def played(adapter: Adapter, scenario: str) -> Played:
        python = python_of(adapter.environment)
        if python is None:
            pytest.skip(f"no environment: make adapters ADAPTERS={adapter.environment}")
        kept = {
            key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "HEADCOUNT_"))
        }
        with Receiver() as receiver:
            ended = subprocess.run(
                [str(python), str(PROGRAMS / f"{adapter.program}_program.py"), scenario],
                env={
                    **kept,
                    "HEADCOUNT_ENDPOINT": receiver.endpoint,
                    "HEADCOUNT_SPOOL": "off",
                    "NO_PROXY": "127.0.0.1",
                    "HOME": str(tmp_path),
                    "OTEL_SDK_DISABLED": "false",
                },
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=180,
                check=False,
            )
            assert ended.returncode == 0, ended.stdout + ended.stderr
            spans, bodies = list(receiver.spans), list(receiver.bodies)
        assert spans, f"nothing was said: {ended.stdout}{ended.stderr}"
        store = engine.with_database(f"adapters_{next(DATABASES)}")
        stores.append(store)
        migrate(store, retention_days=20000)
        tick = Tick(store, Policy.from_mapping({}))
        received = max(span.end_ns for span in spans) + 1
        store.commit(bodies, received)

        believed: dict[str, Verdict] = {}

        def judge(moment_ns: int) -> dict[str, Verdict]:
            # A tick judges what changed or is due; the others are as they were.
            for (_, run), verdict in tick.evaluate(moment_ns, received).verdicts.items():
                if verdict.dispatched:
                    believed[run] = verdict
            return dict(believed)

        return Played(spans, judge)

    yield played
    for store in stores:
        store.command(f"DROP DATABASE `{store.database}`")
        store.close()


each = pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.program)


def serious(verdict: Verdict) -> list[Any]:
    return [signal for signal in verdict.signals if signal.severity != "info"]


@each
def test_a_run_that_completes(adapter: Adapter, play: Callable[[Adapter, str], Played]) -> None:
    played = play(adapter, "completes")
    (verdict,) = played.judge(played.end_ns + 3600 * SECOND).values()
    assert (verdict.status, verdict.outcome, verdict.agent) == ("completed", "ok", "researcher")
    assert verdict.tool_calls == adapter.tools
    assert serious(verdict) == []
    events = played.of(verdict.run)
    assert {"dispatch", "start", "first_token", "tool_call", "child_done"} <= set(events)
    assert {"completion_received", "completion_forwarded", "completion_consumed"} <= set(events)
    assert "owner_final" in {span.event for span in played.spans}


@each
def test_two_at_once_of_the_same_name_are_two(
    adapter: Adapter, play: Callable[[Adapter, str], Played]
) -> None:
    played = play(adapter, "parallel")
    verdicts = played.judge(played.end_ns + 3600 * SECOND).values()
    assert [(v.status, v.agent) for v in verdicts] == [("completed", "researcher")] * 2
    assert [v.tool_calls for v in verdicts] == [adapter.tools] * 2


@each
@pytest.mark.parametrize("ending", ["error", "cancelled"])
def test_a_child_that_errors_or_is_cancelled_is_told_as_one(
    adapter: Adapter, play: Callable[[Adapter, str], Played], ending: str
) -> None:
    played = play(adapter, ending)
    (verdict,) = played.judge(played.end_ns + 3600 * SECOND).values()
    told = {"error": adapter.told_error, "cancelled": adapter.told_cancelled}[ending]
    assert (verdict.status, verdict.outcome) == ("completed", told)
    assert serious(verdict) == []


@each
def test_a_child_that_hangs_is_found_at_its_second(
    adapter: Adapter, play: Callable[[Adapter, str], Played]
) -> None:
    played = play(adapter, "hang")
    dispatched = played.at_s("dispatch")
    moments = {after: dispatched + after * SECOND for after in (EXPECTED_S - 1, EXPECTED_S)}
    (before,) = played.judge(moments[EXPECTED_S - 1]).values()
    (after,) = played.judge(moments[EXPECTED_S]).values()
    assert (before.status, after.status) == ("active", "suspect_delivery_failure")
    assert "zero_progress" in {signal.name for signal in before.signals} or before.tool_calls


@each
def test_a_result_that_is_not_forwarded_is_found(
    adapter: Adapter, play: Callable[[Adapter, str], Played]
) -> None:
    played = play(adapter, "not_forwarded")

    def launched(moment_ns: int) -> Verdict:
        (found,) = [v for v in played.judge(moment_ns).values() if v.mode == "background"]
        return found

    ended = launched(played.end_ns).ended_at
    assert ended is not None
    assert launched(ended + 29 * SECOND).status == "active"
    assert launched(ended + 31 * SECOND).status == "done_but_not_forwarded"


@each
def test_a_child_of_a_child_is_owed_to_the_child(
    adapter: Adapter, play: Callable[[Adapter, str], Played]
) -> None:
    played = play(adapter, "nested")
    verdicts = {v.agent: v for v in played.judge(played.end_ns + 3600 * SECOND).values()}
    assert {agent: (v.status, v.outcome) for agent, v in verdicts.items()} == {
        "researcher": ("completed", "ok"),
        "assistant": ("completed", "ok"),
    }
    child, grandchild = verdicts["researcher"], verdicts["assistant"]
    assert (child.owner, grandchild.owner, grandchild.session) == ("", child.run, child.session)
    assert serious(child) == serious(grandchild) == []


@pytest.mark.parametrize(
    "adapter", [Adapter("openai_agents", "openai-agents"), Adapter("google_adk", "google-adk")]
)
def test_a_handoff_is_given_away_and_nobody_waits_for_it(
    adapter: Adapter, play: Callable[[Adapter, str], Played]
) -> None:
    played = play(adapter, "handoff")
    (verdict,) = played.judge(played.end_ns + 3600 * SECOND).values()
    assert (verdict.status, verdict.outcome) == ("completed", "dismissed")
    assert "dismiss" in played.of(verdict.run)


@each
def test_the_first_token_of_a_stream_is_told_at_once(
    adapter: Adapter, play: Callable[[Adapter, str], Played]
) -> None:
    """The models pause for half a second after the first part of their stream."""
    played = play(adapter, "streams")
    ends = [
        span.end_ns
        for span in played.spans
        if span.event == "model_request" and span.attributes["subagent.phase"] == "ended"
    ]
    firsts = [span.end_ns for span in played.spans if span.event == "first_token"]
    assert len(firsts) == len(ends) == 2
    assert all(end - first > 0.4 * SECOND for first, end in zip(sorted(firsts), sorted(ends), strict=True))


def test_an_edge_of_a_workflow_delivers(play: Callable[[Adapter, str], Played]) -> None:
    played = play(Adapter("agent_framework", "agent-framework"), "workflow")
    verdicts = played.judge(played.end_ns + 3600 * SECOND).values()
    assert {(v.agent, v.status, v.outcome) for v in verdicts} == {
        ("researcher", "completed", "ok"),
        ("writer", "completed", "ok"),
    }
    researcher = next(v.run for v in verdicts if v.agent == "researcher")
    assert played.of(researcher)[-3:] == [
        "completion_received",
        "completion_forwarded",
        "completion_consumed",
    ]


def test_a_result_that_no_edge_of_a_workflow_takes_is_found(play: Callable[[Adapter, str], Played]) -> None:
    played = play(Adapter("agent_framework", "agent-framework"), "edge_dropped")
    (before,) = played.judge(played.end_ns).values()
    (after,) = played.judge(played.end_ns + 31 * SECOND).values()
    # Nobody tries again: the workflow is over.
    assert (before.status, after.status) == ("active", "blocked")
    assert after.failure_class == "done_but_not_forwarded"


def test_spans_that_begin_in_a_child_of_crewai_carry_its_run(play: Callable[[Adapter, str], Played]) -> None:
    play(Adapter("crewai", "crewai"), "stamps")


def test_a_sub_agent_of_deepagents_goes_by_its_type(play: Callable[[Adapter, str], Played]) -> None:
    played = play(Adapter("langchain", "langchain"), "deepagents")
    (verdict,) = played.judge(played.end_ns + 3600 * SECOND).values()
    assert (verdict.status, verdict.agent, verdict.tool_calls) == ("completed", "researcher", 1)


@each
def test_the_lines_of_an_adapters_docstring_run_as_they_stand(adapter: Adapter, tmp_path: Path) -> None:
    python = python_of(adapter.environment)
    if python is None:
        pytest.skip(f"no environment: make adapters ADAPTERS={adapter.environment}")
    document = ast.get_docstring(ast.parse((ADAPTER_SOURCES / f"{adapter.program}.py").read_text())) or ""
    lines = [line[4:] for line in document.splitlines() if line.startswith("    ")]
    assert lines[-1] == f"{adapter.program}.instrument()"
    checked = "assert not headcount.stats().faults, headcount.stats().faults"
    ended = subprocess.run(
        [str(python), "-c", "\n".join([*lines, checked])],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "HEADCOUNT_EXIT_TIMEOUT": "0"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_a_program_without_a_line_of_ours_is_watched(tmp_path: Path) -> None:
    python = python_of("pydantic-ai")
    if python is None:
        pytest.skip("no environment: make adapters ADAPTERS=pydantic-ai")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "HEADCOUNT_"))}
    with Receiver() as receiver:
        ended = subprocess.run(
            [
                str(python.with_name("opentelemetry-instrument")),
                str(python),
                str(PROGRAMS / "no_line_program.py"),
            ],
            env={
                **kept,
                "HEADCOUNT_ENDPOINT": receiver.endpoint,
                "HEADCOUNT_SPOOL": "off",
                "HOME": str(tmp_path),
            },
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        events = [span.event for span in receiver.wait_for(6)]
    assert {"dispatch", "start", "first_token", "child_done", "completion_forwarded"} <= set(events)
