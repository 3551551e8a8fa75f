"""Time accounts: the parts add up, and what looks like idling but is explained is not called so."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headcount_collector.judge.accounts import Account
from headcount_collector.judge.facts import (
    Dispatch,
    End,
    Facts,
    Forward,
    Launch,
    Neighbours,
    OpenTool,
    Request,
    Result,
    Start,
    Turn,
    Wait,
)
from headcount_collector.judge.judge import judge
from headcount_collector.judge.policy import SECOND, Policy

from .facts_strategies import POLICY, T0, facts, last_moment


def at(second: float) -> int:
    return T0 + round(second * SECOND)


RUN = Facts("s", "r", first_at=T0, dispatch=Dispatch(T0, agent="worker"), heard_at=T0, starts=(Start(T0),))


def account(known: Facts, now_s: float, policy: Policy | None = None) -> Account:
    return judge(known, policy or Policy(), at(now_s)).account


def worked(*seconds: int) -> tuple[Turn, ...]:
    return (Turn(None, tuple(at(second) for second in seconds)),)


@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(facts(), st.integers(0, 900))
def test_the_parts_add_up_to_the_total_and_none_is_negative(known: Facts, later: int) -> None:
    for now in (T0 + later * SECOND, last_moment(known)):
        found = judge(known, POLICY, now).account
        parts = (found.working, *found.waiting.values(), found.idle, found.delivery)
        assert sum(parts) == found.total
        assert min(parts) >= 0, found


@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(facts(), st.integers(1, 600))
def test_the_account_of_a_settled_run_stands_still(known: Facts, later: int) -> None:
    now = last_moment(known)
    before = judge(known, POLICY, now)
    if before.delivered_at is not None or before.void_at is not None:
        assert judge(known, POLICY, now + later * SECOND).account == before.account


def test_a_set_up_that_is_a_tool_of_562_seconds_is_work() -> None:
    known = replace(
        RUN, open_tools=(OpenTool(at(1), "Setup", ended=at(563)),), turns=worked(563, 600), tool_calls=2
    )
    assert account(known, 600) == Account(600 * SECOND, 600 * SECOND)


def test_a_long_model_request_is_work() -> None:
    known = replace(RUN, requests=(Request(at(5), ended=at(400)),), turns=worked(400))
    assert account(known, 410).idle == 0


def test_silence_that_nothing_explains_is_idle_and_a_short_one_is_work() -> None:
    known = replace(RUN, turns=worked(60, 60 + 1000, 1200))
    found = account(known, 1200)
    assert (found.idle, found.working) == (1000 * SECOND, 200 * SECOND)


def test_time_in_a_queue_is_waiting() -> None:
    known = replace(
        RUN,
        launches=(Launch(at(0), "queued"), Launch(at(240), "registered")),
        starts=(Start(at(240)),),
        turns=worked(250),
    )
    assert account(known, 260).waiting == {"queue": 240 * SECOND}


def test_waits_that_overlap_count_once() -> None:
    known = replace(
        RUN,
        waits=(Wait(at(10), "approval", at(100)), Wait(at(50), "rate_limit", at(130))),
        turns=worked(5, 140),
    )
    found = account(known, 140)
    assert found.waiting == {"approval": 90 * SECOND, "rate_limit": 30 * SECOND}
    assert found.working == 20 * SECOND


def test_the_way_of_the_result_to_its_owner_is_delivery() -> None:
    known = replace(
        RUN,
        turns=worked(50),
        ends=(End(at(60), "child_done", "ok", Result(size=9)),),
        forwards=(Forward(at(75), True),),
    )
    assert account(known, 999) == Account(75 * SECOND, 60 * SECOND, delivery=15 * SECOND)


@pytest.mark.parametrize("now_s", [-5, 0])
def test_a_run_that_has_just_been_dispatched_has_spent_nothing(now_s: int) -> None:
    assert account(RUN, now_s) == Account()


def test_a_run_that_nobody_dispatched_has_no_account() -> None:
    stray = Facts("s", "r", first_at=T0, turns=worked(10), heard_at=T0, neighbours=Neighbours())
    assert account(stray, 500) == Account()
