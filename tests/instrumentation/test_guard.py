"""Nothing the shim does wrong, and nothing it is called wrong with, reaches the host."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry.sdk.trace.sampling import Sampler, SamplingResult

import headcount
from headcount import configuration, guard
from headcount.testing import Recorder

from .conftest import Host

untyped: Any = headcount
"""The API as a program sees it that no type checker looks at."""


@pytest.mark.parametrize(
    "call",
    [
        lambda: untyped.dispatch("a", no_such_argument=1),
        lambda: untyped.dispatch(),
        lambda: untyped.dispatch("a", expected="soon"),
        lambda: untyped.dispatch("a").received(sorce="x"),
        lambda: untyped.dispatch("a").launched(),
        lambda: untyped.child(untyped.dispatch("a"), nonsense=1),
        lambda: untyped.child(17),
        lambda: untyped.current_child().tool(),
        lambda: untyped.session(1, 2, 3),
        lambda: untyped.inside(17),
        lambda: untyped.owner_final(5),
        lambda: untyped.owner_gone(),
        lambda: untyped.owner_turn(1),
        lambda: untyped.extract(17),
        lambda: untyped.inject(run=17),
        lambda: untyped.configure(nonsense=1),
        lambda: untyped.configure(linger_s="soon"),
    ],
)
def test_a_wrong_call_is_logged_and_goes_on(recorder: Recorder, call: Callable[[], object]) -> None:
    call()
    assert guard.faults


def test_code_under_a_wrong_call_still_runs(recorder: Recorder) -> None:
    ran = []
    run = untyped.dispatch("a", no_such_argument=1)
    with untyped.child(run) as ctx, ctx.tool() as tool, untyped.session(1, 2, 3), untyped.inside(17):
        tool.fail("x")
        ran.append(run.wrap(lambda: "value")())
    assert ran == ["value"]
    assert recorder.events == []
    assert run.carrier() == {}


def test_a_fault_is_logged_once_per_kind_and_counted(
    recorder: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        untyped.dispatch("a", no_such_argument=1)
    assert caplog.text.count("no_such_argument") <= 2, "message and traceback of one record"
    assert len(caplog.records) == 1
    assert headcount.stats().faults == {"dispatch: TypeError": 3}


def test_values_that_cannot_be_encoded_are_made_so(recorder: Recorder) -> None:
    run = untyped.dispatch("a\ud800b", supersedes=[1, 2], model=object, alias=[])
    run.received(result="\ud800")
    said = recorder.events[0].attributes
    assert said["gen_ai.agent.name"] == "a?b"
    assert said["subagent.supersedes"] == ("1", "2")
    assert "subagent.run.alias" not in said
    assert recorder.events[1].attributes["subagent.result.size"] == 1


def test_a_word_the_conventions_do_not_have_is_reported_and_sent(
    recorder: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    untyped.dispatch("a", mode="sync")
    assert recorder.events[0].attributes["subagent.mode"] == "sync"
    assert "subagent.mode='sync'" in caplog.text
    assert "foreground" in caplog.text


def test_ids_of_another_type_become_text(recorder: Recorder) -> None:
    with untyped.session(17):
        run = untyped.dispatch("a", id=3, owner=4)
    said = recorder.events[0].attributes
    assert (said["session.id"], said["subagent.run.id"], said["subagent.owner.id"]) == ("17", "3", "4")
    assert run.id == "3"


def test_a_handler_of_the_host_that_raises_reaches_nobody(recorder: Recorder) -> None:
    class Raising(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise RuntimeError("handler")

    handler = Raising()
    guard.logger.addHandler(handler)
    try:
        untyped.dispatch("a", no_such_argument=1)
    finally:
        guard.logger.removeHandler(handler)
    assert guard.faults["logging"] == 1


class Broken(Sampler):
    def should_sample(self, *args: object, **kwargs: object) -> SamplingResult:
        raise RuntimeError("sampler")

    def get_description(self) -> str:
        return "Broken"


def test_a_sampler_of_the_host_that_raises_costs_no_lifecycle_span(
    recorder: Recorder, make_host: Callable[..., Host]
) -> None:
    make_host(Broken())
    with headcount.child(headcount.dispatch("reviewer")):
        pass
    assert recorder.names() == ["dispatch", "start", "child_done"]


def test_a_sink_that_raises_reaches_nobody() -> None:
    from headcount.pipeline import Pipeline
    from headcount.settings import Settings

    class Raising(Recorder):
        def put(self, span: object, *, routine: bool = False) -> None:
            raise RuntimeError("sink")

    configuration.install(Pipeline(Settings(), Raising()))
    run = headcount.dispatch("reviewer")
    with headcount.child(run) as ctx, ctx.tool("Read"):
        ctx.output(1)
    run.forwarded()
    assert guard.faults.total() >= 6


def test_nothing_is_recorded_before_configure_and_it_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    run = headcount.dispatch("reviewer")
    with headcount.child(run) as ctx, ctx.tool("Read"), headcount.owner_turn():
        ctx.output(1)
    run.forwarded()
    assert run.id
    assert headcount.flush()
    assert headcount.stats().sent == 0
    assert caplog.text.count("headcount.configure()") == 1


@pytest.mark.parametrize("variable", ["OTEL_SDK_DISABLED", "HEADCOUNT_DISABLED"])
def test_it_can_be_switched_off_from_outside(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "true")
    headcount.configure("http://127.0.0.1:1")
    with headcount.child(headcount.dispatch("reviewer")) as ctx, ctx.tool("Read"):
        pass
    assert configuration.current() is None
    assert not guard.faults


@pytest.mark.parametrize(
    ("variable", "value"), [("HEADCOUNT_QUEUE_SIZE", "many"), ("HEADCOUNT_EXIT_TIMEOUT", "-1")]
)
def test_a_bad_setting_is_named_and_replaced(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    headcount.configure("http://127.0.0.1:1")
    assert variable in caplog.text
    assert configuration.current() is not None


def test_a_bad_endpoint_is_named_and_left_to_the_environment(caplog: pytest.LogCaptureFixture) -> None:
    headcount.configure("localhost:4318")
    assert "'localhost:4318'" in caplog.text
    pipeline = configuration.current()
    assert pipeline is not None
    assert pipeline.settings.endpoint is None
