"""What is rendered validates against Grafana's own published types: the models of its foundation SDK, taken strictly."""

from __future__ import annotations

import enum
import inspect
import json
import re
import types
import typing
import warnings
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from headcount_dashboards.contacts import contact_points
from headcount_dashboards.panels import Json
from headcount_dashboards.rules import rule_groups
from headcount_dashboards.settings import load_settings
from tests.dashboards.asked import DASHBOARDS, SETTINGS, all_rules

with warnings.catch_warnings():
    # The SDK prefers the layout of Grafana 12 and later; the classic one is what every version reads.
    warnings.simplefilter("ignore", DeprecationWarning)
    from grafana_foundation_sdk.models import alerting, dashboard

_MODULES = {
    "stat": "stat",
    "timeseries": "timeseries",
    "table": "table",
    "barchart": "barchart",
    "state-timeline": "statetimeline",
}


def problems(value: Any, kind: Any, where: str) -> Iterator[str]:
    """Yield where `value` (JSON) is not of a type of the SDK: unknown keys, words that are no member, other types."""
    if isinstance(kind, (str, typing.ForwardRef)) or kind in (Any, object):
        return
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        found = [list(problems(value, one, where)) for one in arguments]
        if all(found):
            yield from min(found, key=len)
    elif origin is typing.Literal:
        if value not in arguments:
            yield f"{where}: {value!r} is none of {arguments}"
    elif origin is list:
        if not isinstance(value, list):
            yield f"{where}: {value!r} is no list"
            return
        for index, one in enumerate(value):
            yield from problems(one, arguments[0], f"{where}[{index}]")
    elif origin is dict:
        if not isinstance(value, dict):
            yield f"{where}: {value!r} is no object"
            return
        for key, one in value.items():
            yield from problems(one, arguments[1], f"{where}.{key}")
    elif kind is type(None):
        if value is not None:
            yield f"{where}: {value!r} is not null"
    elif kind is float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            yield f"{where}: {value!r} is no number"
    elif inspect.isclass(kind) and issubclass(kind, enum.Enum):
        if value not in [member.value for member in kind]:
            yield f"{where}: {value!r} is no {kind.__name__}"
    elif kind in (str, bool, int):
        if type(value) is not kind:
            yield f"{where}: {value!r} is no {kind.__name__}"
    elif hasattr(kind, "from_json"):
        yield from _model_problems(value, kind, where)


def _model_problems(value: Any, kind: Any, where: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{where}: {value!r} is no {kind.__name__}"
        return
    names = _json_names(kind)
    hints = typing.get_type_hints(kind, vars(inspect.getmodule(kind)))
    for key, one in value.items():
        if key not in names:
            yield f"{where}: {kind.__name__} has no {key!r}"
            continue
        yield from problems(one, hints.get(names[key], Any), f"{where}.{key}")


def _json_names(kind: Any) -> dict[str, str]:
    """Return the attribute of each JSON key: the model's own reader and writer say which it is."""
    names: dict[str, str] = {}
    key = ""
    for line in inspect.getsource(kind.from_json).splitlines():
        if line.strip().startswith('if "'):
            key = line.split('"')[1]
        elif line.strip().startswith('args["'):
            names.setdefault(key, line.split('"')[1])
    # Constants, such as the type of a mapping, are only written.
    for written, attribute in re.findall(r'"(\w+)": self\.(\w+)', inspect.getsource(kind.to_json)):
        names.setdefault(written, attribute)
    return names


def dashboard_problems(document: Json) -> list[str]:
    """Check a dashboard, its panels with the options of their kinds, and every custom field."""
    found = [
        *problems({k: v for k, v in document.items() if k != "panels"}, dashboard.Dashboard, document["uid"])
    ]
    for panel in document["panels"]:
        where = f"{document['uid']}: {panel['title']}"
        if panel["type"] == "row":
            found += problems(panel, dashboard.RowPanel, where)
            continue
        found += problems(panel, dashboard.Panel, where)
        if name := _MODULES.get(panel["type"]):
            module = import_module(f"grafana_foundation_sdk.models.{name}")
            found += problems(panel["options"], module.Options, f"{where}.options")
            custom = panel["fieldConfig"]["defaults"].get("custom", {})
            if hasattr(module, "FieldConfig"):
                found += problems(custom, module.FieldConfig, f"{where}.custom")
    return found


@pytest.mark.parametrize("document", DASHBOARDS, ids=[d["uid"] for d in DASHBOARDS])
def test_a_dashboard_is_what_grafana_publishes(document: Json) -> None:
    assert dashboard_problems(json.loads(json.dumps(document))) == []


def test_the_check_finds_what_is_wrong() -> None:
    broken = json.loads(json.dumps(DASHBOARDS[0]))
    broken["panels"][0]["options"]["colorMode"] = "loud"
    broken["panels"][1]["fieldConfig"]["defaults"]["nothing"] = 1
    broken["panels"][2]["gridPos"]["w"] = "6"
    broken["refersh"] = "1s"
    assert len(dashboard_problems(broken)) == 4


def test_rules_and_contact_points_are_what_grafana_publishes() -> None:
    found: list[str] = []
    for rule in all_rules():
        found += problems(rule, alerting.Rule, rule["title"])
        for query in rule["data"]:
            found += problems(query, alerting.Query, rule["title"])
    for group in rule_groups(SETTINGS, "headcount"):
        found += problems(
            {k: v for k, v in group.items() if k != "rules"}, alerting.RuleGroup, group["title"]
        )
    for point in contact_points(_every_channel(), secrets=True):
        found += problems(point, alerting.ContactPoint, point["type"])
    assert found == []


def test_every_channel_of_the_issue_has_a_contact_point() -> None:
    kinds = [point["type"] for point in contact_points(_every_channel(), secrets=True)]
    assert kinds == ["slack", "discord", "teams", "telegram", "webhook", "email"]


def _every_channel() -> Any:
    return load_settings(
        slack_url="https://slack.example/hook",
        discord_url="https://discord.example/hook",
        teams_url="https://teams.example/flow",
        telegram_token="1:abc",
        telegram_chat="-100",
        webhook_url="https://other.example/hook",
        email="a@example.org;b@example.org",
    )
