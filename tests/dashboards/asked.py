"""Everything that a dashboard or a rule asks, and the table that the database answers with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from headcount_collector.store.client import Store
from headcount_dashboards.all_dashboards import dashboards
from headcount_dashboards.panels import Json
from headcount_dashboards.rules import rule_groups
from headcount_dashboards.settings import load_settings
from tests.dashboards.macros import Scene, expand, expand_macros

SETTINGS = load_settings(
    page_url="http://headcount.example:4318", notifier="grafana", email="oncall@example.org"
)
DASHBOARDS = dashboards(SETTINGS)


@dataclass(frozen=True)
class Frame:
    """A table of named and typed columns."""

    names: list[str]
    types: list[str]
    rows: list[tuple[Any, ...]]

    def column(self, name: str) -> list[Any]:
        """Return one column."""
        place = self.names.index(name)
        return [row[place] for row in self.rows]


def ask(store: Store, sql: str) -> Frame:
    """Run an expanded query."""
    described = store.query(f"DESCRIBE TABLE ({sql}\n)")
    return Frame([str(row[0]) for row in described], [str(row[1]) for row in described], store.query(sql))


def ask_panel(store: Store, target: Json, scene: Scene) -> Frame:
    """Run a target of a panel."""
    return ask(store, expand(target["rawSql"], scene))


def ask_rule(store: Store, query: Json, scene: Scene) -> Frame:
    """Run a query of a rule."""
    return ask(store, expand_macros(query["model"]["rawSql"], scene))


def panels(dashboard: Json) -> Iterator[Json]:
    """Yield the panels that ask something."""
    yield from (panel for panel in dashboard["panels"] if panel.get("targets"))


def all_panels() -> list[tuple[str, Json]]:
    """Return every panel with the title of its dashboard before its own."""
    return [(f"{d['uid']}: {panel['title']}", panel) for d in DASHBOARDS for panel in panels(d)]


def all_rules() -> list[Json]:
    """Return every rule as the API takes it."""
    return [rule for group in rule_groups(SETTINGS, "headcount") for rule in group["rules"]]


def rule_queries(rule: Json) -> list[Json]:
    """Return the queries of a rule that go to the database."""
    return [query for query in rule["data"] if query["datasourceUid"] != "__expr__"]


def is_number(kind: str) -> bool:
    """Tell whether a column is a number to Grafana."""
    bare = kind.removeprefix("Nullable(").removesuffix(")")
    return bare.startswith(("UInt", "Int", "Float"))


def is_text(kind: str) -> bool:
    """Tell whether a column is text to Grafana."""
    return kind in (
        "String",
        "LowCardinality(String)",
        "Nullable(String)",
        "LowCardinality(Nullable(String))",
    )


def is_time(kind: str) -> bool:
    """Tell whether a column is a moment that is always there."""
    return kind.startswith("DateTime")
