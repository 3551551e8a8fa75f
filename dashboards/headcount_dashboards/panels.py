"""Panels as Grafana's classic JSON: one function a kind, each panel with a description and an empty state of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headcount_dashboards.queries import Query, sql

Json = dict[str, Any]

PLUGIN = "grafana-clickhouse-datasource"
DATASOURCE: Json = {"type": PLUGIN, "uid": "${datasource}"}
NOTHING_WRONG = "nothing wrong"

_FORMATS = {"timeseries": 0, "table": 1, "traces": 3}

STATUS_COLORS = {
    "active": "blue",
    "suspect_delivery_failure": "orange",
    "done_but_not_forwarded": "red",
    "blocked": "purple",
    "completed": "green",
    "recovered": "light-green",
}
CLASS_COLORS = {
    "done_but_not_forwarded": "red",
    "delivered_not_consumed": "dark-red",
    "owner_gone": "purple",
    "child_failed_unreported": "orange",
    "empty_result": "yellow",
    "no_completion_event": "blue",
    "session_exists_no_result_bounce": "light-blue",
    "unclear_slow_or_lost": "text",
    "waiting_for_person": "light-green",
    "waiting_on_resource": "green",
    "waiting_for_nobody": "dark-green",
}
"""The same class has the same colour wherever it is shown; results that lie somewhere are red."""
_STATUS_WORDS = {
    "suspect_delivery_failure": "suspect",
    "done_but_not_forwarded": "done, not delivered",
}
_SEVERITY_COLORS = {"page": "red", "warn": "orange", "info": "blue"}

GREEN_TO_RED = ((None, "green"), (1, "red"))
GREEN_TO_ORANGE = ((None, "green"), (1, "orange"))
PLAIN = ((None, "text"),)


def target(query: str | Query, kind: str = "table", ref: str = "A") -> Json:
    """Return a query as a target of kind table, timeseries or traces."""
    return {
        "refId": ref,
        "datasource": DATASOURCE,
        "editorType": "sql",
        "format": _FORMATS[kind],
        "queryType": kind,
        "rawSql": sql(query),
        "meta": {},
    }


def words_of(colors: Mapping[str, str]) -> list[Json]:
    """Return the mapping that gives each of these words its colour, and statuses shorter names."""
    return [
        {
            "type": "value",
            "options": {
                word: {"text": _STATUS_WORDS.get(word, word), "color": color, "index": index}
                for index, (word, color) in enumerate(colors.items())
            },
        }
    ]


def stat(
    title: str,
    says: str,
    query: str | Query,
    *,
    unit: str = "short",
    steps: Sequence[tuple[float | None, str]] = PLAIN,
    empty: str = NOTHING_WRONG,
    mappings: Sequence[Json] = (),
    overrides: Sequence[Json] = (),
    links: Sequence[Json] = (),
) -> Json:
    """Return a panel of large numbers, or words, one a column."""
    panel = _panel("stat", title, says, [target(query)], empty)
    panel["options"] = {
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "/.*/", "values": False},
        "orientation": "auto",
        "textMode": "auto",
        "colorMode": "background" if tuple(steps) != PLAIN or mappings else "value",
        "graphMode": "none",
        "justifyMode": "auto",
    }
    defaults = panel["fieldConfig"]["defaults"]
    defaults |= {"unit": unit, "thresholds": thresholds(steps), "mappings": list(mappings)}
    defaults["color"] = {"mode": "thresholds"}
    if links:
        defaults["links"] = list(links)
    panel["fieldConfig"]["overrides"] = list(overrides)
    return panel


def timeseries(
    title: str,
    says: str,
    query: str | Query,
    *,
    unit: str = "short",
    label: str | None = None,
    colors: Mapping[str, str] | None = None,
    stacked: bool = False,
    bars: bool = False,
    empty: str = NOTHING_WRONG,
) -> Json:
    """Return a panel of lines or bars over time; `label` is the text column that tells the series apart."""
    panel = _panel("timeseries", title, says, [target(query, "timeseries")], empty)
    panel["options"] = {"legend": _legend(), "tooltip": {"mode": "multi", "sort": "desc"}}
    panel["fieldConfig"]["defaults"] |= {
        "unit": unit,
        "min": 0,
        "color": {"mode": "palette-classic"},
        "custom": {
            "drawStyle": "bars" if bars else "line",
            "lineWidth": 1,
            "fillOpacity": 80 if bars else 25 if stacked else 5,
            "showPoints": "auto",
            "pointSize": 4,
            "spanNulls": False,
            "lineInterpolation": "stepAfter" if stacked and not bars else "linear",
            "stacking": {"mode": "normal" if stacked else "none", "group": "A"},
        },
    }
    if label is not None:
        panel["fieldConfig"]["defaults"]["displayName"] = "${__field.labels." + label + "}"
    panel["fieldConfig"]["overrides"] = [
        override(name, {"color": {"mode": "fixed", "fixedColor": color}})
        for name, color in (colors or {}).items()
    ]
    return panel


def table(
    title: str,
    says: str,
    query: str | Query,
    *,
    units: Mapping[str, str] | None = None,
    links: Mapping[str, Sequence[Json]] | None = None,
    widths: Mapping[str, int] | None = None,
    colored: Sequence[str] = (),
    empty: str = NOTHING_WRONG,
) -> Json:
    """Return a table; `colored` columns hold statuses, or under the name severity severities."""
    panel = _panel("table", title, says, [target(query)], empty)
    panel["options"] = {
        "showHeader": True,
        "cellHeight": "sm",
        "footer": {"show": False, "reducer": ["sum"], "countRows": False},
    }
    panel["fieldConfig"]["defaults"] |= {"custom": {"align": "auto", "filterable": False}}
    found: dict[str, Json] = {}
    for column in colored:
        colors = _SEVERITY_COLORS if column == "severity" else STATUS_COLORS
        found[column] = {"mappings": words_of(colors), "custom.cellOptions": {"type": "color-text"}}
    for column, unit in (units or {}).items():
        found.setdefault(column, {})["unit"] = unit
    for column, to in (links or {}).items():
        found.setdefault(column, {})["links"] = list(to)
    for column, width in (widths or {}).items():
        found.setdefault(column, {})["custom.width"] = width
    panel["fieldConfig"]["overrides"] = [override(column, what) for column, what in found.items()]
    return panel


def bars(
    title: str,
    says: str,
    query: str | Query,
    *,
    over: str,
    unit: str = "short",
    hidden: Sequence[str] = (),
    empty: str = NOTHING_WRONG,
    colors: Mapping[str, str] | None = None,
) -> Json:
    """Return horizontal bars, one a row of the column `over`, stacked from the columns of numbers."""
    panel = _panel("barchart", title, says, [target(query)], empty)
    panel["options"] = {
        "xField": over,
        "orientation": "horizontal",
        "stacking": "normal",
        "showValue": "auto",
        "barWidth": 0.8,
        "groupWidth": 0.7,
        "fullHighlight": False,
        "xTickLabelRotation": 0,
        "xTickLabelSpacing": 0,
        "legend": _legend(),
        "tooltip": {"mode": "multi", "sort": "none"},
    }
    panel["fieldConfig"]["defaults"] |= {
        "unit": unit,
        "min": 0,
        "color": {"mode": "palette-classic"},
        "custom": {"lineWidth": 1, "fillOpacity": 80, "gradientMode": "none"},
    }
    hide = {"legend": True, "tooltip": True, "viz": True}
    panel["fieldConfig"]["overrides"] = [override(name, {"custom.hideFrom": hide}) for name in hidden] + [
        override(name, {"color": {"mode": "fixed", "fixedColor": color}})
        for name, color in (colors or {}).items()
    ]
    return panel


def state_timeline(
    title: str,
    says: str,
    lanes: Sequence[str | Query],
    *,
    split_by: str | None = None,
    empty: str = NOTHING_WRONG,
) -> Json:
    """Return states over time: a lane a query, or with `split_by` a lane for each value of that column."""
    targets = [target(name, ref=chr(ord("A") + index)) for index, name in enumerate(lanes)]
    panel = _panel("state-timeline", title, says, targets, empty)
    panel["options"] = {
        "mergeValues": True,
        "showValue": "auto",
        "alignValue": "left",
        "rowHeight": 0.85,
        "legend": {**_legend(), "showLegend": False},
        "tooltip": {"mode": "single", "sort": "none"},
    }
    panel["fieldConfig"]["defaults"] |= {
        "mappings": words_of(STATUS_COLORS),
        "color": {"mode": "palette-classic"},
        "custom": {"lineWidth": 0, "fillOpacity": 75},
    }
    if split_by is not None:
        panel["transformations"] = [
            {"id": "partitionByValues", "options": {"fields": [split_by], "naming": {"asLabels": True}}}
        ]
        panel["fieldConfig"]["defaults"]["displayName"] = "${__field.labels." + split_by + "}"
    return panel


def traces(title: str, says: str, query: str | Query, *, empty: str) -> Json:
    """Return the view of one trace."""
    return _panel("traces", title, says, [target(query, "traces")], empty)


def text(title: str, content: str) -> Json:
    """Return a panel of Markdown."""
    return {
        "type": "text",
        "title": title,
        "description": title,
        "options": {"mode": "markdown", "content": content},
        "fieldConfig": {"defaults": {}, "overrides": []},
    }


def override(column: str, properties: Mapping[str, Any]) -> Json:
    """Return the properties of one column."""
    return {
        "matcher": {"id": "byName", "options": column},
        "properties": [{"id": name, "value": value} for name, value in properties.items()],
    }


def thresholds(steps: Sequence[tuple[float | None, str]]) -> Json:
    """Return absolute thresholds; the first step has no value and is the base."""
    return {"mode": "absolute", "steps": [{"value": value, "color": color} for value, color in steps]}


def _panel(kind: str, title: str, says: str, targets: Sequence[Json], empty: str) -> Json:
    return {
        "type": kind,
        "title": title,
        "description": says,
        "datasource": DATASOURCE,
        "targets": list(targets),
        "options": {},
        "fieldConfig": {"defaults": {"noValue": empty}, "overrides": []},
    }


def _legend() -> Json:
    return {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []}
