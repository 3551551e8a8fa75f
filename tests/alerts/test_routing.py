"""Routes: nothing is lost, nothing goes twice, hours hold, and a bad table says where it is bad."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount_alerts.errors import AlertsConfigError
from headcount_alerts.hours import parse_hours
from headcount_alerts.preview import sample
from headcount_alerts.routing import Routing
from headcount_alerts.settings import load_alerts

from .verdicts import T0, S

_HOOK = [{"type": "webhook", "url": "http://127.0.0.1:9/"}]


def routing(route: dict[str, Any], **more: Any) -> Routing:
    receivers = {name: {"channels": _HOOK} for name in ("chat", "night", "boss", "reviews")}
    return Routing(load_alerts({"receivers": receivers, "route": route, **more}))


def names(tree: Routing, **labels: str) -> list[str]:
    return [path.receiver for path in tree.paths(sample(T0, labels))]


def test_the_first_route_that_matches_takes_it_and_the_root_takes_the_rest() -> None:
    tree = routing(
        {
            "receiver": "chat",
            "routes": [
                {"match": ["agent=reviewer"], "receiver": "reviews"},
                {"match": ["severity=page"], "receiver": "boss"},
            ],
        }
    )
    assert names(tree, agent="reviewer") == ["reviews"]
    assert names(tree, agent="worker") == ["boss"]
    assert names(tree, agent="worker", severity="warn") == ["chat"]


def test_continue_asks_later_siblings_too_and_one_receiver_is_named_for_each_path() -> None:
    tree = routing(
        {
            "receiver": "chat",
            "routes": [
                {"match": ["class=~done.*"], "receiver": "boss", "continue": True},
                {"match": ["agent=worker"], "receiver": "reviews"},
            ],
        }
    )
    assert names(tree, agent="worker") == ["boss", "reviews"]


def test_children_inherit_what_they_do_not_say() -> None:
    tree = routing(
        {
            "receiver": "chat",
            "second": "night",
            "escalation": "boss",
            "routes": [{"match": ["agent=worker"], "window": "1m"}],
        }
    )
    (path,) = tree.paths(sample(T0, {"agent": "worker"}))
    steps = [path.receiver_of(step) for step in ("notified", "reminded", "escalated")]
    assert steps == ["chat", "night", "boss"]
    assert path.window_ns == 60 * S


def test_a_receiver_of_ones_own_is_reminded_itself() -> None:
    tree = routing(
        {"receiver": "chat", "second": "night", "routes": [{"match": ["agent=worker"], "receiver": "boss"}]}
    )
    (path,) = tree.paths(sample(T0, {"agent": "worker"}))
    assert [path.receiver_of(step) for step in ("reminded", "escalated")] == ["boss", "boss"]


@pytest.mark.parametrize(
    ("text", "moment", "holds"),
    [
        ("Mo-Fr 08:00-18:00", "2026-11-30T08:00:00+00:00", True),
        ("Mo-Fr 08:00-18:00", "2026-11-30T18:00:00+00:00", False),
        ("Mo-Fr 08:00-18:00", "2026-11-29T12:00:00+00:00", False),
        ("Mo-Fr 08:00-18:00 Europe/Berlin", "2026-11-30T07:00:00+00:00", True),
        ("Sa,Su 00:00-24:00", "2026-11-29T23:59:59+00:00", True),
        ("Mo 22:00-06:00", "2026-12-01T05:59:00+00:00", True),
        ("Mo 22:00-06:00", "2026-11-30T05:59:00+00:00", False),
    ],
)
def test_hours_hold_in_their_zone_and_over_midnight(text: str, moment: str, holds: bool) -> None:
    at = round(datetime.fromisoformat(moment).timestamp()) * S
    assert parse_hours(text, "active").holds(at) is holds


def test_outside_of_the_hours_messages_wait_until_these_begin() -> None:
    tree = routing({"receiver": "chat", "active": ["Mo-Fr 08:00-18:00"]})
    sunday = round(datetime(2026, 11, 29, 12, tzinfo=UTC).timestamp()) * S
    monday = round(datetime(2026, 11, 30, 8, tzinfo=UTC).timestamp()) * S
    assert tree.off_duty_until(sample(sunday, {}), sunday) == monday
    assert tree.off_duty_until(sample(monday, {}), monday) == 0


def test_a_maintenance_window_holds_back_what_it_names() -> None:
    window = [{"match": ["service=batch"], "hours": ["Su 00:00-24:00"]}]
    tree = routing({"receiver": "chat"}, maintenance=window)
    sunday = round(datetime(2026, 11, 29, 12, tzinfo=UTC).timestamp()) * S
    assert tree.maintained_until(sample(sunday, {"service": "batch"}), sunday) > sunday
    assert tree.maintained_until(sample(sunday, {"service": "web"}), sunday) == 0


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"route": {"receiver": "x"}}, "no such receiver"),
        ({"receivers": {"a": {"channels": _HOOK}}}, "no route"),
        ({"receivers": {"a": {"channels": _HOOK}}, "route": {}}, "route.receiver is missing"),
        ({"receivers": {"a": {"channels": []}}}, "receivers.a.channels"),
        ({"receivers": {"a": {"channels": [{"type": "pigeon"}]}}}, "receivers.a.channels.0"),
        ({"receivers": {"a": {"channels": [{"type": "slack", "token": "x"}]}}}, "channel to write to"),
        ({"route": {"receiver": "nobody", "window": "soon"}}, "route.window"),
        ({"route": {"receiver": "nobody", "match": ["colour=red"]}}, "cannot be matched"),
        ({"route": {"receiver": "nobody", "active": ["always"]}}, "write hours like"),
        ({"route": {"receiver": "nobody", "active": ["Mo 08:00-18:00 Mars/Base"]}}, "no time zone"),
        ({"colour": "red"}, "colour: there is no such key"),
        ({"route": {"recever": "nobody"}}, r"route\.recever: there is no such key; did you mean receiver"),
        ({"receivers": {"chat": {"channels": _HOOK}}, "route": {"receiver": "chad"}}, "did you mean chat"),
    ],
)
def test_a_table_that_cannot_be_used_names_its_key(table: dict[str, Any], said: str) -> None:
    with pytest.raises(AlertsConfigError, match=said):
        load_alerts(table)


_LABEL = st.sampled_from(["a", "b", "c"])
_ROUTE = st.recursive(
    st.fixed_dictionaries(
        {"match": st.lists(_LABEL.map("agent={}".format), max_size=1), "continue": st.booleans()},
        optional={"receiver": st.sampled_from(["chat", "boss"])},
    ),
    lambda inner: st.fixed_dictionaries(
        {
            "match": st.lists(_LABEL.map("agent=~[{}x]".format), max_size=1),
            "continue": st.booleans(),
            "routes": st.lists(inner, max_size=3),
        }
    ),
    max_leaves=8,
)


@settings(max_examples=50, deadline=None)
@given(st.lists(_ROUTE, max_size=4), _LABEL)
def test_every_incident_takes_at_least_one_path_and_no_path_twice(
    routes: list[dict[str, Any]], agent: str
) -> None:
    tree = routing({"receiver": "chat", "routes": routes})
    paths = [path.name for path in tree.paths(sample(T0, {"agent": agent}))]
    assert paths
    assert len(set(paths)) == len(paths)
