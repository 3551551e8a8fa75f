"""The ladder by itself: what climbs, what rests, what closes, and that nothing is said twice or forgotten."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount_alerts.errors import AlertsConfigError, UnknownIncident
from headcount_alerts.incident import Incident
from headcount_alerts.silence import Matcher, new_silence, parse_matcher
from headcount_alerts.state import document_of, incident_of
from headcount_collector.judge.policy import Policy

from .verdicts import T0, WINDOW, S, World, delivered, fine, signal, verdict


def test_a_page_climbs_three_steps_and_is_quiet_until_it_is_said_again() -> None:
    world = World()
    assert world.at(0, verdict()) == ["opened", "joined", "notified"]
    world.run_out(9 * 3600)
    assert world.steps == [
        (0, "notified"),
        (600, "reminded"),
        (1200, "escalated"),
        (1200 + 8 * 3600, "escalated"),
    ]


def test_an_attended_session_climbs_by_its_own_times() -> None:
    world = World(Policy.from_mapping({"attended": {"window": "1m"}, "unattended": {"window": "30m"}}))
    world.at(0, replace(verdict(), attended=True))
    world.at(0, verdict(run="r2", session="s2"))
    world.run_out(200)
    assert world.steps == [(0, "notified"), (0, "notified"), (60, "reminded"), (120, "escalated")]


def test_a_warning_is_said_once() -> None:
    world = World()
    world.at(0, verdict(severity="warn"))
    world.run_out(100_000)
    assert world.steps == [(0, "notified")]


def test_a_remark_opens_nothing() -> None:
    world = World()
    assert world.at(0, verdict(severity="info"), fine("r2", signals=(signal("model_changed", "info"),))) == []
    assert world.level() is None


def test_delivery_closes_and_says_so_to_whom_it_was_told() -> None:
    world = World()
    world.at(0, verdict())
    assert world.at(50, delivered(at_s=50)) == ["closed"]
    assert world.steps[-1] == (50, "closed")


def test_work_that_goes_on_pauses_and_closes_nothing() -> None:
    world = World()
    world.at(0, verdict())
    assert world.at(100, fine(at_s=100)) == ["paused"]
    world.run_out(5000)
    assert world.steps == [(0, "notified")]
    assert world.at(5000, verdict(at_s=5000)) == ["resumed"]
    world.run_out(5600)
    assert world.steps[-1] == (5600, "reminded")


def test_a_run_without_any_further_telemetry_stays_open_for_ever() -> None:
    world = World()
    world.at(0, verdict())
    for day in range(1, 10):
        world.at(day * 86400)
    assert world.level() == "escalated"


def test_a_flapping_run_makes_one_incident_and_few_messages() -> None:
    world = World()
    for second in range(0, 590, 10):
        world.at(second, verdict(at_s=second) if second % 20 == 0 else fine(at_s=second))
    assert [what for _, what, _ in world.log].count("opened") == 1
    assert world.steps == [(0, "notified")]


def test_a_second_page_starts_the_ladder_again_even_after_an_escalation_and_an_acknowledgement() -> None:
    world = World()
    world.at(0, verdict())
    world.run_out(1200)
    incident = world.ladder.find("s1", "")
    assert incident is not None
    world.note(world.ladder.acknowledge(incident, "anna", T0 + 1300 * S))
    world.at(1400, verdict("r2", 1400))
    world.run_out(2700)
    assert world.steps[-3:] == [(1400, "notified"), (2000, "reminded"), (2600, "escalated")]


def test_what_turns_into_a_page_by_time_alone_counts_only_if_the_incident_rises() -> None:
    world = World()
    world.at(
        0, verdict(failure_class="unclear_slow_or_lost", severity="warn", leaning="silent"), verdict("r2")
    )
    later = verdict(failure_class="unclear_slow_or_lost", severity="page", leaning="silent", at_s=900)
    assert "raised" not in world.at(900, replace(later, last_traffic_at=T0))


def test_an_acknowledgement_rests_the_ladder_until_it_ends_and_closes_nothing() -> None:
    world = World()
    world.at(0, verdict())
    incident = world.ladder.find("s1", "")
    assert incident is not None
    world.note(world.ladder.acknowledge(incident, "anna", T0 + 10 * S))
    world.run_out(4 * 3600 + 10)
    assert world.steps == [(0, "notified"), (4 * 3600 + 10, "reminded")]


def test_only_an_acknowledgement_closes_a_signal_that_nothing_else_closes() -> None:
    world = World()
    world.at(0, delivered(signals=(signal("unattributed_kill"),)))
    assert world.level() == "notified"
    incident = world.ladder.find("s1", "")
    assert incident is not None
    assert world.note(world.ladder.acknowledge(incident, "anna", T0 + S)) == ["acknowledged", "closed"]
    with pytest.raises(UnknownIncident, match="is closed"):
        world.ladder.acknowledge(incident, "anna", T0 + 2 * S)


def test_a_silence_defers_and_what_is_over_when_it_ends_is_told_to_nobody() -> None:
    world = World()
    world.ladder.silence(new_silence([Matcher("agent", "=", "worker")], T0, T0 + 600 * S))
    assert world.at(10, verdict(at_s=10)) == ["opened", "joined", "deferred"]
    assert world.level() == "deferred"
    world.at(20, fine(at_s=20))
    world.run_out(1000)
    assert world.steps == []
    assert world.log[-1] == (600, "closed", "nothing was wrong any more when its message could have left")


def test_a_silence_that_covers_one_of_two_runs_defers_nothing() -> None:
    world = World()
    world.ladder.silence(new_silence([Matcher("run", "=", "r1")], T0, T0 + 600 * S))
    assert "notified" in world.at(0, verdict(), verdict("r2"))


def test_the_reason_of_a_deferral_is_said_when_it_changes_and_not_each_tick() -> None:
    world = World(gates={"hours": lambda incident, now: (f"shut {now // (600 * S)}", 0)})
    for second in range(0, 590, 10):
        world.at(second, *([verdict()] if second == 0 else []))
    assert [what for _, what, _ in world.log].count("deferred") == 1


def test_a_gate_that_never_opens_is_an_incident_itself_after_three_windows() -> None:
    world = World(
        gates={"routing": lambda incident, now: ("no way out", 0) if incident.kind == "owner" else None}
    )
    world.at(0, verdict())
    world.run_out(3 * WINDOW - 1)
    assert world.steps == []
    world.run_out(3 * WINDOW)
    assert world.steps == [(3 * WINDOW, "notified")]
    gate = world.ladder.find("", "gate:routing")
    assert gate is not None
    assert gate.severity == "page"
    assert "no way out" in gate.reason


def test_the_incident_of_a_gate_closes_when_the_gate_opens() -> None:
    shut = ["no way out"]
    world = World(
        gates={"routing": lambda incident, now: (shut[0], 0) if shut and incident.kind == "owner" else None}
    )
    world.at(0, verdict())
    world.run_out(3 * WINDOW)
    assert world.level("gate:routing", "") == "notified"
    shut.clear()
    world.at(3 * WINDOW + 10)
    assert world.level("gate:routing", "") == "closed"
    assert world.steps[-2:] == [(3 * WINDOW + 10, "notified"), (3 * WINDOW + 10, "closed")]


def test_a_degraded_observer_holds_back_what_rests_on_silence_only_and_says_that_it_is_blind() -> None:
    world = World()
    assert "deferred" in world.at(0, verdict(), degraded=True)
    assert world.level("observer", "") == "notified"
    assert "notified" in world.at(1, fine("r2", signals=(signal("duplicate_dispatch"),)), degraded=True)
    world.at(60)
    assert world.level("observer", "") == "closed"


def test_the_sleep_of_the_host_moves_the_windows_with_it() -> None:
    world = World()
    world.at(0, verdict())
    world.at(3700, sleeps=((T0 + 100 * S, T0 + 3700 * S),))
    assert world.steps == [(0, "notified")]
    world.run_out(4200)
    assert world.steps[-1] == (4200, "reminded")


def test_an_owner_that_is_gone_leaves_its_incident_with_its_level_to_its_own_owner() -> None:
    world = World()
    lead = fine("lead", child_sessions=("l-1",), counts=True)
    world.at(0, lead, verdict("x", owner="l-1"))
    world.run_out(600)
    assert (world.level("l-1"), world.level("")) == ("reminded", None)
    gone = delivered("lead", 700, child_sessions=("l-1",))
    world.at(700, gone, verdict("x", 0, owner="l-1"))
    assert (world.level("l-1"), world.level("")) == (None, "reminded")
    world.run_out(1300)
    assert world.steps == [(0, "notified"), (600, "reminded"), (1200, "escalated")]


def test_children_that_nobody_instrumented_are_one_incident_for_all() -> None:
    world = World()
    dark: dict[str, Any] = {
        "failure_class": "unclear_slow_or_lost",
        "leaning": "uninstrumented",
        "severity": "warn",
    }
    world.at(0, *(verdict(f"r{n}", session=f"s{n}", **dark) for n in range(20)))
    assert world.steps == [(0, "notified")]
    incident = world.ladder.find("", "uninstrumented:worker")
    assert incident is not None
    assert len(incident.members) == 20


def test_more_incidents_than_the_storm_limit_are_told_as_one_and_each_can_be_found() -> None:
    world = World()
    world.at(0, *(verdict(f"r{n}", session=f"s{n}") for n in range(10_000)))
    world.run_out(WINDOW * 3)
    assert world.steps == [(0, "notified"), (600, "reminded"), (1200, "escalated")]
    fleet = world.ladder.find("", "fleet")
    assert fleet is not None
    assert len(fleet.parts) == 10_000
    assert {world.ladder.open[number].fleet for number in fleet.parts} == {fleet.id}


def test_who_was_told_before_the_storm_hears_of_the_end() -> None:
    world = World(Policy.from_mapping({"storm": 1}))
    world.at(0, verdict(session="a"))
    world.at(10, verdict(session="b", at_s=10))
    assert world.level(session="a") == "muted"
    world.at(20, delivered(session="a", at_s=20))
    assert world.steps == [(0, "notified"), (10, "notified"), (20, "closed")]


def test_an_acknowledged_storm_that_grows_goes_on() -> None:
    world = World(Policy.from_mapping({"storm": 1}))
    world.at(0, verdict(session="a"), verdict(session="b"))
    fleet = world.ladder.find("", "fleet")
    assert fleet is not None
    world.note(world.ladder.acknowledge(fleet, "anna", T0 + 10 * S))
    world.run_out(599)
    world.at(599, verdict(session="c", at_s=599))
    world.run_out(700)
    assert world.steps == [(0, "notified"), (600, "reminded")]


def test_a_storm_of_what_is_silenced_is_told_to_nobody() -> None:
    world = World()
    world.ladder.silence(new_silence([Matcher("agent", "=", "worker")], T0, T0 + 600 * S))
    world.at(0, *(verdict(f"r{n}", session=f"s{n}") for n in range(20)))
    assert world.steps == []
    world.run_out(600)
    assert world.steps == [(600, "notified")]


def test_a_silence_of_a_fleet_incident_by_its_id_holds_the_fleet_back() -> None:
    world = World(Policy.from_mapping({"storm": 1}))
    world.at(0, verdict(session="a"), verdict(session="b"))
    fleet = world.ladder.find("", "fleet")
    assert fleet is not None
    world.ladder.silence(new_silence([Matcher("incident", "=", fleet.id)], T0, T0 + 900 * S))
    world.run_out(900)
    assert world.steps == [(0, "notified"), (900, "reminded")]


def test_ten_thousand_runs_of_one_owner_are_one_message() -> None:
    world = World()
    world.at(0, *(verdict(f"r{n}") for n in range(10_000)))
    assert world.steps == [(0, "notified")]
    world.at(10, *(delivered(f"r{n}", 10) for n in range(10_000)))
    assert world.level() == "closed"


def test_a_fleet_incident_closes_with_its_last_part() -> None:
    world = World(Policy.from_mapping({"storm": 1}))
    world.at(0, verdict(session="a"), verdict(session="b"))
    world.at(10, delivered(session="a", at_s=10))
    assert world.level("fleet", "") == "notified"
    world.at(20, delivered(session="b", at_s=20))
    assert world.level("fleet", "") == "closed"
    assert world.steps == [(0, "notified"), (20, "closed")]


_MOMENTS = st.lists(
    st.tuples(st.integers(1, 400), st.sampled_from(["wrong", "fine", "delivered", "none", "other"])),
    min_size=1,
    max_size=25,
)


@settings(max_examples=50, deadline=None)
@given(_MOMENTS, st.booleans())
def test_a_restart_at_any_moment_changes_nothing(moments: list[tuple[int, str]], silenced: bool) -> None:
    steady, restarted = World(), World()
    silences = [new_silence([Matcher("agent", "=", "worker")], T0, T0 + 900 * S)] if silenced else []
    for world in (steady, restarted):
        for silence in silences:
            world.ladder.silence(silence)
    second = 0
    for ahead, what in moments:
        second += ahead
        news = {
            "wrong": [verdict(at_s=second)],
            "fine": [fine(at_s=second)],
            "delivered": [delivered(at_s=second)],
            "other": [verdict("r2", second)],
            "none": [],
        }[what]
        for world in (steady, restarted):
            world.run_out(second - 1)
            world.at(second, *news)
        kept = [_through_json(incident) for incident in restarted.ladder.incidents]
        fresh = World()
        fresh.ladder.restore(kept, silences)
        fresh.log, fresh.steps, fresh.verdicts = restarted.log, restarted.steps, restarted.verdicts
        restarted = fresh
    assert restarted.log == steady.log
    assert restarted.steps == steady.steps


@settings(max_examples=50, deadline=None)
@given(_MOMENTS)
def test_what_is_open_is_owed_and_what_is_owed_and_wrong_is_open(moments: list[tuple[int, str]]) -> None:
    world, second, last = World(), 0, "none"
    for ahead, what in moments:
        second += ahead
        if what in ("wrong", "fine", "delivered"):
            made = {"wrong": verdict, "fine": fine, "delivered": delivered}[what]
            world.at(second, made(at_s=second))
            last = what
        level = world.level()
        assert (last == "wrong") <= (level not in (None, "closed"))
        assert (last == "delivered") <= (level in (None, "closed"))
    numbers = [s for s in world.steps if s[1] == "notified"]
    opened = [what for _, what, _ in world.log].count("opened")
    assert len(numbers) == opened


def test_matchers_are_read_as_they_are_written_and_a_bad_one_says_what_is_wrong() -> None:
    assert parse_matcher('agent="rev"') == parse_matcher("agent = rev") == Matcher("agent", "=", "rev")
    for text in ('agent="a\\"b"', "class=~owner_.*", "run!=x", "session!~s[0-9]+"):
        assert parse_matcher(str(parse_matcher(text))) == parse_matcher(text)
    with pytest.raises(AlertsConfigError, match="no matcher"):
        parse_matcher("agent")
    with pytest.raises(AlertsConfigError, match="cannot be matched"):
        parse_matcher("colour=red")
    with pytest.raises(AlertsConfigError, match="no regular expression"):
        parse_matcher("agent=~(")
    with pytest.raises(AlertsConfigError, match="hides everything"):
        new_silence([Matcher("agent", "=~", ".*")], 0, 1)


def _through_json(incident: Incident) -> Incident:
    return incident_of(json.loads(json.dumps(document_of(incident))))
