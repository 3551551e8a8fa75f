"""One decorator for the usual shape: functions, coroutines, generators of both kinds, and how each can end."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator

import pytest

import headcount
from headcount.testing import Recorder

from .conftest import Host

WHOLE = ["dispatch", "start", "child_done", "completion_received", "completion_forwarded"]


def test_a_call_is_a_foreground_run_that_is_handed_over(recorder: Recorder) -> None:
    @headcount.subagent("adder", prompt="task", expected=60)
    def add(first: int, task: str = "add") -> str:
        assert headcount.current_child().run.agent == "adder"
        return f"{task}: {first}"

    assert add(1) == "add: 1"
    assert recorder.names() == WHOLE
    dispatched, _, done, received, _ = recorder.events
    assert dispatched.attributes["subagent.mode"] == "foreground"
    assert dispatched.attributes["subagent.prompt.digest"]
    assert done.attributes["subagent.result.size"] == received.attributes["subagent.result.size"] == 6
    assert received.attributes["subagent.result.source"] == "tool_result"


def test_a_coroutine_is_too(recorder: Recorder) -> None:
    @headcount.subagent("adder")
    async def add() -> int:
        await asyncio.sleep(0)
        return 0

    assert asyncio.iscoroutinefunction(add)
    assert asyncio.run(add()) == 0
    assert recorder.names() == WHOLE
    assert "subagent.result.size" not in recorder.events[2].attributes, "a number is not its own size"


def test_an_exception_reaches_the_caller_and_counts_as_told(recorder: Recorder) -> None:
    @headcount.subagent("failer")
    def fail() -> None:
        raise LookupError("no")

    with pytest.raises(LookupError, match="no"):
        fail()
    assert recorder.names() == WHOLE
    assert [event.attributes.get("subagent.outcome") for event in recorder.events[2:4]] == ["error", "error"]


def test_methods_keep_their_self_and_functions_their_name(recorder: Recorder) -> None:
    class Team:
        @headcount.subagent("member", prompt="task")
        def ask(self, task: str) -> str:
            """Ask."""
            return task

    assert Team().ask("x") == "x"
    assert Team.ask.__name__ == "ask"
    assert Team.ask.__doc__ == "Ask."


def test_a_generator_stands_in_its_run_and_its_consumer_does_not(recorder: Recorder, host: Host) -> None:
    @headcount.subagent("streamer")
    def stream() -> Iterator[int]:
        for number in range(2):
            with host.tracer.start_as_current_span(f"inner-{number}"):
                pass
            yield number

    for number in stream():
        with host.tracer.start_as_current_span(f"consumer-{number}"):
            pass
    assert recorder.names() == WHOLE
    run = recorder.events[0].run
    assert host.attributes_of("inner-0")["subagent.run.id"] == run
    assert host.attributes_of("inner-1")["subagent.run.id"] == run
    assert "subagent.run.id" not in host.attributes_of("consumer-0")


def test_an_asynchronous_generator_that_is_abandoned_ends_as_cancelled_and_leaks_nothing(
    recorder: Recorder, host: Host, caplog: pytest.LogCaptureFixture
) -> None:
    closed = []

    @headcount.subagent("streamer")
    async def stream() -> AsyncIterator[int]:
        try:
            for number in range(9):
                with host.tracer.start_as_current_span(f"inner-{number}"):
                    pass
                yield number
        finally:
            closed.append(True)

    async def main() -> None:
        async for _ in stream():
            break
        with host.tracer.start_as_current_span("after"):
            pass
        gc.collect()
        await asyncio.sleep(0)

    asyncio.run(main())
    assert closed == [True]
    assert recorder.names() == WHOLE
    done = recorder.events_of("child_done")[0].attributes
    assert done["subagent.outcome"] == "cancelled"
    assert done["subagent.result.partial"] is True
    assert host.attributes_of("inner-0")["subagent.run.id"] == recorder.events[0].run
    assert "subagent.run.id" not in host.attributes_of("after")
    assert caplog.text == ""


def test_a_generator_passes_on_what_is_sent_thrown_and_returned(recorder: Recorder) -> None:
    @headcount.subagent("echo")
    def echo() -> Generator[object, object, str]:
        sent = yield "ready"
        try:
            yield sent
        except ValueError as error:
            yield f"caught {error}"
        return "the end"

    generator = echo()
    assert next(generator) == "ready"
    assert generator.send("hello") == "hello"
    assert generator.throw(ValueError("x")) == "caught x"
    with pytest.raises(StopIteration) as stop:
        next(generator)
    assert stop.value.value == "the end"
    assert recorder.names() == WHOLE
    assert recorder.events[2].attributes["subagent.outcome"] == "ok"


def test_an_asynchronous_generator_passes_on_what_is_sent_and_thrown(recorder: Recorder) -> None:
    @headcount.subagent("echo")
    async def echo() -> AsyncGenerator[object, object]:
        sent = yield "ready"
        try:
            yield sent
        except ValueError as error:
            yield f"caught {error}"

    async def main() -> list[object]:
        generator = echo()
        got = [
            await anext(generator),
            await generator.asend("hello"),
            await generator.athrow(ValueError("x")),
        ]
        with pytest.raises(StopAsyncIteration):
            await anext(generator)
        return got

    assert asyncio.run(main()) == ["ready", "hello", "caught x"]
    assert recorder.names() == WHOLE


def test_a_generator_closed_by_its_consumer_is_closed_itself(recorder: Recorder) -> None:
    closed = []

    @headcount.subagent("streamer")
    def stream() -> Generator[int, None, None]:
        try:
            yield 1
            yield 2
        finally:
            closed.append(True)

    generator = stream()
    next(generator)
    generator.close()
    assert closed == [True]
    assert recorder.names() == WHOLE
    assert recorder.events[2].attributes["subagent.outcome"] == "cancelled"


def test_a_stream_that_fails_raises_at_its_consumer(recorder: Recorder) -> None:
    @headcount.subagent("streamer")
    async def stream() -> AsyncIterator[int]:
        yield 1
        raise RuntimeError("broken")

    async def main() -> list[int]:
        return [number async for number in stream()]

    with pytest.raises(RuntimeError, match="broken"):
        asyncio.run(main())
    assert recorder.names() == WHOLE
    assert recorder.events[2].attributes["subagent.outcome"] == "error"
