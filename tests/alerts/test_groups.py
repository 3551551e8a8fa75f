"""Groups of incidents that a route names, and where runs come from: environment and attributes of their sessions."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from headcount_alerts.decision import Step
from headcount_alerts.errors import AlertsConfigError
from headcount_alerts.fleet import Grouping
from headcount_alerts.incident import Incident
from headcount_alerts.message import document_of as message_of
from headcount_alerts.origins import Dispatch, StoredOrigins
from headcount_alerts.routing import Routing
from headcount_alerts.settings import load_alerts
from headcount_alerts.silence import Matcher, parse_matcher
from headcount_alerts.state import document_of, incident_of
from headcount_alerts.text import Texts
from headcount_collector.evidence.record import AttributeValue, Record, export_request
from headcount_collector.judge.policy import Policy
from headcount_collector.judge.verdict import Receipts
from headcount_collector.receive.intake import create_intake
from headcount_collector.store import Store

from .peers import Peer, peer
from .test_service import Served, steps
from .verdicts import T0, S, World, delivered, verdict

WAIT, INTERVAL = 30, 300


def by_agent(incident: Incident) -> Grouping | None:
    """Put incidents of reviewers and of workers into groups, others into none."""
    agent = str(next(iter(incident.members.values())).facts["agent"])
    if agent not in ("reviewer", "worker"):
        return None
    return Grouping(f"group:{agent}", f"agent={agent}", WAIT * S, INTERVAL * S)


def world(**policy: Any) -> World:
    return World(Policy.from_mapping(policy), groups=by_agent)


def group(found: World, agent: str = "worker") -> Incident:
    incident = found.ladder.find("", f"group:{agent}")
    assert incident is not None
    return incident


def test_a_group_gathers_for_a_while_and_is_told_as_one() -> None:
    found = world()
    found.at(0, verdict("a", session="a"))
    found.at(10, verdict("b", 10, session="b"))
    found.run_out(1300)
    assert found.steps == [(30, "notified"), (630, "reminded"), (1230, "escalated")]
    assert len(group(found).parts) == 2
    assert found.level(session="a") == "muted"


def test_what_joins_a_group_is_told_after_its_interval_and_the_ladder_goes_on() -> None:
    found = world()
    found.at(0, verdict("a", session="a"))
    found.run_out(40)
    found.at(50, verdict("b", 50, session="b"))
    found.at(60, verdict("c", 60, session="c"))
    found.at(70, verdict("d", 70, session="d", severity="warn"))
    found.run_out(1300)
    assert found.steps == [(30, "notified"), (330, "notified"), (630, "reminded"), (1230, "escalated")]


def test_a_group_closes_with_its_last_incident_and_opens_anew() -> None:
    found = world()
    found.at(0, verdict("a", session="a"), verdict("b", session="b"))
    found.run_out(30)
    found.at(40, delivered("a", 40, session="a"))
    assert group(found).is_open
    found.at(50, delivered("b", 50, session="b"))
    assert found.level("group:worker", "") == "closed"
    assert found.steps == [(30, "notified"), (50, "closed")]
    found.at(100, verdict("c", 100, session="c"))
    assert group(found).is_open
    assert len(group(found).parts) == 1


def test_what_belongs_to_no_group_is_told_by_itself() -> None:
    found = world()
    found.at(0, verdict("a", session="a"), verdict("b", session="b", agent="planner"))
    found.run_out(30)
    assert found.steps == [(0, "notified"), (30, "notified")]


def test_a_group_is_one_to_the_storm_guard_and_more_groups_than_that_are_a_storm() -> None:
    found = world(storm=2)
    found.at(0, *(verdict(f"r{n}", session=f"s{n}") for n in range(50)))
    assert found.ladder.find("", "fleet") is None
    found.at(1, verdict("a", 1, session="a", agent="reviewer"), verdict("b", 1, session="b", agent="planner"))
    fleet = found.ladder.find("", "fleet")
    assert fleet is not None
    assert len(fleet.parts) == 2
    assert len(group(found).parts) == 50
    found.run_out(100)
    assert found.steps == [(1, "notified"), (30, "notified")]


def restarted(found: World, **policy: Any) -> World:
    fresh = world(**policy)
    kept = [incident_of(json.loads(json.dumps(document_of(i)))) for i in found.ladder.incidents]
    fresh.ladder.restore(kept, ())
    fresh.verdicts, fresh.steps, fresh.log = found.verdicts, found.steps, found.log
    return fresh


def test_the_storm_guard_counts_after_a_restart_as_before() -> None:
    found = world(storm=2)
    found.at(0, *(verdict(f"r{n}", session=f"s{n}") for n in range(9)))
    found = restarted(found, storm=2)
    found.at(1, verdict("a", 1, session="a"), verdict("b", 1, session="b", agent="planner"))
    assert found.ladder.find("", "fleet") is None
    assert len(group(found).parts) == 10
    found.at(2, verdict("c", 2, session="c", agent="planner"), verdict("d", 2, session="d", agent="planner"))
    found = restarted(found, storm=2)
    found.at(3, verdict("e", 3, session="e", agent="planner"))
    fleet = found.ladder.find("", "fleet")
    assert fleet is not None
    assert len(fleet.parts) == 4


def test_an_acknowledged_group_rests_until_something_joins_it() -> None:
    found = world()
    found.at(0, verdict("a", session="a"))
    found.run_out(30)
    found.note(found.ladder.acknowledge(group(found), "anna", T0 + 40 * S))
    found.run_out(2000)
    assert found.steps == [(30, "notified")]
    found.at(2000, verdict("b", 2000, session="b"))
    found.run_out(2000)
    assert found.steps == [(30, "notified"), (2000, "notified")]


def test_the_text_of_a_group_says_what_its_worst_incident_needs() -> None:
    found = world()
    found.at(0, verdict("a", session="a"), verdict("b", session="b"))
    parts = [found.ladder.open[number] for number in group(found).parts]
    document = message_of(group(found), Step("x", T0 + 30 * S, "notified", 1), url=None, parts=parts)
    texts = Texts()
    title = texts.title(document)
    assert title.startswith("PAGE: 2 incidents, first worker a is done, and its owner was not told")
    assert "Do not dispatch it again" in title
    body = texts.body(document)
    assert "Run a (worker)" in body
    assert "Run b (worker)" in body
    assert f"headcount incidents --fleet {group(found).id}" in body


@pytest.fixture
def server() -> Iterator[Peer]:
    with peer() as found:
        yield found


def grouped(url: str, **route: Any) -> dict[str, Any]:
    hook = [{"type": "webhook", "url": f"{url}/chat", "rate_per_minute": 6000}]
    return {"receivers": {"chat": {"channels": hook}}, "route": {"receiver": "chat", **route}}


def test_a_route_groups_by_labels_and_a_restart_keeps_the_group(store: Store, server: Peer) -> None:
    table = grouped(server.url, group=["service", "class"], group_wait="10s")
    served = Served(store, table)
    served.restore(0)
    served.tick(0, *(verdict(f"r{n}", session=f"s{n}", service=("ci", "batch")[n % 2]) for n in range(4)))
    assert server.asked == []
    served = Served(store, table)
    served.restore(5)
    served.tick(6, verdict("r4", 6, session="s4", service="ci"))
    served.tick(10)
    assert steps(server) == [("/chat", "notified")] * 2
    assert sorted(asked.json["fleet"]["incidents"] for asked in server.asked) == [2, 3]
    assert {asked.json["kind"] for asked in server.asked} == {"group"}
    assert sorted(asked.json["owner"] for asked in server.asked) == [
        "group:route:service=batch, class=done_but_not_forwarded",
        "group:route:service=ci, class=done_but_not_forwarded",
    ]


def test_quotes_are_read_as_alertmanager_reads_them() -> None:
    read = parse_matcher(r'agent=~"re\d+\"x\\n\n"')
    assert read == Matcher("agent", "=~", 're\\d+"x\\n\n')
    assert parse_matcher(str(read)) == read
    assert parse_matcher(r"agent='a\nb'").value == r"a\nb"
    assert parse_matcher('session.team !~ "red|green"') == Matcher("session.team", "!~", "red|green")


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=30))
def test_any_value_survives_being_written_and_read(value: str) -> None:
    matcher = Matcher("agent", "=", value)
    assert parse_matcher(str(matcher)) == matcher


def test_groups_are_inherited_and_their_labels_are_checked() -> None:
    tree = Routing(
        load_alerts({"route": {"receiver": "nobody", "group": [], "routes": [{"match": ["agent=a"]}]}})
    )
    assert [path.group for path in tree.paths_of({"agent": ("a",)})] == [()]
    with pytest.raises(AlertsConfigError, match="did you mean service"):
        load_alerts({"route": {"receiver": "nobody", "group": ["servise"]}})


def dispatched(store: Store, run: str, session: str, **resource: str) -> int:
    """Store a dispatch whose process has these attributes; return its moment."""
    at = time.time_ns()
    said: dict[str, AttributeValue] = {"gen_ai.agent.name": "worker", "subagent.session.attended": True}
    request = export_request([Record("dispatch", at, run, session, said, service="svc")])
    request.resource_spans[0].resource.attributes.extend(
        KeyValue(key=name, value=AnyValue(string_value=value)) for name, value in resource.items()
    )
    intake = create_intake(store)
    try:
        intake.committer.submit(request.SerializeToString(), 1).result(timeout=30)
    finally:
        intake.close()
    return at


def test_environment_and_session_attributes_come_from_the_dispatch(store: Store) -> None:
    at = dispatched(store, "r1", "s1", **{"deployment.environment.name": "prod", "session.team": "blue"})
    dispatched(store, "r2", "s2", **{"deployment.environment": "staging"})
    origins = StoredOrigins(store)
    found = origins(
        [Dispatch("s1", "r1", "svc", at), Dispatch("s2", "r2", "svc", at), Dispatch("s", "r", "svc", at)]
    )
    assert found == {
        ("s1", "r1"): {"environment": "prod", "session.team": "blue", "session.attended": "true"},
        ("s2", "r2"): {"environment": "staging", "session.attended": "true"},
    }
    off = at + 20 * 3600 * S
    assert origins([Dispatch("s1", "r1", "svc", off)]) == {("s1", "r1"): found["s1", "r1"]}


def test_routes_and_silences_match_what_the_dispatch_said(store: Store, server: Peer) -> None:
    at = dispatched(store, "r1", "s1", **{"deployment.environment.name": "prod", "session.team": "blue"})
    receipts = Receipts("r1", dispatch_at=at)
    table = grouped(server.url)
    table["receivers"]["boss"] = {"channels": [{"type": "webhook", "url": f"{server.url}/boss"}]}
    table["route"]["routes"] = [
        {"match": ["environment=prod", "session.team!~red|green"], "receiver": "boss"}
    ]
    served = Served(store, table)
    served.restore(0)
    served.tick(0, verdict("r1", receipts=receipts), verdict("r2", session="s2"))
    assert sorted(steps(server)) == [("/boss", "notified"), ("/chat", "notified")]
    served = Served(store, table)
    served.restore(5)
    (incident,) = [i for i in served.alerts.ladder.open.values() if i.session == "s1"]
    assert [path.receiver for path in served.alerts.routing.paths(incident)] == ["boss"]
