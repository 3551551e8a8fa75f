"""Groups: what an owner is owed is conserved from the dispatch to the end, and passes on when an owner ends."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headcount_collector.judge.facts import Dispatch, End, Facts, Forward, Launch, Result, Start
from headcount_collector.judge.groups import Group, Member, group_of, groups_of, heirs_of_runs
from headcount_collector.judge.judge import judge
from headcount_collector.judge.policy import SECOND, Policy
from headcount_collector.judge.verdict import Verdict

from .facts_strategies import T0, as_of


def member(verdict: Verdict) -> Member:
    return Member(
        verdict.run,
        verdict.owner,
        verdict.child_sessions,
        verdict.counts,
        verdict.remaining,
        verdict.undelivered,
        verdict.open,
        verdict.owner_gone,
    )


@dataclass(frozen=True, slots=True)
class Life:
    """One run's stations in whole seconds from T0; the later ones may never come."""

    dispatched: int
    ended: int | None
    delivered: int | None
    facts: Facts

    def dispatched_by(self, second: int) -> bool:
        return self.dispatched <= second

    def ended_by(self, second: int) -> bool:
        return self.ended is not None and self.ended <= second

    def delivered_by(self, second: int) -> bool:
        return self.delivered is not None and self.delivered <= second


@st.composite
def lives(draw: st.DrawFn) -> Life:
    stations = sorted(draw(st.lists(st.integers(0, 400), min_size=7, max_size=7, unique=True)))
    dispatched, queued, reserved, registered, started, ended, delivered = stations
    upto = draw(st.integers(0, 6))
    launches = [(queued, "queued", 1), (reserved, "reserved", 2), (registered, "registered", 3)]
    facts = Facts(
        "s",
        f"run-{dispatched}-{draw(st.integers(0, 10**9))}",
        first_at=T0 + dispatched * SECOND,
        dispatch=Dispatch(
            T0 + dispatched * SECOND,
            owner=draw(st.sampled_from(["", "lead"])),
            mode=draw(st.sampled_from(["background", "background", "teammate", "foreground"])),
        ),
        launches=tuple(Launch(T0 + s * SECOND, state) for s, state, place in launches if place <= upto),
        starts=(Start(T0 + started * SECOND),) if upto >= 4 else (),
        ends=(End(T0 + ended * SECOND, "child_done", "ok", Result(size=5)),) if upto >= 5 else (),
        forwards=(Forward(T0 + delivered * SECOND, True),) if upto >= 6 else (),
    )
    return Life(dispatched, ended if upto >= 5 else None, delivered if upto >= 6 else None, facts)


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(lives(), max_size=5, unique_by=lambda life: life.facts.run), st.integers(0, 450))
def test_each_run_is_owed_once_from_its_dispatch_through_every_station_to_its_end(
    runs: list[Life], second: int
) -> None:
    now = T0 + second * SECOND
    known = [life for life in runs if life.dispatched_by(second)]
    members = [member(judge(as_of(life.facts, now), Policy(), now)) for life in known]
    for owner in ("", "lead"):
        own = [
            life
            for life in known
            if life.facts.dispatch is not None
            and life.facts.dispatch.owner == owner
            and life.facts.dispatch.mode != "foreground"
        ]
        group = group_of("s", owner, members)
        assert group.runs == len(own)
        assert group.remaining == sum(not life.ended_by(second) for life in own)
        assert group.undelivered == sum(
            life.ended_by(second) and not life.delivered_by(second) for life in own
        )
        assert group.settled == all(life.delivered_by(second) for life in own)


def waiting(run: str, owner: str, *children: str, **other: bool) -> Member:
    given_: dict[str, bool] = {"counts": True, "remaining": True, "undelivered": False, "open": True, **other}
    return Member(run, owner, children, **given_)


def closed(run: str, owner: str, *children: str) -> Member:
    return waiting(run, owner, *children, remaining=False, open=False)


def test_a_resumed_run_counts_anew() -> None:
    assert group_of("s", "", [closed("x", ""), waiting("x#2", "")]) == Group("s", "", 2, 1, 0)


def test_foreground_runs_never_count() -> None:
    assert groups_of("s", [waiting("x", "", counts=False)]) == []


def test_an_owner_without_runs_is_settled() -> None:
    assert group_of("s", "nobody", []).settled


def test_what_an_ended_owner_was_owed_is_owed_to_its_own_owner() -> None:
    members = [
        waiting("top", "", "c-top"),
        closed("middle", "c-top", "c-middle"),
        waiting("a", "c-middle"),
        waiting("b", "c-middle", remaining=False, undelivered=True),
        closed("done", "c-middle"),
    ]
    assert group_of("s", "c-top", members) == Group("s", "c-top", 3, 1, 1)
    assert group_of("s", "c-middle", members) == Group("s", "c-middle", 1)
    assert heirs_of_runs(members) == {"top": "", "a": "c-top", "b": "c-top"}


def test_a_chain_of_ended_owners_leads_to_the_root() -> None:
    members = [closed("a", "", "ca"), closed("b", "ca", "cb"), waiting("c", "cb")]
    assert heirs_of_runs(members) == {"c": ""}


def test_an_owner_that_is_gone_and_no_run_hands_over_to_the_root() -> None:
    assert heirs_of_runs([waiting("a", "somebody", owner_gone=True)]) == {"a": ""}


def test_an_owner_still_at_work_in_one_of_its_runs_keeps_what_it_is_owed() -> None:
    members = [closed("x", "", "c"), waiting("x#2", "", "c"), waiting("a", "c")]
    assert heirs_of_runs(members)["a"] == "c"


def test_owners_in_a_circle_are_no_endless_walk() -> None:
    members = [closed("a", "cb", "ca"), closed("b", "ca", "cb"), waiting("c", "ca")]
    assert heirs_of_runs(members)["c"] in ("ca", "cb")
