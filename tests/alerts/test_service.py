"""Alerts over a real store: a restart repeats nothing and forgets nothing, and a dead letter is heard of."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from headcount_alerts.errors import UnknownIncident
from headcount_alerts.journal import Journal
from headcount_alerts.service import Alerts
from headcount_alerts.settings import load_alerts
from headcount_alerts.silence import Matcher, new_silence
from headcount_collector.judge.policy import Policy
from headcount_collector.judge.verdict import Verdict
from headcount_collector.store import Store
from headcount_collector.watch.tick import TickReport
from headcount_collector.watch.verdicts import Evaluation, VerdictStore

from .peers import Asked, Peer, Said, peer
from .verdicts import T0, S, delivered, fine, verdict


def table(url: str, **more: Any) -> dict[str, Any]:
    receivers = {
        "chat": {"channels": [{"type": "webhook", "url": f"{url}/chat", "rate_per_minute": 6000}]},
        "boss": {"channels": [{"type": "webhook", "url": f"{url}/boss", "rate_per_minute": 6000}]},
    }
    return {"receivers": receivers, "route": {"receiver": "chat", "second": "boss"}, **more}


def report(at_s: float, *verdicts: Verdict, observer: str = "ok") -> TickReport:
    at = T0 + round(at_s * S)
    evaluation = Evaluation(at, 0, 0, 0, 0, len(verdicts), 0, 0, observer, at)
    return TickReport(evaluation, {(v.session, v.run): v for v in verdicts}, ())


class Served:
    """Alerts that deliver when told, without threads."""

    def __init__(self, store: Store, settings: dict[str, Any]) -> None:
        self.now = T0
        self.alerts = Alerts(store, Policy(), load_alerts(settings), clock=lambda: self.now)
        self.verdicts = VerdictStore(store)

    def restore(self, at_s: float) -> None:
        self.alerts.restore(T0 + round(at_s * S))

    def tick(self, at_s: float, *verdicts: Verdict, observer: str = "ok") -> None:
        self.now = T0 + round(at_s * S)
        self.verdicts.write(verdicts, [], self.now)
        self.alerts.after_tick(report(at_s, *verdicts, observer=observer))
        for channel in self.alerts.outbox.lanes:
            self.alerts.outbox.deliver(channel, lambda: self.now)


@pytest.fixture
def server() -> Iterator[Peer]:
    with peer() as found:
        yield found


def steps(server: Peer) -> list[tuple[str, str]]:
    return [(asked.path, asked.json["step"]) for asked in server.asked]


def test_a_page_goes_to_the_receiver_then_to_the_second_and_its_end_to_both(
    store: Store, server: Peer
) -> None:
    served = Served(store, table(server.url))
    served.restore(0)
    served.tick(0, verdict())
    served.tick(600)
    served.tick(700, delivered(at_s=700))
    assert [step for path, step in steps(server) if path == "/chat"] == ["notified", "updated", "closed"]
    assert [step for path, step in steps(server) if path == "/boss"] == ["reminded", "closed"]


def test_a_restart_repeats_nothing_and_forgets_nothing(store: Store, server: Peer) -> None:
    first = Served(store, table(server.url))
    first.restore(0)
    first.tick(0, verdict())
    second = Served(store, table(server.url))
    second.restore(300)
    assert second.alerts.open_runs() == {("s1", "r1")}
    second.tick(301, verdict(at_s=0))
    assert len(server.asked) == 1
    second.tick(600)
    assert sorted(steps(server)[1:]) == [("/boss", "reminded"), ("/chat", "updated")]
    third = Served(store, table(server.url))
    third.restore(650)
    third.tick(651, delivered(at_s=651))
    assert [step for _, step in steps(server)].count("closed") == 2
    (document,) = third.alerts.journal.find({})
    assert [d["decision"] for d in third.alerts.journal.decisions(document["id"])] == [
        "opened",
        "joined",
        "notified",
        "reminded",
        "closed",
    ]


def test_a_start_that_failed_half_way_says_nothing_twice(store: Store, server: Peer) -> None:
    first = Served(store, table(server.url))
    first.restore(0)
    first.alerts.postbook.write = _dies  # type: ignore[method-assign]
    with pytest.raises(_Dies):
        first.tick(0, verdict())
    second = Served(store, table(server.url))
    write, second.alerts.postbook.write = second.alerts.postbook.write, _dies  # type: ignore[method-assign]
    with pytest.raises(_Dies):
        second.alerts.start()
    second.alerts.postbook.write = write  # type: ignore[method-assign]
    second.alerts.rest()
    second.restore(1)
    second.tick(2)
    assert steps(server) == [("/chat", "notified")]


def test_a_decision_that_a_crash_kept_out_of_the_outbox_is_made_up_for(store: Store, server: Peer) -> None:
    first = Served(store, table(server.url))
    first.restore(0)
    first.alerts.postbook.write = _dies  # type: ignore[method-assign]
    with pytest.raises(_Dies):
        first.tick(0, verdict())
    second = Served(store, table(server.url))
    second.restore(10)
    second.tick(11, verdict(at_s=0))
    assert steps(server) == [("/chat", "notified")]


def test_a_store_that_was_away_costs_no_decision(store: Store, server: Peer) -> None:
    served = Served(store, table(server.url))
    served.restore(0)
    write, served.alerts.journal.write = served.alerts.journal.write, _dies  # type: ignore[method-assign]
    with pytest.raises(_Dies):
        served.tick(0, verdict())
    served.alerts.journal.write = write  # type: ignore[method-assign]
    served.tick(1)
    assert steps(server) == [("/chat", "notified")]


def test_a_dead_letter_pages_through_the_fallback_receiver(store: Store) -> None:
    def answer(asked: Asked) -> Said:
        return Said(401, b"who are you") if asked.path == "/chat" else Said()

    with peer(answer) as server:
        served = Served(store, table(server.url, fallback="boss"))
        served.restore(0)
        served.tick(0, verdict())
        served.tick(1)
    (fallback,) = [asked.json for asked in server.asked if asked.path == "/boss"]
    assert fallback["fallback_for"] == "chat/0/webhook"
    assert "who are you" in fallback["reason"]
    (document,) = served.alerts.journal.find({})
    decisions = [d["decision"] for d in served.alerts.journal.decisions(document["id"])]
    assert "gave_up" in decisions


def test_silences_and_acknowledgements_survive_a_restart(store: Store, server: Peer) -> None:
    first = Served(store, table(server.url))
    first.restore(0)
    first.alerts.silence(new_silence([Matcher("agent", "=", "worker")], T0, T0 + 600 * S, by="anna"))
    first.tick(1, verdict(at_s=1), verdict("r2", 1, agent="other", session="s2"))
    assert steps(server) == [("/chat", "notified")]
    (number,) = [d["id"] for d in first.alerts.journal.find({"session": "s2"})]
    first.alerts.acknowledge(number, "ben", T0 + 5 * S)
    second = Served(store, table(server.url))
    second.restore(10)
    second.tick(599)
    (update,) = server.asked[1:]
    assert (update.json["step"], update.json["acknowledged"]["by"]) == ("updated", "ben")
    second.tick(602)
    assert server.asked[2].json["incident"] != number
    (silence,) = second.alerts.journal.silences(T0)
    assert silence.by == "anna"
    with pytest.raises(UnknownIncident, match="no open incident"):
        second.alerts.acknowledge("nothing", "ben")


def test_ten_thousand_sessions_in_one_tick_are_one_message_that_finds_every_run(
    store: Store, server: Peer
) -> None:
    served = Served(store, table(server.url))
    served.restore(0)
    served.tick(0, *(verdict(f"r{n}", session=f"s{n}") for n in range(10_000)))
    (asked,) = server.asked
    assert asked.json["fleet"]["runs"] == 10_000
    fleet = asked.json["incident"]
    assert f"headcount incidents --fleet {fleet}" in asked.json["commands"]
    assert served.alerts.journal.count({"fleet": fleet}) == 10_000
    assert len(served.alerts.journal.find({"run": "r777"})) == 1


def test_a_storm_goes_to_whoever_would_have_been_told_of_one_of_them(store: Store, server: Peer) -> None:
    settings = table(server.url)
    settings["route"] = {"receiver": "nobody", "routes": [{"match": ["agent=reviewer"], "receiver": "boss"}]}
    served = Served(store, settings)
    served.restore(0)
    served.tick(
        0, *(verdict(f"r{n}", session=f"s{n}", agent=("reviewer", "worker")[n % 2]) for n in range(12))
    )
    assert steps(server) == [("/boss", "notified")]


def test_who_was_told_of_an_incident_hears_of_it_when_another_owner_has_it(
    store: Store, server: Peer
) -> None:
    settings = table(server.url)
    settings["route"]["routes"] = [{"match": ["owner=l-1"], "receiver": "boss"}]
    served = Served(store, settings)
    served.restore(0)
    lead: dict[str, Any] = {"child_sessions": ("l-1",)}
    served.tick(0, fine("lead", **lead), verdict("x", owner="l-1"), verdict("y", signals=()))
    assert sorted(steps(server)) == [("/boss", "notified"), ("/chat", "notified")]
    served.tick(50, delivered("lead", 50, **lead), verdict("x", owner="l-1"))
    served.tick(60, delivered("x", 60, owner="l-1"), delivered("y", 60))
    closed = [path for path, step in steps(server) if step == "closed"]
    assert sorted(closed) == ["/boss", "/chat"]


def test_outside_of_the_active_hours_a_message_waits_for_these_to_begin(store: Store, server: Peer) -> None:
    # T0 is a Monday, 12:00 in UTC.
    settings = table(server.url)
    settings["route"]["active"] = ["Mo 13:00-14:00"]
    served = Served(store, settings)
    served.restore(0)
    served.tick(0, verdict())
    served.tick(3599)
    assert server.asked == []
    served.tick(3600)
    assert steps(server) == [("/chat", "notified")]


def test_an_alert_that_a_peer_forgets_is_sent_again_while_the_incident_is_open(store: Store) -> None:
    with peer() as server:
        settings = {
            "receivers": {"am": {"channels": [{"type": "alertmanager", "url": server.url, "hold": "4m"}]}},
            "route": {"receiver": "am"},
        }
        served = Served(store, settings)
        served.restore(0)
        served.tick(0, verdict(severity="warn"))
        for second in (30, 61, 90, 122):
            served.tick(second)
        served.tick(130, delivered(at_s=130))
        served.tick(300)
    assert len(server.asked) >= 4
    assert len(served.alerts.postbook.list()) == 2
    last = json.loads(server.asked[-1].body)[0]
    assert last["annotations"]["step"] == "closed"


def test_the_dead_man_is_pinged_each_so_often_and_hears_of_failure_at_once(store: Store) -> None:
    with peer() as server:
        served = Served(store, {"deadman": f"{server.url}/ping/uuid", "deadman_every": "60s"})
        served.alerts.start()
        with contextlib.closing(served.alerts):
            served.tick(0)
            server.wait_for(1)
            served.tick(1)
            served.alerts.journal.write = _dies  # type: ignore[method-assign]
            with pytest.raises(_Dies):
                served.tick(2, verdict())
            server.wait_for(2)
            served.alerts.journal = Journal(store)
            served.tick(3)
            server.wait_for(3)
            served.alerts.failed(T0 + 4 * S)
            server.wait_for(4)
    paths = [asked.path.removeprefix("/ping/uuid") for asked in server.asked]
    assert paths == ["", "/fail", "", "/fail"]


def test_the_dead_man_can_be_pinged_each_tick(store: Store) -> None:
    with peer() as server:
        served = Served(store, {"deadman": f"{server.url}/ping/uuid", "deadman_every": 0})
        served.alerts.start()
        with contextlib.closing(served.alerts):
            for second in range(3):
                served.tick(second)
                server.wait_for(second + 1)
    assert len(server.asked) == 3


def test_a_test_message_says_what_became_of_it(store: Store) -> None:
    with peer(lambda asked: Said(200 if asked.path == "/chat" else 403, b"no")) as server:
        served = Served(store, table(server.url))
        assert served.alerts.test("chat") == {"chat/0/webhook": "sent"}
        assert "403" in served.alerts.test("boss")["boss/0/webhook"]
    assert server.asked[0].json["what"] == "sends a test; nothing is wrong"


class _Dies(Exception):
    pass


def _dies(*_: Any, **__: Any) -> None:
    raise _Dies
