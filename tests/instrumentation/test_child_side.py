"""What the child's context tells: its start, its work, its end, in sync and async code and across threads."""

from __future__ import annotations

import asyncio
import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest
from opentelemetry import trace
from opentelemetry.trace import SpanContext

import headcount
from headcount import testing, wire
from headcount.testing import Recorded, Recorder


def place(event: Recorded) -> SpanContext:
    """Return where the event's span stands."""
    found = event.span.get_span_context()
    assert found is not None
    return found


def parent_id(event: Recorded) -> int | None:
    """Return the id of the event's parent span."""
    return None if event.span.parent is None else event.span.parent.span_id


def test_start_is_told_at_once_and_the_end_at_the_end(recorder: Recorder) -> None:
    run = headcount.dispatch("reviewer")
    with headcount.child(run, attempt=2, child_session="sess-1", alias="a-1") as ctx:
        assert recorder.names() == ["dispatch", "start"]
        ctx.result("ok then")
    start, done = recorder.events[1:]
    assert start.phase == "pending"
    assert start.span.start_time == start.span.end_time
    assert parent_id(start) == place(done).span_id
    assert start.attributes["subagent.attempt"] == 2
    assert start.attributes["subagent.child_session.key"] == "sess-1"
    assert start.attributes["subagent.run.alias"] == ("a-1",)
    assert "gen_ai.operation.name" not in start.attributes
    assert done.span.name == "invoke_agent reviewer"
    assert done.attributes["gen_ai.operation.name"] == "invoke_agent"
    assert done.attributes["subagent.outcome"] == "ok"
    assert done.attributes["subagent.result.size"] == 7


def test_every_lifecycle_span_is_numbered_in_order_by_one_producer(recorder: Recorder) -> None:
    with headcount.child(headcount.dispatch("reviewer")) as ctx:
        with ctx.tool("Read"), ctx.wait("approval", "anna"):
            ctx.heartbeat()
        ctx.idle(has_summary=True, turn_ended=False)
        ctx.message()
    numbers = [event.attributes[wire.PRODUCER_SEQ] for event in recorder.events]
    first = numbers[0]
    assert isinstance(first, int)
    assert numbers == list(range(first, first + len(numbers)))
    assert len({event.attributes[wire.PRODUCER_ID] for event in recorder.events}) == 1


@pytest.mark.parametrize(
    ("raised", "outcome", "kind"),
    [
        (ValueError("secret"), "error", "ValueError"),
        (asyncio.CancelledError(), "cancelled", None),
        (KeyboardInterrupt(), "cancelled", None),
        (SystemExit(0), "ok", None),
        (SystemExit(3), "error", "SystemExit"),
    ],
)
def test_an_exception_is_told_as_outcome_and_raised_again(
    recorder: Recorder, raised: BaseException, outcome: str, kind: str | None
) -> None:
    run = headcount.dispatch("reviewer")
    with pytest.raises(type(raised)), headcount.child(run):
        raise raised
    done = recorder.events_of("child_done")[0]
    assert done.attributes["subagent.outcome"] == outcome
    assert done.attributes.get("error.type") == kind
    assert "secret" not in str(done.attributes)
    assert done.span.events == ()


def test_an_outcome_can_be_said_where_no_exception_tells_it(recorder: Recorder) -> None:
    with headcount.child(headcount.dispatch("reviewer")) as ctx:
        ctx.ended_as("timeout")
    done = recorder.events_of("child_done")[0]
    assert done.attributes["subagent.outcome"] == "timeout"
    assert done.attributes["error.type"] == "timeout"
    assert done.span.status.status_code.name == "ERROR"


def test_cancellation_of_a_task_goes_through_and_is_told(recorder: Recorder) -> None:
    async def main() -> None:
        begun = asyncio.Event()

        async def work() -> None:
            async with headcount.child(headcount.dispatch("reviewer")) as ctx, ctx.tool("Read"):
                begun.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(work())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert (
        recorder.events_of("tool_call", phase="ended")[0].attributes["error.type"]
        == "asyncio.exceptions.CancelledError"
    )
    assert recorder.events_of("child_done")[0].attributes["subagent.outcome"] == "cancelled"


def test_a_tool_call_has_a_twin_and_its_error_only_as_digest(recorder: Recorder) -> None:
    with headcount.child(headcount.dispatch("reviewer")) as ctx:
        with pytest.raises(OSError, match="disk"), ctx.tool("Write", "call-1", arguments="{}"):
            raise OSError("disk  FULL")
        with ctx.tool("Write") as tool:
            tool.fail("disk full")
    first, ended, _, second = recorder.events_of("tool_call")
    assert first.phase == "pending"
    assert ended.phase == "ended"
    assert first.attributes["gen_ai.tool.call.id"] == ended.attributes["gen_ai.tool.call.id"] == "call-1"
    assert ended.span.name == "execute_tool Write"
    assert ended.attributes["error.type"] == "OSError"
    assert ended.attributes["subagent.error.digest"] == second.attributes["subagent.error.digest"]
    assert second.attributes["gen_ai.tool.call.id"] not in (None, "call-1")
    assert "gen_ai.tool.call.arguments" not in ended.attributes


