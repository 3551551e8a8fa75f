"""What the owner's side tells: dispatch, launch, receipts, hand-over, kills, and the owner's own events."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

import headcount
from headcount import testing
from headcount.testing import Recorder

NOON_NS = int(datetime(2026, 7, 18, 12, tzinfo=UTC).timestamp()) * 1_000_000_000


def test_a_dispatch_carries_what_the_judgement_needs(recorder: Recorder) -> None:
    with headcount.session("chat-17", attended=True):
        run = headcount.dispatch(
            "reviewer",
            owner="lead",
            mode="teammate",
            prompt="Review  THIS",
            description="a review",
            max_runtime=90,
            channel="message",
            can_send=False,
            replica="2/3",
            supersedes=["r0"],
            model="m-1",
            alias="call-9",
            parent="r-parent",
        )
    (event,) = recorder.events_of("dispatch")
    assert event.run == run.id
    assert event.session == "chat-17"
    said = event.attributes
    assert said["gen_ai.agent.name"] == "reviewer"
    assert said["subagent.mode"] == "teammate"
    assert said["subagent.owner.id"] == "lead"
    assert said["subagent.parent.run.id"] == "r-parent"
    assert said["subagent.session.attended"] is True
    assert said["subagent.max_runtime_ms"] == 90_000
    assert said["subagent.return.channel"] == "message"
    assert said["subagent.return.can_send"] is False
    assert said["subagent.replica"] == "2/3"
    assert said["subagent.supersedes"] == ("r0",)
    assert said["subagent.run.alias"] == ("call-9",)
    assert said["gen_ai.request.model"] == "m-1"
    assert said["subagent.producer.export_interval_ms"] == 100
    assert "subagent.description" not in said


@pytest.mark.parametrize(
    ("expected", "moment"),
    [
        (90, "2026-07-18T12:01:30Z"),
        (timedelta(minutes=15), "2026-07-18T12:15:00Z"),
        (datetime(2026, 7, 18, 13, tzinfo=UTC), "2026-07-18T13:00:00Z"),
    ],
)
def test_a_deadline_is_a_duration_or_a_moment(expected: float | timedelta | datetime, moment: str) -> None:
    with testing.record(clock=lambda: NOON_NS) as recorder:
        headcount.dispatch("reviewer", expected=expected)
    assert recorder.events[0].attributes["subagent.expected_by"] == moment
    assert recorder.events[0].at_ns == NOON_NS


def test_the_root_owner_has_no_owner_id(recorder: Recorder) -> None:
    headcount.dispatch("reviewer")
    headcount.dispatch("reviewer", owner="")
    assert all("subagent.owner.id" not in event.attributes for event in recorder.events)


def test_one_process_is_one_session_unless_it_says_otherwise(recorder: Recorder) -> None:
    first, second = headcount.dispatch("a"), headcount.dispatch("b")
    with headcount.session() as scope:
        third = headcount.dispatch("c")
    assert first.session == second.session
    assert third.session == scope.session != first.session


def test_the_way_of_a_result(recorder: Recorder) -> None:
    run = headcount.dispatch("reviewer", owner="lead")
    run.launched("registered", mode="background", alias=("agent-1", "task-1"), cap=4)
    run.received(source="completion_push", result="naïve")
    run.forwarded(ok=False, error="conversation full", final=True)
    run.forwarded(to="other", to_session="s2")
    run.forwarded()
    run.consumed(12)
    assert recorder.names() == [
        "dispatch",
        "launch",
        "completion_received",
        "completion_forwarded",
        "completion_forwarded",
        "completion_forwarded",
        "completion_consumed",
    ]
    _, launch, received, refused, misled, forwarded, consumed = recorder.events
    assert launch.attributes["subagent.run.alias"] == ("agent-1", "task-1")
    assert launch.attributes["subagent.launch.cap"] == 4
    assert received.attributes["subagent.result.size"] == 6
    assert received.attributes["subagent.result.source"] == "completion_push"
    assert refused.attributes["subagent.forwarded_to_main"] is False
    assert refused.attributes["subagent.forward.final"] is True
    assert refused.span.status.status_code.name == "ERROR"
    assert misled.attributes["subagent.receiver.id"] == "other"
    assert misled.attributes["subagent.receiver.session"] == "s2"
    assert forwarded.attributes["subagent.forwarded_to_main"] is True
    assert consumed.attributes["subagent.output_tokens"] == 12
    assert all(event.attributes["subagent.owner.id"] == "lead" for event in recorder.events)
    assert recorder.undelivered() == []


def test_a_failing_receipt_names_its_error_and_not_its_message(recorder: Recorder) -> None:
    run = headcount.dispatch("reviewer")
    run.received(outcome="error", error=ValueError("the secret"))
    said = recorder.events[-1].attributes
    assert said["error.type"] == "ValueError"
    assert said["subagent.error.digest"]
    assert "the secret" not in str(said)
    assert recorder.undelivered() == [run.id]


def test_kills_aborts_nudges_and_dismissals(recorder: Recorder) -> None:
    run = headcount.dispatch("reviewer")
    run.nudge()
    run.message(sender="observer")
    run.abort("watchdog", rule="max_runtime", limit_s=1200)
    run.kill(
        "watchdog", rule="max_runtime", limit_s=1200.5, location="file:///tmp/partial", size=10, partial=True
    )
    run.gone(child_session="agent-1")
    run.dismiss("handed off", handed_to="billing")
    assert recorder.names()[1:] == ["nudge", "message", "abort", "kill", "child_gone", "dismiss"]
    kill = recorder.events_of("kill")[0].attributes
    assert kill["subagent.kill.limit_ms"] == 1_200_500
    assert kill["subagent.result.location"] == "file:///tmp/partial"
    assert recorder.events_of("dismiss")[0].attributes["subagent.handed_to"] == "billing"


def test_owner_events_concern_an_owner_and_name_no_run(recorder: Recorder) -> None:
    run = headcount.dispatch("reviewer")
    with headcount.session("s1", owner="lead"):
        with headcount.owner_turn():
            assert recorder.names()[-1] == "owner_turn…"
        headcount.owner_final([run, "r2"], final=True)
        headcount.owner_gone("user_exit")
    events = recorder.events[1:]
    assert [event.event for event in events] == ["owner_turn", "owner_turn", "owner_final", "owner_gone"]
    assert all(event.run is None for event in events)
    assert all(event.attributes["subagent.owner.id"] == "lead" for event in events)
    assert events[2].attributes["subagent.owed"] == (run.id, "r2")
    assert events[2].attributes["subagent.final"] is True


def test_a_watched_future_of_a_pool_gives_the_completion_receipt(recorder: Recorder) -> None:
    good, bad = headcount.dispatch("worker"), headcount.dispatch("worker")

    def fail() -> None:
        raise LookupError("no")

    with ThreadPoolExecutor(2) as pool:
        done = good.watch(pool.submit(good.wrap(lambda: "text")))
        failed = bad.watch(pool.submit(bad.wrap(fail)))
    assert done.result() == "text"
    assert isinstance(failed.exception(), LookupError)
    assert recorder.names(run=good.id) == ["dispatch", "start", "child_done", "completion_received"]
    received = recorder.events_of("completion_received", run=good.id)[0].attributes
    assert received["subagent.result.size"] == 4
    assert (
        received["subagent.result.digest"]
        == recorder.events_of("child_done", run=good.id)[0].attributes["subagent.result.digest"]
    )
    assert recorder.events_of("completion_received", run=bad.id)[0].attributes["subagent.outcome"] == "error"
    assert recorder.events_of("child_done", run=bad.id)[0].attributes["error.type"] == "LookupError"


def test_a_watched_task_that_is_cancelled_is_received_as_cancelled(recorder: Recorder) -> None:
    run = headcount.dispatch("worker")

    async def main() -> None:
        begun = asyncio.Event()

        async def forever() -> None:
            begun.set()
            await asyncio.Event().wait()

        task = run.watch(asyncio.create_task(run.wrap(forever)()))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert recorder.names() == ["dispatch", "start", "child_done", "completion_received"]
    assert [event.attributes.get("subagent.outcome") for event in recorder.events[2:]] == [
        "cancelled",
        "cancelled",
    ]
