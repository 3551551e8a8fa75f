"""The tick over the real engine: what it writes of a change, what it withholds, and where it takes up after a restart."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator

import pytest

from headcount_collector.evidence import wire
from headcount_collector.evidence.record import AttributeValue, Record, export_request
from headcount_collector.judge.groups import group_of
from headcount_collector.judge.policy import SECOND, Policy
from headcount_collector.judge.verdict import Verdict
from headcount_collector.store import Store, migrate
from headcount_collector.watch.tick import Tick, TickReport
from headcount_collector.watch.verdicts import Transition

POLICY = Policy.from_mapping({"expected": "60s", "warm_up": "60s"})
SUSPECT = "suspect_delivery_failure"


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with contextlib.closing(Store.open(":memory:")) as opened:
        migrate(opened, retention_days=3650)
        yield opened


class Scene:
    """One session in the shared store, at an hour of its own; moments are whole seconds of it."""

    _hours = itertools.count()

    def __init__(self, store: Store) -> None:
        hour = next(self._hours)
        self.store = store
        self.session = f"s{hour}"
        self._t0 = 1_796_000_000 * SECOND + hour * 24 * 3600 * SECOND
        self.tick = self.new_tick()
        self.received = self._t0

    def new_tick(self) -> Tick:
        return Tick(self.store, POLICY)

    def at(self, second: float) -> int:
        return self._t0 + round(second * SECOND)

    def commit(
        self, event: str, second: float, arrived: float, run: str = "r", **attributes: AttributeValue
    ) -> None:
        named = {getattr(wire, name): value for name, value in attributes.items()}
        record = Record(event, self.at(second), run, self.session, named, service="here")
        self.received = self.at(arrived)
        self.store.commit([export_request([record]).SerializeToString()], self.received)

    def evaluate(self, second: float) -> tuple[dict[str, Verdict], list[Transition]]:
        return self.mine(self.tick.evaluate(self.at(second), self.received))

    def mine(self, report: TickReport) -> tuple[dict[str, Verdict], list[Transition]]:
        verdicts = {
            run: verdict for (session, run), verdict in report.verdicts.items() if session == self.session
        }
        return verdicts, [one for one in report.transitions if one.verdict.session == self.session]

    def log(self, run: str = "r") -> list[tuple[str | None, str, bool]]:
        found = self.tick.verdicts.transitions(self.session, run)
        return [(change["from"], change["to"], change["late"]) for change in found]


@pytest.fixture
def scene(store: Store) -> Scene:
    return Scene(store)


def test_each_change_is_one_record_and_what_does_not_change_is_none(scene: Scene) -> None:
    scene.commit("dispatch", 0, 0, AGENT="worker")
    assert [len(scene.evaluate(second)[1]) for second in (1, 2, 59)] == [1, 0, 0]
    assert [len(scene.evaluate(second)[1]) for second in (60, 61, 62)] == [1, 0, 0]
    scene.commit("completion_forwarded", 63, 63, FORWARDED=True)
    assert [len(scene.evaluate(second)[1]) for second in (63, 64)] == [1, 0]
    log = scene.log()
    assert [(before, after) for before, after, _ in log] == [
        (None, "active"),
        ("active", SUSPECT),
        (SUSPECT, log[-1][1]),
    ]
    assert log[-1][1] in ("recovered", "completed")
    assert not any(late for _, _, late in log)


def test_only_what_changed_or_is_due_is_judged(scene: Scene) -> None:
    scene.commit("dispatch", 0, 0, AGENT="worker")
    verdicts, _ = scene.evaluate(1)
    due = verdicts["r"].next_due
    assert due is not None
    assert scene.evaluate((due - scene.at(0)) / SECOND - 0.001)[0] == {}
    assert set(scene.evaluate((due - scene.at(0)) / SECOND)[0]) == {"r"}


def test_of_a_session_in_which_all_is_over_nothing_stays_in_memory(scene: Scene) -> None:
    for run in ("r", "other"):
        scene.commit("dispatch", 0, 0, run)
    scene.evaluate(1)
    scene.commit("dismiss", 2, 2, "other")
    scene.evaluate(2)
    assert scene.tick.remembers(scene.session)
    scene.commit("dismiss", 3, 3)
    verdicts, _ = scene.evaluate(3)
    assert not verdicts["r"].watched
    assert not scene.tick.remembers(scene.session)
    scene.commit("dispatch", 4, 4, "new", OWNER="r")
    assert set(scene.evaluate(4)[0]) == {"new"}


def test_every_evaluation_leaves_a_record_whether_or_not_it_judged_anything(scene: Scene) -> None:
    scene.commit("dispatch", 0, 0)
    scene.tick.evaluate(scene.at(1), scene.received, late_ns=7)
    for second in (2, 3):
        scene.tick.evaluate(scene.at(second), scene.received)
    scene.tick.flush()
    rows = scene.store.query(
        "SELECT toUnixTimestamp64Nano(at), judged > 0, late_ns, took_ns > 0 FROM evaluation"
        " WHERE toUnixTimestamp64Nano(at) BETWEEN {first:Int64} AND {last:Int64} ORDER BY at",
        {"first": scene.at(0), "last": scene.at(60)},
    )
    assert rows == [
        (scene.at(1), True, 7, True),
        (scene.at(2), False, 0, True),
        (scene.at(3), False, 0, True),
    ]


def test_a_change_that_rests_on_silence_is_held_while_the_observer_was_blind_and_then_released(
    scene: Scene,
) -> None:
    scene.commit("dispatch", 0, 0, AGENT="worker")
    scene.evaluate(1)
    scene.tick.observer.was_blind(scene.at(50), scene.at(70))
    verdicts, transitions = scene.evaluate(71)
    assert (verdicts["r"].status, verdicts["r"].held, transitions) == ("active", True, [])
    assert verdicts["r"].next_due == scene.at(130)
    verdicts, transitions = scene.evaluate(130)
    assert (verdicts["r"].status, verdicts["r"].held, len(transitions)) == (SUSPECT, False, 1)
    assert verdicts["r"].abnormal_since == scene.at(60)


def test_what_rests_on_evidence_is_not_held(scene: Scene) -> None:
    scene.commit("dispatch", 0, 0, AGENT="worker")
    scene.evaluate(1)
    scene.tick.observer.was_blind(scene.at(5), scene.at(20))
    scene.commit("completion_forwarded", 21, 21, FORWARDED=True)
    verdicts, _ = scene.evaluate(22)
    assert (verdicts["r"].status, verdicts["r"].held) == ("completed", False)


def test_news_that_comes_late_is_believed_now_and_marked_late(scene: Scene) -> None:
    scene.commit("dispatch", 0, 0, AGENT="worker")
    for second in (1, 60, 100):
        scene.evaluate(second)
    scene.commit("completion_forwarded", 90, 120, FORWARDED=True)
    scene.evaluate(121)
    assert scene.log()[-1][2]
    change = scene.tick.verdicts.transitions(scene.session, "r")[-1]
    assert change["happened_at"] < change["believed_at"]


def test_what_turns_by_time_alone_is_not_late(scene: Scene) -> None:
    scene.commit("dispatch", 0, 0, AGENT="worker")
    for second in (1, 60, 959, 960):
        scene.evaluate(second)
    assert scene.log() == [
        (None, "active", False),
        ("active", SUSPECT, False),
        (SUSPECT, "blocked", False),
    ]


def test_after_a_restart_nothing_is_told_again_and_nothing_forgotten(scene: Scene) -> None:
    scene.commit("dispatch", 0, 0, AGENT="worker")
    scene.evaluate(58)
    scene.tick = scene.new_tick()
    scene.tick.resume(scene.at(59))
    assert scene.tick.observer.state(scene.at(59)) == "ok"
    assert scene.evaluate(59)[1] == []
    scene.evaluate(61)
    assert [(before, after) for before, after, _ in scene.log()] == [(None, "active"), ("active", SUSPECT)]


def test_a_gap_before_a_restart_is_an_outage(scene: Scene) -> None:
    scene.commit("dispatch", 0, 0, AGENT="worker")
    scene.evaluate(1)
    scene.tick = scene.new_tick()
    scene.tick.resume(scene.at(100))
    verdicts, transitions = scene.evaluate(100)
    assert (verdicts["r"].held, transitions) == (True, [])
    assert scene.evaluate(160)[0]["r"].status == SUSPECT


def test_a_restart_after_the_clock_was_set_back_hears_and_tells_what_comes_from_then_on(scene: Scene) -> None:
    scene.commit("dispatch", 0, 0, AGENT="worker")
    scene.commit("heartbeat", 4999, 4999)
    scene.evaluate(5000)
    scene.tick = scene.new_tick()
    scene.tick.resume(scene.at(20))
    assert scene.tick.observer.state(scene.at(20)) == "ok"
    scene.commit("completion_forwarded", 21, 21, FORWARDED=True)
    verdicts, _ = scene.evaluate(22)
    assert verdicts["r"].status == "completed"
    (document,) = scene.tick.verdicts.named("r", scene.session)
    assert document["status"] == "completed"


def test_a_clock_that_is_set_back_lets_nothing_be_missed_nor_a_wrong_verdict_stay(scene: Scene) -> None:
    scene.commit("dispatch", 0, 0, AGENT="worker")
    scene.evaluate(1)
    verdicts, _ = scene.evaluate(3605)  # of an hour that nobody lived
    assert verdicts["r"].abnormal
    scene.commit("dispatch", 3606, 3606, "under way", AGENT="worker")  # visible after the step only
    scene.tick.set_back(3600 * SECOND, scene.at(7))
    scene.commit("dispatch", 6.5, 6.5, "after", AGENT="worker")
    scene.received = scene.at(7)
    verdicts, _ = scene.evaluate(7)
    assert {run: verdict.status for run, verdict in verdicts.items()} == dict.fromkeys(
        ("r", "under way", "after"), "active"
    )
    due = verdicts["after"].next_due
    assert due is not None
    assert due < scene.at(120)
    assert "under way" in scene.evaluate(8)[0]  # for a minute nobody knows what is still under way
    assert "under way" not in scene.evaluate(67)[0]


def test_no_owner_and_the_empty_owner_are_one(scene: Scene) -> None:
    scene.commit("dispatch", 0, 0, "a", AGENT="worker")
    scene.commit("dispatch", 0, 1, "b", AGENT="worker", OWNER="")
    scene.commit("dispatch", 0, 2, "c", AGENT="worker", OWNER="lead")
    scene.evaluate(3)
    members = scene.tick.verdicts.members(scene.session)
    assert (group_of("s", "", members).remaining, group_of("s", "lead", members).remaining) == (2, 1)
