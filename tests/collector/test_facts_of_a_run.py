"""The facts of one run against the real engine: each record is told, once, and at its right moment."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headcount_collector.judge.facts import Failure, OpenTool, Request, Result, Start
from headcount_collector.store import Store, migrate

from .evidence_log import SECOND, Log, at, seconds, span


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    opened = Store.open(tmp_path_factory.mktemp("facts"))
    migrate(opened, retention_days=20000)
    yield opened
    opened.close()


@pytest.fixture
def log(store: Store) -> Log:
    return Log(store)


DISPATCH = {"event": "dispatch", "time": 0, "agent": "worker", "producer": "harness"}


def test_a_dispatch_is_kept_with_all_it_says(log: Log) -> None:
    log.arrive(
        0,
        {
            **DISPATCH,
            "owner": "lead",
            "mode": "foreground",
            "channel": "message",
            "can_send": False,
            "expected_s": 300,
            "max_runtime_s": 600,
            "prompt_digest": "p",
            "description_digest": "d",
            "replica": "1/2",
            "supersedes": ["r0"],
            "model": "opus",
            "attended": True,
            "child": "k1",
        },
    )
    facts = log.facts()
    dispatch = facts.dispatch
    assert dispatch is not None
    assert (dispatch.at, dispatch.owner, dispatch.parent, dispatch.agent) == (at(0), "lead", None, "worker")
    assert (dispatch.mode, dispatch.channel, dispatch.can_send) == ("foreground", "message", False)
    assert (dispatch.expected_ns, dispatch.max_runtime_ns) == (300 * SECOND, 600 * SECOND)
    assert (dispatch.prompt_digest, dispatch.description_digest, dispatch.replica) == ("p", "d", "1/2")
    assert (dispatch.supersedes, dispatch.model, dispatch.attended) == (("r0",), "opus", True)
    assert (facts.children_keys, facts.first_at, facts.heard_at) == (("k1",), at(0), None)


def test_the_way_of_a_run_is_told_in_order_of_time(log: Log) -> None:
    log.arrive(
        500,
        {"event": "completion_consumed", "time": 400, "tokens": 7},
        {
            "event": "completion_forwarded",
            "time": 302,
            "forwarded": True,
            "receiver": "",
            "receiver_session": "x",
        },
        {"event": "completion_forwarded", "time": 301, "forwarded": False, "error": "busy", "final": True},
        {
            "event": "completion_received",
            "time": 300,
            "source": "relay",
            "size": 3,
            "digest": "d",
            "outcome": "ok",
        },
        {
            "event": "child_done",
            "time": 299,
            "outcome": "ok",
            "size": 5,
            "digest": "e",
            "form": "raw",
            "tokens": 90,
        },
        {"event": "abort", "time": 200, "actor": "w", "rule": "budget"},
        {"event": "message", "time": 90, "from": "owner"},
        {"event": "nudge", "time": 80, "from": "observer"},
        {"event": "idle", "time": 70, "has_summary": False, "turn_ended": True},
        {"event": "launch", "time": 3, "state": "registered", "mode": "background"},
        {"event": "launch", "time": 2, "state": "queued", "cap": 4},
        {**DISPATCH, "mode": "foreground"},
    )
    facts = log.facts()
    assert [(seconds(x.at), x.state, x.mode, x.cap) for x in facts.launches] == [
        (2, "queued", None, 4),
        (3, "registered", "background", None),
    ]
    assert [(seconds(x.at), x.has_summary, x.turn_ended) for x in facts.idles] == [(70, False, True)]
    assert [(seconds(x.at), x.kind, x.sender) for x in facts.pokes] == [
        (80, "nudge", "observer"),
        (90, "message", "owner"),
    ]
    assert [(seconds(x.at), x.actor, x.rule) for x in facts.aborts] == [(200, "w", "budget")]
    assert [(seconds(x.at), x.kind, x.outcome, x.result) for x in facts.ends] == [
        (299, "child_done", "ok", Result(5, "e", "raw"))
    ]
    assert [(seconds(x.at), x.source, x.outcome, x.result.size) for x in facts.receipts] == [
        (300, "relay", "ok", 3)
    ]
    assert [(seconds(x.at), x.forwarded, x.receiver, x.receiver_session) for x in facts.forwards] == [
        (301, False, None, None),
        (302, True, "", "x"),
    ]
    assert (facts.forwards[0].error, facts.forwards[0].final) == ("busy", True)
    assert facts.consumptions == (at(400),)
    assert (facts.heard_at, facts.last_activity_at, facts.last_traffic_at) == (at(70), at(299), at(400))
    assert facts.output_tokens == 90


def test_an_answer_without_output_consumed_nothing(log: Log) -> None:
    log.arrive(1, DISPATCH, {"event": "completion_consumed", "tokens": 0})
    assert log.facts().consumptions == ()


def test_the_same_number_is_the_same_record_and_its_first_arrival_stays(log: Log) -> None:
    line = {"event": "idle", "time": 1, "producer": "c", "seq": 4}
    log.arrive(2, DISPATCH, line, line)
    before = log.facts()
    log.arrive(900, line, DISPATCH)
    assert log.facts() == before
    assert len(before.idles) == 1


def test_progress_is_told_by_turn_and_to_the_millisecond(log: Log) -> None:
    log.arrive(
        60,
        DISPATCH,
        {"event": "first_token", "time": 10.123, "turn": "t1"},
        {"event": "tool_call", "time": 20.456, "turn": "t1", "phase": "ended", "tool": "Read", "call": "c1"},
        {"event": "output", "time": 30, "turn": "t2", "tokens": 100},
        {"event": "output", "time": 40, "turn": "t2", "tokens": 250},
        {"event": "heartbeat", "time": 50, "child": "k1"},
    )
    facts = log.facts()
    one, two = facts.turns
    assert (one.id, one.tokens, one.tools, one.outputs) == ("t1", (at(10.123),), (at(20.456),), ())
    assert (two.id, two.outputs) == ("t2", ((at(30), 100), (at(40), 250)))
    assert (facts.output_tokens, facts.tool_calls, facts.children_keys) == (250, 1, ("k1",))
    assert (facts.heard_at, facts.last_activity_at) == (at(10.123), at(50))


def test_the_model_that_answered_last_is_told_last_whatever_the_names_and_the_order_of_arrival(
    log: Log,
) -> None:
    ended = {"event": "model_request", "phase": "ended"}
    log.arrive(50, DISPATCH, {**ended, "time": 40, "resolved_model": "alpha", "turn": "t2"})
    log.arrive(60, {**ended, "time": 20, "resolved_model": "zeta", "turn": "t1"})
    assert log.facts().resolved_models == ("zeta", "alpha")
    log.arrive(70, {**ended, "time": 65, "resolved_model": "middle", "turn": "t2"})
    assert log.facts().resolved_models == ("alpha", "zeta", "middle")


def test_a_nudge_is_no_activity_of_the_child(log: Log) -> None:
    log.arrive(9, DISPATCH, {"event": "nudge", "from": "observer"}, {"event": "message", "from": "owner"})
    assert log.facts().heard_at is None
    log.arrive(12, {"event": "message", "from": "child"})
    assert log.facts().heard_at == at(12)


def test_what_began_and_did_not_end_is_in_flight(log: Log) -> None:
    log.arrive(
        30,
        DISPATCH,
        {"event": "tool_call", "time": 1, "phase": "pending", "tool": "Bash", "call": "c1"},
        {"event": "tool_call", "time": 5, "phase": "ended", "tool": "Bash", "call": "c1"},
        {"event": "tool_call", "time": 6, "phase": "pending", "tool": "Bash", "call": "c2"},
        {
            "event": "model_request",
            "time": 7,
            "phase": "pending",
            "stream": True,
            "trigger": "nudge",
            "turn": "t1",
        },
    )
    facts = log.facts()
    assert facts.open_tools == (OpenTool(at(6), "Bash", "c2"),)
    assert facts.requests == (Request(at(7), None, "nudge", "t1", True),)
    assert facts.tool_calls == 2


def test_without_a_call_id_an_end_closes_the_oldest_open_call_of_its_tool(log: Log) -> None:
    log.arrive(
        30,
        DISPATCH,
        {"event": "tool_call", "time": 9, "phase": "ended", "tool": "Bash"},
        {"event": "tool_call", "time": 1, "phase": "pending", "tool": "Bash"},
        {"event": "tool_call", "time": 2, "phase": "pending", "tool": "Bash"},
        {"event": "tool_call", "time": 3, "phase": "pending", "tool": "Read"},
        {"event": "tool_call", "time": 0.5, "phase": "ended", "tool": "Read"},
    )
    assert [(seconds(tool.at), tool.tool) for tool in log.facts().open_tools] == [(2, "Bash"), (3, "Read")]


def test_a_pending_twin_meets_its_span_which_is_its_parent(log: Log) -> None:
    common = {
        "subagent.event": "tool_call",
        "subagent.run.id": "r1",
        "session.id": log.session,
        "gen_ai.tool.name": "Bash",
    }
    real = b"realspan"
    log.arrive(1, DISPATCH)
    log.arrive_spans(
        9,
        span("execute_tool Bash", 2, None, common | {"subagent.phase": "pending"}, parent=real),
        span("execute_tool Bash", 3, None, common | {"subagent.phase": "pending"}, parent=b"elsewhr1"),
        span("execute_tool Bash", 2, 8, common | {"subagent.phase": "ended"}, span_id=real),
    )
    facts = log.facts()
    assert [seconds(tool.at) for tool in facts.open_tools] == [3]
    assert facts.turns[0].tools == (at(8),)


def test_failures_are_told_one_by_one_and_are_no_success(log: Log) -> None:
    fail = {"event": "tool_call", "phase": "ended", "tool": "Bash", "error": "exit 1"}
    log.arrive(30, DISPATCH, fail | {"time": 5}, fail | {"time": 6}, fail | {"time": 6})
    facts = log.facts()
    error = facts.failures[0].error
    assert error
    assert facts.failures == (Failure(at(5), "Bash", error), Failure(at(6), "Bash", error))
    assert facts.turns == ()


def test_waits_close_by_id_else_the_oldest_of_their_reason(log: Log) -> None:
    log.arrive(
        99,
        DISPATCH,
        {
            "event": "wait",
            "time": 10,
            "phase": "pending",
            "wait": "w1",
            "reason": "approval",
            "waker": "anna",
        },
        {"event": "wait", "time": 20, "phase": "ended", "wait": "w1", "reason": "approval"},
        {"event": "wait", "time": 30, "phase": "pending", "reason": "queue"},
        {"event": "wait", "time": 31, "phase": "pending", "reason": "queue"},
        {"event": "wait", "time": 40, "phase": "ended", "reason": "queue"},
        {"event": "wait", "time": 60, "phase": "ended", "reason": "rate_limit", "dur_s": 5},
    )
    waits = log.facts().waits
    assert [(seconds(w.at), seconds(w.closed), w.reason, w.waker) for w in waits] == [
        (10, 20, "approval", "anna"),
        (30, 40, "queue", None),
        (31, None, "queue", None),
        (55, 60, "rate_limit", None),
    ]


def test_a_queue_says_nothing_of_the_child(log: Log) -> None:
    log.arrive(5, DISPATCH, {"event": "wait", "phase": "pending", "reason": "queue"})
    assert log.facts().heard_at is None


def test_the_end_of_an_awaited_call_is_told_by_its_id(log: Log) -> None:
    log.arrive(
        9,
        DISPATCH,
        {"event": "wait", "time": 1, "phase": "pending", "reason": "tool", "waker": "c1"},
        {"event": "tool_call", "time": 2, "phase": "ended", "tool": "Bash", "call": "c1"},
        {"event": "tool_call", "time": 3, "phase": "ended", "tool": "Bash", "call": "c2"},
    )
    assert log.facts().closed_calls == {"c1": at(2)}


# --- two witnesses -----------------------------------------------------------------------------------------------


def test_two_producers_within_the_skew_are_two_witnesses_of_one_event(log: Log) -> None:
    log.arrive(
        100,
        DISPATCH,
        {"event": "child_done", "time": 50, "outcome": "ok", "producer": "c"},
        {
            "event": "child_done",
            "time": 60,
            "outcome": "ok",
            "size": 9,
            "location": "file:///x",
            "producer": "s",
        },
        {"event": "child_done", "time": 95, "outcome": "error", "producer": "c"},
    )
    ends = log.facts().ends
    assert [(seconds(end.at), end.outcome, end.result.size, end.result.location) for end in ends] == [
        (50, "ok", 9, "file:///x"),
        (95, "error", None, None),
    ]


def test_one_producer_that_reports_twice_reports_two_events(log: Log) -> None:
    idle = {"event": "idle", "producer": "c"}
    log.arrive(9, DISPATCH, idle | {"time": 1}, idle | {"time": 2})
    assert len(log.facts().idles) == 2


def test_a_further_attempt_between_two_ends_makes_them_two(log: Log) -> None:
    log.arrive(
        100,
        DISPATCH,
        {"event": "child_done", "time": 50, "outcome": "crashed", "producer": "c1"},
        {"event": "start", "time": 55, "attempt": 2, "producer": "c2"},
        {"event": "child_done", "time": 60, "outcome": "ok", "producer": "c2"},
    )
    assert [end.outcome for end in log.facts().ends] == ["crashed", "ok"]


def test_refused_and_delivered_are_never_one_event(log: Log) -> None:
    log.arrive(
        9,
        DISPATCH,
        {"event": "completion_forwarded", "time": 1, "forwarded": False, "producer": "a"},
        {"event": "completion_forwarded", "time": 2, "forwarded": True, "producer": "b"},
    )
    assert [forward.forwarded for forward in log.facts().forwards] == [False, True]


# --- clocks ------------------------------------------------------------------------------------------------------


def test_a_clock_that_runs_behind_is_corrected_once_three_records_show_it(log: Log) -> None:
    log.arrive(1, DISPATCH)
    log.arrive(60, {"event": "idle", "time": -240, "producer": "c"})
    log.arrive(70, {"event": "idle", "time": -225, "producer": "c"})
    assert [seconds(idle.at) for idle in log.facts().idles] == [0, 0]
    log.arrive(95, {"event": "tool_call", "time": -200, "phase": "ended", "tool": "Read", "producer": "c"})
    facts = log.facts()
    assert [seconds(idle.at) for idle in facts.idles] == [55, 70]
    assert [seconds(moment) for moment in facts.turns[0].tools] == [95]
    (child,) = [producer for producer in facts.producers if producer.child_side]
    assert (child.offset_ns, seconds(child.last_at)) == (295 * SECOND, 95)


def test_a_clock_that_ran_ahead_and_was_put_right_is_trusted_again(log: Log) -> None:
    def beats(first: int, ahead: int) -> None:
        for number in range(first, first + 5):
            idle = {"event": "idle", "time": number + ahead, "producer": "c", "seq": number}
            log.arrive(number, idle)

    log.arrive(1, DISPATCH)
    beats(60, 600)
    assert [seconds(idle.at) for idle in log.facts().idles] == [60, 61, 62, 63, 64]
    beats(130, 0)
    facts = log.facts()
    assert [seconds(idle.at) for idle in facts.idles] == [60, 61, 62, 63, 64, 130, 131, 132, 133, 134]
    assert {producer.offset_ns for producer in facts.producers} == {0}


def test_a_clock_that_runs_ahead_does_so_though_no_block_of_its_numbers_has_three(log: Log) -> None:
    log.arrive(1, DISPATCH)
    for number in (62, 63, 64):
        log.arrive(number, {"event": "idle", "time": number + 600, "producer": "c", "seq": number})
    assert [seconds(idle.at) for idle in log.facts().idles] == [62, 63, 64]
    assert {p.offset_ns for p in log.facts().producers if p.child_side} == {-600 * SECOND}


def test_a_clock_that_runs_ahead_does_so_while_its_records_are_late(log: Log) -> None:
    log.arrive(1, DISPATCH)
    for number, late in ((60, 0), (61, 0), (62, 0), (130, 20), (131, 20), (132, 20)):
        idle = {"event": "idle", "time": number + 600, "producer": "c", "seq": number}
        log.arrive(number + late, idle)
    assert [seconds(idle.at) for idle in log.facts().idles] == [60, 61, 62, 130, 131, 132]


def test_the_same_record_three_times_is_one_record_to_the_clock(log: Log) -> None:
    log.arrive(1, DISPATCH)
    idle = {"event": "idle", "time": -240, "producer": "c", "seq": 1}
    for when in (60, 61, 62):
        log.arrive(when, idle)
    assert [seconds(record.at) for record in log.facts().idles] == [0]


def test_a_clock_within_the_skew_is_left_alone(log: Log) -> None:
    idle = {"event": "idle", "producer": "c"}
    log.arrive(100, DISPATCH | {"time": 60}, *(idle | {"time": time} for time in (72, 74, 76)))
    facts = log.facts()
    assert [seconds(record.at) for record in facts.idles] == [72, 74, 76]
    assert {producer.offset_ns for producer in facts.producers} == {0}


def test_a_clock_that_runs_ahead_is_moved_back_to_what_arrived(log: Log) -> None:
    log.arrive(1, DISPATCH)
    log.arrive(10, {"event": "idle", "time": 500, "producer": "c"})
    log.arrive(30, {"event": "output", "time": 510, "tokens": 5, "producer": "c"})
    facts = log.facts()
    assert [seconds(record.at) for record in facts.idles] == [10]
    assert facts.turns[0].outputs == ((at(20), 5),)


def test_without_a_producer_a_record_from_the_future_counts_as_of_its_first_arrival(log: Log) -> None:
    future = [
        {"event": "idle", "time": 200},
        {"event": "tool_call", "time": 201, "phase": "ended", "tool": "Read"},
        {"event": "output", "time": 202.03, "tokens": 9},
    ]
    log.arrive(1, DISPATCH)
    log.arrive(20, *future)
    log.arrive(30, {"event": "heartbeat", "time": 29})
    log.arrive(300, *future)
    facts = log.facts()
    assert [seconds(record.at) for record in facts.idles] == [20]
    assert facts.turns[0].tools == (at(20),)
    assert facts.turns[0].outputs == ((at(20), 9),)
    assert facts.last_activity_at == at(29)


def test_the_deadline_is_a_duration_whatever_the_clock_of_the_dispatch(log: Log) -> None:
    log.arrive(500, DISPATCH | {"expected_s": 90}, *(
        {"event": "launch", "time": time, "state": state, "producer": "harness"}
        for time, state in ((1, "queued"), (2, "reserved"), (3, "registered"))
    ))  # fmt: skip
    dispatch = log.facts().dispatch
    assert dispatch is not None
    assert (seconds(dispatch.at), dispatch.expected_ns) == (497, 90 * SECOND)


# --- the numbering of producers ----------------------------------------------------------------------------------


def numbered(*numbers: int) -> list[dict[str, object]]:
    return [
        {"event": "heartbeat", "time": number / 100, "producer": "c", "seq": number} for number in numbers
    ]


@pytest.mark.parametrize(
    ("numbers", "after"),
    [
        ([1, 2, 3], None),
        ([1, 2, 5, 6], 5),
        ([3, 4], 3),
        ([1, 4, 5, 9, 10], 9),
        ([*range(1, 130)], None),
        ([*range(1, 64), *range(65, 70)], 65),
        ([*range(1, 60), *range(64, 70)], 64),
        ([1, *range(130, 135)], 130),
        ([*range(1, 64), *range(130, 135)], 130),
        ([*range(1, 5), *range(7, 300)], 7),
    ],
)
def test_a_hole_is_known_by_the_first_record_after_the_last_of_them(
    log: Log, numbers: list[int], after: int | None
) -> None:
    log.arrive(numbers[-1] / 100, DISPATCH, *numbered(*numbers))
    (child,) = [producer for producer in log.facts().producers if producer.child_side]
    assert child.hole_after == (None if after is None else at(after / 100))


def test_a_hole_that_is_filled_is_none(log: Log) -> None:
    log.arrive(1, DISPATCH, *numbered(1, 2, 5))
    log.arrive(2, *numbered(3, 4))
    (child,) = [producer for producer in log.facts().producers if producer.child_side]
    assert child.hole_after is None


def test_what_a_producer_announced_is_known(log: Log) -> None:
    log.arrive(
        5,
        DISPATCH | {"export_interval_s": 5},
        {"event": "start", "attempt": 2, "producer": "c", "keepalive_s": 20},
    )
    facts = log.facts()
    assert facts.starts == (Start(at(5), 2, f"{log.session}/c"),)
    assert {(p.child_side, p.keepalive_ns) for p in facts.producers} == {(False, None), (True, 20 * SECOND)}
    assert facts.neighbours.owner.export_interval_ns == 5 * SECOND
