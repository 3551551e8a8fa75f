"""Whose news concerns whom: each edge of the watch index on its own, and what it forgets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headcount_collector.judge.facts import (
    Dispatch,
    End,
    Facts,
    Neighbours,
    Peer,
    ProducerHealth,
    Twin,
    Wait,
)
from headcount_collector.judge.policy import SECOND
from headcount_collector.judge.verdict import Verdict
from headcount_collector.watch.index import WatchIndex

T0 = 1_800_000_000 * SECOND


def run(name: str, session: str = "s", children: tuple[str, ...] = (), **dispatch: object) -> Facts:
    made = replace(Dispatch(T0, agent="worker", service="here"), **dispatch)  # type: ignore[arg-type]  # by name
    return Facts(session, name, (name,), children, T0, made, heard_at=T0)


def index(*known: Facts, status: str = "active", next_due: int | None = None) -> WatchIndex:
    found = WatchIndex()
    for facts in known:
        put(found, facts, status, next_due)
    return found


def put(found: WatchIndex, facts: Facts, status: str = "active", next_due: int | None = None) -> None:
    verdict = Verdict(facts.session, facts.run, T0, status, "9", T0, next_due=next_due)
    found.put((facts.session, facts.run), facts, verdict)


def concerned(found: WatchIndex, news: Facts) -> set[str]:
    return {name for _, name in found.concerned([news])} - {news.run}


@pytest.mark.parametrize("waker", ["w", "w-alias", "w-session"])
def test_a_waiter_hears_of_what_it_waits_for_by_any_of_its_names(waker: str) -> None:
    waiter = replace(run("r"), waits=(Wait(T0, "child", waker=waker),))
    news = replace(run("w", children=("w-session",)), names=("w", "w-alias"))
    assert concerned(index(waiter, run("x")), news) == {"r"}


def test_ancestors_hear_of_descendants_of_every_depth() -> None:
    runs = [run("r0"), *(run(f"r{depth}", parent=f"r{depth - 1}") for depth in range(1, 9))]
    assert concerned(index(*runs, run("x")), runs[-1]) == {f"r{depth}" for depth in range(8)}


def test_without_a_parent_run_the_owner_s_session_leads_up() -> None:
    root, middle = run("r0", children=("c0",)), run("r1", owner="c0", children=("c1",))
    assert concerned(index(root, middle), run("r2", owner="c1")) == {"r0", "r1"}


def test_a_circle_of_parents_ends() -> None:
    runs = [run("a", parent="b"), run("b", parent="a")]
    assert concerned(index(*runs), runs[0]) == {"b"}


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (run("a"), run("b", supersedes=("a",))),
        (run("a", prompt_digest="p"), run("b", prompt_digest="p")),
        (run("a", description_digest="d"), run("b", description_digest="d")),
        (run("a", children=("c",)), run("b", children=("c",))),
    ],
)
def test_what_was_superseded_or_asked_before_hears_of_what_came_after(earlier: Facts, later: Facts) -> None:
    other = run("x", prompt_digest="q", description_digest="e", children=("y",))
    assert concerned(index(earlier, other), later) == {"a"}


def test_a_child_session_of_another_owner_is_another() -> None:
    earlier = run("a", owner="lead", children=("c",), parent="p")
    assert ("s", "a") in index(earlier).concerned([run("b", owner="lead", children=("c",))])
    asked = [edge for edge in index(earlier)._edges if edge[0] == "asks-child"]
    assert asked == [("asks-child", "s", "lead", "c")]


def test_a_twin_and_an_unresolved_peer_are_looked_at() -> None:
    twin = replace(run("t"), neighbours=Neighbours(twins=(Twin("a", T0, True),)))
    peer = replace(run("p"), neighbours=Neighbours(peers=(Peer("a", T0),)))
    resolved = replace(run("q"), neighbours=Neighbours(peers=(Peer("a", T0, resolved_at=T0 + 1),)))
    assert concerned(index(twin, peer, resolved), run("a")) == {"t", "p"}


def test_a_numbered_run_looks_at_the_one_before() -> None:
    assert concerned(index(run("a#2"), run("a#x")), run("a")) == {"a#2", "a#x"}
    assert concerned(index(run("b#2")), run("a")) == set()


def test_runs_of_an_owner_hear_of_its_end() -> None:
    owner = run("lead", children=("lead-session",))
    found = index(run("a", owner="lead-session"), run("b", owner="other"))
    assert concerned(found, owner) == set()
    ended = replace(owner, ends=(End(T0, "child_done", "ok"),))
    assert concerned(found, ended) == {"a"}
    assert found.of_owner("s", "other") == {("s", "b")}


def test_all_below_a_session_that_is_gone_hear_of_it() -> None:
    top = replace(run("top", children=("c",)), ends=(End(T0, "child_gone", "crashed"),))
    found = index(run("a", owner="c", children=("ca",)), run("b", parent="a"), run("d", owner="ca"), run("x"))
    assert concerned(found, top) == {"a", "b", "d"}
    only_done = replace(top, ends=(End(T0, "child_done", "ok"),))
    assert concerned(found, only_done) == {"a"}


def test_the_first_voice_of_a_kind_concerns_all_of_it_that_were_never_heard() -> None:
    dark = replace(run("dark"), heard_at=None)
    elsewhere = replace(run("elsewhere", service="there"), heard_at=None)
    known = replace(run("known"), heard_at=None, neighbours=Neighbours(kind_heard_at=T0))
    found = index(dark, elsewhere, known)
    assert concerned(found, run("news", session="another session")) == {"dark"}
    assert concerned(found, replace(run("news"), heard_at=None)) == set()


def test_names_count_within_their_session() -> None:
    waiter = replace(run("r", session="s1"), waits=(Wait(T0, "child", waker="w"),))
    assert concerned(index(waiter), run("w", session="s2")) == set()


def test_a_closed_run_is_kept_only_while_something_is_due() -> None:
    known = run("r", parent="p")
    found = index(known, run("p"))
    put(found, run("p"), "completed", next_due=T0 + 5)
    assert found.due(T0 + 4) == []
    assert found.due(T0 + 5) == [("s", "p")]
    assert concerned(found, known) == {"p"}
    put(found, run("p"), "completed")
    assert ("s", "p") not in found.known
    assert concerned(found, known) == set()
    found.drop(("s", "r"))
    assert found.known == {}
    assert found.due(T0 + 100) == []


def test_keep_alives_are_those_of_open_runs_the_latest_of_each_producer() -> None:
    def heard(name: str, *beats: tuple[str, int]) -> Facts:
        return replace(
            run(name),
            producers=tuple(ProducerHealth(p, True, keepalive_ns=10, last_at=T0 + at) for p, at in beats),
        )

    found = index(heard("a", ("p", 1), ("q", 5)), heard("b", ("p", 3)))
    assert sorted(found.keepalives()) == [(10, T0 + 3), (10, T0 + 5)]
    put(found, heard("a", ("q", 9)), "completed")
    assert found.keepalives() == [(10, T0 + 3)]