def test_a_turn_begins_with_a_trigger_and_covers_its_tools(recorder: Recorder) -> None:
    with headcount.child(headcount.dispatch("reviewer")) as ctx:
        with ctx.model_request("m-1", stream=True) as request:
            request.first_token()
            request.model("m-1-mini")
        with ctx.tool("Read"):
            pass
        with ctx.model_request("m-1", trigger="nudge"):
            pass
        with ctx.tool("Read"):
            pass
    turns = [event.attributes[wire.TURN_ID] for event in recorder.events if wire.TURN_ID in event.attributes]
    assert len(set(turns[:5])) == 1
    assert len(set(turns[5:])) == 1
    assert turns[0] != turns[-1]
    ended = recorder.events_of("model_request", phase="ended")[0].attributes
    assert ended["gen_ai.response.model"] == "m-1-mini"
    assert ended["gen_ai.request.stream"] is True


def test_output_is_cumulative_and_told_once_a_second() -> None:
    seconds = itertools.count(1000)
    now = [next(seconds)]
    with (
        testing.record(clock=lambda: now[0] * 1_000_000_000) as recorder,
        headcount.child(headcount.dispatch("writer")) as ctx,
    ):
        for _ in range(10):
            ctx.output(3)
        now[0] = next(seconds)
        ctx.output(3)
        ctx.output(4)
    assert [event.attributes["subagent.output_tokens"] for event in recorder.events_of("output")] == [3, 33]
    assert recorder.events_of("child_done")[0].attributes["subagent.output_tokens"] == 37


def test_nested_dispatches_know_owner_parent_and_session(recorder: Recorder) -> None:
    with (
        headcount.session("s1", attended=False),
        headcount.child(headcount.dispatch("lead"), child_session="lead-1"),
    ):
        outer = headcount.current_child().run
        inner = headcount.dispatch("coder")
    said = recorder.events_of("dispatch", run=inner.id)[0].attributes
    assert said["session.id"] == "s1"
    assert said["subagent.owner.id"] == "lead-1"
    assert said["subagent.parent.run.id"] == outer.id
    assert said["subagent.session.attended"] is False


def test_a_foreground_child_continues_the_trace_and_a_background_child_links_to_it(
    recorder: Recorder,
) -> None:
    near, far = headcount.dispatch("near", mode="foreground"), headcount.dispatch("far")
    with headcount.child(near):
        pass
    with headcount.child(far):
        pass
    dispatched = {event.run: place(event) for event in recorder.events_of("dispatch")}
    done = {event.run: event for event in recorder.events_of("child_done")}
    assert parent_id(done[near.id]) == dispatched[near.id].span_id
    assert place(done[near.id]).trace_id == dispatched[near.id].trace_id
    assert parent_id(done[far.id]) is None
    assert place(done[far.id]).trace_id != dispatched[far.id].trace_id
    assert [link.context.span_id for link in done[far.id].span.links] == [dispatched[far.id].span_id]


def test_the_context_is_restored_behind_a_child(recorder: Recorder) -> None:
    before = trace.get_current_span()
    with headcount.child(headcount.dispatch("reviewer")) as ctx:
        assert headcount.current_child() is ctx
        assert trace.get_current_span() is not before
    assert headcount.current_child() is not ctx
    assert trace.get_current_span() is before


def test_a_thread_of_the_child_joins_its_run(recorder: Recorder) -> None:
    with headcount.child(headcount.dispatch("lead")) as ctx, ThreadPoolExecutor(1) as pool:

        def alone() -> headcount.Run:
            return headcount.dispatch("helper")

        def joined() -> headcount.Run:
            with headcount.inside(ctx):
                return headcount.dispatch("helper")

        stray, nested = pool.submit(alone).result(), pool.submit(joined).result()
    assert "subagent.parent.run.id" not in recorder.events_of("dispatch", run=stray.id)[0].attributes
    assert recorder.events_of("dispatch", run=nested.id)[0].attributes["subagent.parent.run.id"] == ctx.run.id


def test_tasks_run_side_by_side_in_their_own_runs(recorder: Recorder) -> None:
    async def work(name: str, met: asyncio.Barrier) -> str:
        async with headcount.child(headcount.dispatch(name)) as ctx:
            await met.wait()
            async with ctx.tool("Read"):
                await asyncio.sleep(0)
            return headcount.current_child().run.id if headcount.current_child() is ctx else "wrong"

    async def main() -> list[str]:
        met = asyncio.Barrier(3)
        return list(await asyncio.gather(*(work(f"w{index}", met) for index in range(3))))

    runs = asyncio.run(main())
    for run in runs:
        assert recorder.names(run=run) == ["dispatch", "start", "tool_call…", "tool_call", "child_done"]


def test_callbacks_can_begin_and_end_a_child_without_a_with_block(recorder: Recorder) -> None:
    ctx = headcount.child(headcount.dispatch("reviewer"))
    ctx.start()
    tool = ctx.tool("Read")
    tool.start()
    assert headcount.current_child() is not ctx
    tool.end(error="not found")
    tool.end()
    ctx.finish("error")
    ctx.finish()
    assert recorder.names() == ["dispatch", "start", "tool_call…", "tool_call", "child_done"]


def test_a_child_without_a_run_reports_nothing_and_runs(recorder: Recorder) -> None:
    with headcount.child({}) as ctx, ctx.tool("Read"), ctx.model_request():
        ctx.output(3)
        ctx.heartbeat()
    assert recorder.events == []
