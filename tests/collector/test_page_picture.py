"""What the picture of a run says: where its story stops, what is ahead, and that ten thousand calls are a picture too."""

from __future__ import annotations

from typing import Any

import pytest

from headcount_collector.evidence.moment import moment_ns
from headcount_collector.judge.facts import Dispatch, Facts, Wait
from headcount_collector.judge.policy import SECOND, Policy
from headcount_collector.judge.verdict import Receipts, Verdict
from headcount_collector.page.picture import Scale, chart_of, picture_of, tree
from headcount_collector.page.words import account_parts, ago, moments, recover_command, wrong_words
from headcount_collector.store import Store, migrate
from headcount_collector.watch.course import course_of
from headcount_collector.watch.documents import document_of, rfc3339

T0 = 1_796_000_000 * SECOND


def document(run: str = "r1", **other: Any) -> dict[str, Any]:
    said = {"agent": "worker", "receipts": Receipts(run, dispatch_at=T0), **other}
    return document_of(Verdict("s1", run, T0 + 600 * SECOND, "active", "9", T0, **said))


def moment(seconds: float) -> str:
    return rfc3339(T0 + round(seconds * SECOND)) or ""


@pytest.fixture(scope="module")
def store() -> Any:
    opened = Store.open(":memory:")
    migrate(opened)
    yield opened
    opened.close()


def test_an_open_wait_lasts_until_now_and_not_to_the_deadline_ahead(store: Store) -> None:
    facts = Facts("s1", "r1", first_at=T0, dispatch=Dispatch(T0), waits=(Wait(T0 + 60 * SECOND, "approval"),))
    waiting = {**document(deadline=T0 + 900 * SECOND), "rule": "6", "status": "blocked"}
    course = course_of(store, waiting, facts, Policy(), T0 + 600 * SECOND)
    assert course["gap"] == {"from": moment(60), "to": moment(600), "text": "waiting"}
    picture = picture_of(course)
    assert picture is not None
    assert picture.now == pytest.approx(66.667)
    assert picture.gap_length == "9m"
    (wait,) = [bar for bar in picture.bars if bar.kind == "approval"]
    assert wait.x + wait.width == pytest.approx(picture.now)


def test_a_deadline_far_ahead_does_not_press_the_past_into_a_corner(store: Store) -> None:
    facts = Facts("s1", "r1", first_at=T0, dispatch=Dispatch(T0))
    course = course_of(store, document(deadline=T0 + 90_000 * SECOND), facts, Policy(), T0 + 600 * SECOND)
    assert moment_ns(course["ends"]) <= T0 + 1200 * SECOND
    assert "deadline" not in [mark["kind"] for mark in course["marks"]]


def test_what_nothing_is_known_of_has_no_picture(store: Store) -> None:
    assert picture_of(course_of(store, document(), None, Policy(), T0)) is None


@pytest.mark.parametrize("length_s", [1, 7, 59, 600, 5000, 90_000, 3_000_000])
def test_the_axis_has_a_few_round_times(length_s: int) -> None:
    ticks = list(Scale(T0, T0 + length_s * SECOND).ticks())
    assert 1 <= len(ticks) <= 8
    assert ticks[0] == (0.0, "0")
    assert all(0 <= x <= 100 for x, _ in ticks)


def test_runs_stand_below_the_run_in_which_their_owner_works() -> None:
    runs = [
        document("below", owner="c-lead"),
        document("lead", child_sessions=("c-lead",)),
        document("stranger", owner="somebody else"),
    ]
    assert [(depth, run["run"]) for depth, run in tree(runs)] == [(0, "lead"), (1, "below"), (0, "stranger")]


def test_a_circle_of_owners_loses_no_run() -> None:
    runs = [
        document("a", owner="c-b", child_sessions=("c-a",)),
        document("b", owner="c-a", child_sessions=("c-b",)),
    ]
    assert sorted(run["run"] for _, run in tree(runs)) == ["a", "b"]


def test_a_session_of_which_no_time_is_known_has_no_chart() -> None:
    line: dict[str, Any] = {
        "from": None,
        "started": None,
        "worked": [],
        "waits": [],
        "ended": None,
        "delivered": None,
    }
    assert chart_of([document()], [line], moment(1)) is None


def test_moments_in_sentences_become_elements_and_the_rest_stays_text() -> None:
    said = str(moments("<b> since 2026-12-01 01:02:03Z & 2026-99-99 01:02:03Z"))
    assert said.startswith("&lt;b&gt; since <time datetime=")
    assert "&amp; 2026-99-99 01:02:03Z" in said


def test_an_age_is_an_element_that_the_browser_keeps_current() -> None:
    assert "data-ago" in ago(moment(0), T0 + 65 * SECOND)
    assert ">1m 5s<" in ago(moment(0), T0 + 65 * SECOND)
    assert ">in 5s<" in ago(moment(70), T0 + 65 * SECOND)
    assert "time" not in ago(None, T0)


def test_the_parts_of_an_account_fill_its_bar() -> None:
    account = {"total_s": 10, "working_s": 4, "waiting_s": {"queue": 3}, "idle_s": 2, "delivery_s": 1}
    parts = account_parts(account)
    assert [part["text"] for part in parts] == [
        "working 4s",
        "waiting (queue) 3s",
        "idle 2s",
        "on its way back 1s",
    ]
    assert sum(part["width"] for part in parts) == pytest.approx(100)
    assert account_parts({**account, "total_s": 0}) == []


def test_the_command_that_recovers_is_safe_to_paste() -> None:
    lost = {**document("a'; rm -rf ~", result_location="file:///x"), "status": "blocked"}
    assert recover_command(lost) == "headcount recover 'a'\\''; rm -rf ~'"
    assert recover_command({**lost, "result_location": None}) == ""
    assert recover_command({**lost, "status": "completed"}) == ""


def test_what_is_wrong_is_told_in_words() -> None:
    assert wrong_words({"kind": "class", "name": "unclear_slow_or_lost", "leaning": "slow"}).startswith(
        "slow"
    )
    assert "fetch it" in wrong_words({"kind": "class", "name": "done_but_not_forwarded", "leaning": None})
    assert wrong_words({"kind": "signal", "name": "idle_stall", "leaning": None}) == "idle stall"
