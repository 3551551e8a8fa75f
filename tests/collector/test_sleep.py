"""Sleep of the host: for a run that was silent meanwhile it is as if no time had passed."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headcount_collector.judge.facts import Dispatch, Facts, Start, Turn
from headcount_collector.judge.judge import judge
from headcount_collector.judge.policy import SECOND, Policy
from headcount_collector.judge.verdict import Verdict
from headcount_collector.watch.sleep import with_sleep, without_sleep

from .facts_strategies import POLICY, T0, facts, last_moment

RUN = Facts("s", "r", first_at=T0, dispatch=Dispatch(T0), starts=(Start(T0),), heard_at=T0)


def moments(verdict: Verdict) -> tuple[object, ...]:
    return (
        verdict.status,
        verdict.failure_class,
        verdict.severity,
        verdict.since,
        verdict.abnormal_since,
        verdict.first_abnormal_at,
        verdict.ended_at,
        verdict.delivered_at,
        verdict.void_at,
        verdict.last_progress_at,
        verdict.last_activity_at,
        verdict.receipts.dispatch_at,
        verdict.receipts.completion_received_at,
        verdict.account,
        [(signal.name, signal.since) for signal in verdict.signals],
    )


@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(facts(), st.integers(0, 600), st.integers(1, 100_000))
def test_who_wakes_is_judged_as_who_fell_asleep(known: Facts, later: int, length: int) -> None:
    begin = last_moment(known) + later * SECOND
    end = begin + length * SECOND
    moved, slept = without_sleep(known, [(begin, end)])
    assert slept == [(begin, end)]
    assert moments(with_sleep(judge(moved, POLICY, end), slept)) == moments(judge(known, POLICY, begin))


@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(facts(), st.lists(st.integers(0, 500), min_size=2, max_size=3, unique=True))
def test_several_sleeps_are_put_back_in_their_order(known: Facts, seconds: list[int]) -> None:
    first = last_moment(known)
    sleeps = [(first + s * SECOND + 1, first + s * SECOND + SECOND // 2) for s in sorted(seconds)]
    begin, end = first, sleeps[-1][1]
    moved, slept = without_sleep(known, sleeps)
    back = with_sleep(judge(moved, POLICY, end), slept)
    assert back.receipts.dispatch_at == T0
    assert back.last_progress_at == judge(known, POLICY, begin).last_progress_at


def test_a_run_that_was_heard_in_the_meantime_keeps_its_times() -> None:
    known = replace(RUN, turns=(Turn(None, tools=(T0 + 100 * SECOND,)),))
    sleep = (T0 + 50 * SECOND, T0 + 150 * SECOND)
    assert without_sleep(known, [sleep]) == (known, [])


def test_a_sleep_before_the_run_is_none_of_its() -> None:
    assert without_sleep(RUN, [(T0 - 100, T0 - 50)]) == (RUN, [])


def test_a_night_s_sleep_makes_no_run_late() -> None:
    sleep = (T0 + 60 * SECOND, T0 + 8 * 3600 * SECOND)
    now = sleep[1] + 60 * SECOND
    assert judge(RUN, Policy(), now).abnormal
    assert not judge(without_sleep(RUN, [sleep])[0], Policy(), now).abnormal
