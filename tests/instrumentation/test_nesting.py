"""Runs read out of nested operations: who is owner, what returns, what is launched, handed off, cancelled, forgotten."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from importlib.metadata import entry_points

import pytest
from opentelemetry import context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import StatusCode

import headcount
from headcount import guard
from headcount.adapters import genai_spans, instrumentor, nesting
from headcount.adapters.nesting import Nesting
from headcount.testing import Recorder

from .conftest import Host


@pytest.fixture(autouse=True)
def _own_context() -> Iterator[None]:
    """Some agents here never end: what they stand in must not reach the next test."""
    token = context.attach(context.Context())
    yield
    context.detach(token)


@pytest.fixture
def ops(_own_context: None) -> Nesting:
    made = Nesting()
    made.agent_began("lead", None, "lead", session="s1")
    return made


def called(ops: Nesting, tool: str, agent: str, parent: str = "lead", name: str = "researcher") -> None:
    ops.tool_began(tool, parent, "research")
    ops.agent_began(agent, tool, name)


def test_the_outermost_agent_is_no_run_and_its_end_is_a_final(recorder: Recorder, ops: Nesting) -> None:
    ops.agent_ended("lead")
    assert recorder.events == []
    ops.agent_began("lead", None, "lead", session="s1")
    called(ops, "t", "a")
    ops.agent_ended("a", result="it")
    ops.tool_ended("t", result="it")
    ops.agent_ended("lead")
    assert recorder.names() == [
        "dispatch",
        "start",
        "child_done",
        "completion_received",
        "completion_forwarded",
        "completion_consumed",
        "owner_final",
    ]
    assert {event.session for event in recorder.events} == {"s1"}


def test_a_nested_child_belongs_to_its_caller(recorder: Recorder, ops: Nesting) -> None:
    called(ops, "t1", "a")
    called(ops, "t2", "b", parent="a", name="helper")
    outer, inner = recorder.events_of("dispatch")
    assert inner.attributes["subagent.parent.run.id"] == outer.run
    assert inner.attributes["subagent.owner.id"] == outer.run
    assert [event.run for event in recorder.events_of("tool_call")] == [outer.run]
    for end in ("b", "a"):
        ops.agent_ended(end)
    ops.tool_ended("t2")
    ops.tool_ended("t1")
    assert recorder.undelivered() == []


def test_an_agent_that_is_called_directly_returns_with_its_end(recorder: Recorder, ops: Nesting) -> None:
    ops.agent_began("a", "lead", "researcher")
    ops.agent_ended("a", result="it")
    assert recorder.undelivered() == []
    (received,) = recorder.events_of("completion_received")
    assert received.attributes["subagent.result.size"] == 2


def test_a_tool_that_ends_first_has_launched_its_agent(recorder: Recorder, ops: Nesting) -> None:
    called(ops, "t", "a")
    ops.tool_ended("t", result="started")
    ops.agent_ended("a", result="it")
    (launch,) = recorder.events_of("launch")
    assert launch.attributes["subagent.mode"] == "background"
    assert recorder.undelivered() == [launch.run]


def test_a_child_that_failed_is_told_as_failed_whatever_the_tool_made_of_it(
    recorder: Recorder, ops: Nesting
) -> None:
    called(ops, "t", "a")
    ops.agent_ended("a", error=ValueError("broken"))
    ops.tool_ended("t", result="it did not work")
    (received,) = recorder.events_of("completion_received")
    assert received.attributes["subagent.outcome"] == "error"
    assert recorder.events_of("child_done")[0].attributes["error.type"] == "ValueError"


def test_a_cancellation_that_the_framework_does_not_tell_is_seen_where_it_passes(
    recorder: Recorder, ops: Nesting
) -> None:
    called(ops, "t", "a")
    ops.model_began("m", "a")

    def work() -> None:
        try:
            raise asyncio.CancelledError
        finally:
            ops.model_ended("m")
            ops.agent_ended("a")

    with pytest.raises(asyncio.CancelledError):
        work()
    ops.tool_ended("t", result="it took too long")
    assert recorder.events_of("first_token") == []
    assert recorder.events_of("child_done")[0].attributes["subagent.outcome"] == "cancelled"
    assert recorder.events_of("completion_received")[0].attributes["subagent.outcome"] == "cancelled"


def test_who_works_while_a_cancellation_of_another_is_handled_is_not_cancelled(
    recorder: Recorder, ops: Nesting
) -> None:
    try:
        raise asyncio.CancelledError
    except asyncio.CancelledError:
        called(ops, "t", "a")
        ops.agent_ended("a", result="tidied up")
        ops.tool_ended("t")
    assert recorder.events_of("child_done")[0].attributes["subagent.outcome"] == "ok"


def test_a_cancelled_child_is_told_as_cancelled(recorder: Recorder, ops: Nesting) -> None:
    called(ops, "t", "a")
    ops.agent_ended("a", error=asyncio.CancelledError())
    ops.tool_ended("t", error=asyncio.CancelledError())
    assert recorder.events_of("child_done")[0].attributes["subagent.outcome"] == "cancelled"
    assert recorder.events_of("completion_received")[0].attributes["subagent.outcome"] == "cancelled"


def test_a_handoff_gives_the_obligation_away_and_the_other_returns(recorder: Recorder, ops: Nesting) -> None:
    called(ops, "t", "a")
    ops.handed_off("a", "writer")
    ops.agent_ended("a")
    ops.agent_began("b", "t", "writer")
    ops.agent_ended("b", result="it")
    ops.tool_ended("t", result="it")
    (dismissed,) = recorder.events_of("dismiss")
    assert dismissed.attributes["subagent.handed_to"] == "writer"
    assert recorder.undelivered() == []
    (forwarded,) = recorder.events_of("completion_forwarded")
    assert forwarded.run != dismissed.run


def test_what_was_delivered_is_consumed_by_the_next_request(recorder: Recorder, ops: Nesting) -> None:
    called(ops, "t", "a")
    ops.agent_ended("a")
    ops.tool_ended("t")
    assert recorder.events_of("completion_consumed") == []
    ops.model_began("m", "lead")
    assert len(recorder.events_of("completion_consumed")) == 1


def test_the_first_token_is_told_once_and_output_adds(recorder: Recorder, ops: Nesting) -> None:
    called(ops, "t", "a")
    ops.model_began("m", "a", "large", stream=True)
    ops.first_token("m")
    ops.first_token("m")
    ops.model_ended("m", tokens=7)
    assert len(recorder.events_of("first_token")) == 1
    assert recorder.events_of("output")[0].attributes["subagent.output_tokens"] == 7


def test_steps_in_between_hide_nothing_and_strangers_raise_nothing(recorder: Recorder, ops: Nesting) -> None:
    ops.step_began("turn", "lead")
    called(ops, "t", "a", parent="turn")
    ops.agent_ended("unknown")
    ops.tool_ended("unknown")
    ops.model_ended("unknown")
    ops.handed_off("unknown", "x")
    ops.agent_ended("a")
    ops.tool_ended("t")
    assert recorder.undelivered() == []
    assert not guard.faults


def test_what_never_ends_is_not_kept_for_ever(
    recorder: Recorder, ops: Nesting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nesting, "MOST_OPEN", 5)
    for number in range(50):
        ops.step_began(str(number), None)
    assert sum(ops.knows(str(number)) for number in range(50)) == 5


def test_dispatches_inside_a_child_are_its_own(recorder: Recorder, ops: Nesting) -> None:
    called(ops, "t", "a")
    headcount.dispatch("by hand")
    by_adapter, by_hand = recorder.events_of("dispatch")
    assert by_hand.attributes["subagent.parent.run.id"] == by_adapter.run
    ops.agent_ended("a")
    ops.tool_ended("t")


OPERATIONS = {"agent": "invoke_agent", "tool": "execute_tool", "llm": "chat"}
Said = tuple[str, dict[str, str]]


def in_the_conventions(kind: str, name: str) -> Said:
    return f"{OPERATIONS[kind]} {name}", {"gen_ai.operation.name": OPERATIONS[kind]}


def by_name_alone(kind: str, name: str) -> Said:
    return f"{OPERATIONS[kind]} {name}", {}


def in_openinference(kind: str, name: str) -> Said:
    return name, {"openinference.span.kind": kind.upper(), f"{kind}.name": name}


def in_openllmetry(kind: str, name: str) -> Said:
    return name, {"traceloop.span.kind": kind, "traceloop.entity.name": name}


@pytest.mark.parametrize("say", [in_the_conventions, by_name_alone, in_openinference, in_openllmetry])
def test_spans_of_three_conventions_are_runs(recorder: Recorder, say: Callable[[str, str], Said]) -> None:
    provider = TracerProvider()
    assert genai_spans.instrument(provider)
    genai_spans.instrument(provider)
    tracer = provider.get_tracer("framework")

    def span(kind: str, name: str) -> AbstractContextManager[object]:
        title, attributes = say(kind, name)
        return tracer.start_as_current_span(title, attributes=attributes)

    outer = (span("agent", "lead"), tracer.start_as_current_span("glue"), span("tool", "research"))
    with outer[0], outer[1], outer[2], span("agent", "researcher"), span("llm", "large"):
        pass
    provider.shutdown()
    (dispatched,) = recorder.events_of("dispatch")
    assert dispatched.attributes["gen_ai.agent.name"] == "researcher"
    assert recorder.undelivered() == []
    assert len(recorder.events_of("first_token")) == 1


def test_a_span_that_failed_is_a_child_that_failed(recorder: Recorder) -> None:
    provider = TracerProvider()
    genai_spans.instrument(provider)
    tracer = provider.get_tracer("framework")
    begin = tracer.start_as_current_span
    with begin("invoke_agent lead"), begin("invoke_agent researcher") as span:
        span.set_status(StatusCode.ERROR, "no")
    provider.shutdown()
    assert recorder.events_of("child_done")[0].attributes["subagent.outcome"] == "error"


def test_without_a_provider_there_is_nothing_to_hear_and_it_is_said(
    recorder: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    assert not genai_spans.instrument(object())  # type: ignore[arg-type]  # a proxy of another maker
    assert "set up OpenTelemetry first" in caplog.text


def test_the_global_provider_is_heard(recorder: Recorder, host: Host) -> None:
    assert genai_spans.provider_to_hear() is host.provider
    begin = host.tracer.start_as_current_span
    with begin("invoke_agent lead"), begin("invoke_agent researcher"):
        pass
    assert len(recorder.events_of("dispatch")) == 1


def test_the_entry_points_load_and_are_silent_where_the_framework_is_not() -> None:
    found = [
        point
        for point in entry_points(group="opentelemetry_instrumentor")
        if point.name.startswith("headcount_")
    ]
    assert {point.name for point in found} == {f"headcount_{name}" for name in instrumentor.ADAPTERS}
    for point in found:
        point.load()().instrument(skip_dep_check=True)
        point.load()().uninstrument()


def test_an_adapter_that_does_not_fit_is_reported_and_left_out(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(instrumentor.ADAPTERS, "langchain", "json")
    monkeypatch.setitem(sys.modules, "langchain_core.callbacks", None)
    assert instrumentor.instrument("langchain", "nonsense") == []
    assert "does not fit" in caplog.text
    assert "there is no adapter 'nonsense'" in caplog.text
