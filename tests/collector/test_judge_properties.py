"""Properties of the judgement: it is pure, it announces its own changes, and it looks back as it looked at the time."""

from __future__ import annotations

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from headcount_collector.judge.facts import Dispatch, Facts, Start, Turn, Wait
from headcount_collector.judge.judge import judge
from headcount_collector.judge.policy import SECOND
from headcount_collector.judge.verdict import COMPLETED, RECOVERED, Verdict

from .facts_strategies import POLICY, T0, as_of, facts, last_moment

SLOW = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


def core(verdict: Verdict) -> tuple[object, ...]:
    signals = sorted((signal.name, signal.severity) for signal in verdict.signals)
    return (
        verdict.status,
        verdict.failure_class,
        verdict.leaning,
        verdict.severity,
        verdict.remaining,
        tuple(signals),
    )


@SLOW
@given(facts())
def test_every_change_by_time_alone_is_announced(known: Facts) -> None:
    now = last_moment(known)
    before = judge(known, POLICY, now)
    for _ in range(400):
        now += SECOND
        after = judge(known, POLICY, now)
        if core(after) != core(before):
            assert before.next_due is not None
            assert before.next_due <= now, (core(before), core(after))
        before = after


@SLOW
@given(facts())
def test_a_delivered_run_is_recovered_exactly_where_it_was_seen_abnormal_before(known: Facts) -> None:
    now = last_moment(known)
    final = judge(known, POLICY, now)
    if final.rule != "2":
        return
    seen = [judge(as_of(known, t), POLICY, t) for t in range(T0, now, SECOND)]
    abnormal = [v for v in seen if v.abnormal and v.rule != "6" and v.leaning != "slow"]
    assert final.status == (RECOVERED if abnormal else COMPLETED), [
        (v.at - T0, v.rule, v.status) for v in abnormal[:3]
    ]


WAITS_FOR_NOBODY_AND_WORKS_NOW_AND_THEN = Facts(
    "s",
    "r",
    first_at=T0,
    dispatch=Dispatch(T0, agent="worker"),
    starts=(Start(T0),),
    turns=(Turn(None, tools=(T0 + 50 * SECOND, T0 + 75 * SECOND), tokens=(T0,)),),
    waits=(Wait(T0, "child"),),
    heard_at=T0,
    last_activity_at=T0 + 232 * SECOND,
)


@SLOW
@given(facts())
@example(WAITS_FOR_NOBODY_AND_WORKS_NOW_AND_THEN)
def test_an_abnormal_run_is_so_since_the_moment_at_which_it_was_first_seen_so(known: Facts) -> None:
    now = last_moment(known)
    final = judge(known, POLICY, now)
    if not final.abnormal:
        return
    since = now
    for t in range(now - SECOND, T0 - SECOND, -SECOND):
        if not judge(as_of(known, t), POLICY, t).abnormal:
            break
        since = t
    assert final.abnormal_since == since


@given(facts(), st.integers(0, 600))
@settings(deadline=None, max_examples=100)
def test_the_same_facts_give_the_same_verdict(known: Facts, later: int) -> None:
    now = last_moment(known) + later * SECOND
    assert judge(known, POLICY, now) == judge(known, POLICY, now)
