"""Puts panels into a dashboard: places on the grid, variables, links and annotations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headcount_dashboards.panels import DATASOURCE, PLUGIN, Json
from headcount_dashboards.queries import sql
from headcount_dashboards.settings import GrafanaSettings

TAG = "headcount"
_COLUMNS = 24
_SCHEMA = 36
"""The classic schema of Grafana 9; every later version reads it and brings it up to its own."""


@dataclass(frozen=True, slots=True)
class Row:
    """Panels side by side: (panel, columns of 24), all of the same height in grid units."""

    height: int
    panels: Sequence[tuple[Json, int]]
    title: str = ""
    """Given: a heading above."""


def dashboard(
    settings: GrafanaSettings,
    *,
    uid: str,
    title: str,
    says: str,
    rows: Sequence[Row],
    variables: Sequence[Json] = (),
    annotations: Sequence[Json] = (),
    since: str = "now-6h",
    refresh: str = "30s",
) -> Json:
    """Return the dashboard as classic JSON; the same arguments give the same JSON."""
    return {
        "id": None,
        "uid": uid,
        "title": title,
        "description": says,
        "tags": [TAG],
        "schemaVersion": _SCHEMA,
        "editable": True,
        "graphTooltip": 1,
        "timezone": "",
        "refresh": refresh,
        "time": {"from": since, "to": "now"},
        "timepicker": {},
        "links": _links(settings),
        "templating": {"list": [_datasource(settings), _page(settings), *variables]},
        "annotations": {"list": list(annotations)},
        "panels": _placed(rows),
    }


def variable(name: str, label: str, query: str, *, many: bool = True, everything: bool = True) -> Json:
    """Return a variable that a query fills; with `everything` it begins with all."""
    return {
        "type": "query",
        "name": name,
        "label": label,
        "datasource": DATASOURCE,
        "query": sql(query),
        "definition": sql(query),
        "refresh": 1,
        "sort": 0,
        "regex": "",
        "multi": many,
        "includeAll": everything,
        "hide": 0,
        "skipUrlSync": False,
        "options": [],
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]}
        if everything and many
        else {"selected": True, "text": "All", "value": "$__all"}
        if everything
        else {},
    }


def annotation(name: str, query: str, color: str, *, on: bool = True) -> Json:
    """Return marks on the time axis of every panel."""
    return {
        "name": name,
        "datasource": DATASOURCE,
        "enable": on,
        "hide": False,
        "iconColor": color,
        "target": {
            "refId": "annotation",
            "editorType": "sql",
            "format": 1,
            "queryType": "table",
            "rawSql": sql(query),
            "meta": {},
        },
    }


def _placed(rows: Sequence[Row]) -> list[Json]:
    placed: list[Json] = []
    y = 0
    for row in rows:
        if row.title:
            placed.append(
                {
                    "type": "row",
                    "title": row.title,
                    "collapsed": False,
                    "panels": [],
                    "gridPos": {"x": 0, "y": y, "w": _COLUMNS, "h": 1},
                }
            )
            y += 1
        x = 0
        for panel, width in row.panels:
            placed.append({**panel, "gridPos": {"x": x, "y": y, "w": width, "h": row.height}})
            x += width
        if x != _COLUMNS:
            raise ValueError(f"a row of {x} columns, not {_COLUMNS}: {[p['title'] for p, _ in row.panels]}")
        y += row.height
    return [{**panel, "id": number} for number, panel in enumerate(placed, 1)]


def _datasource(settings: GrafanaSettings) -> Json:
    """Several databases of headcount may be asked from one Grafana; with one there is nothing to choose."""
    return {
        "type": "datasource",
        "name": "datasource",
        "label": "Data source",
        "query": PLUGIN,
        "refresh": 1,
        "regex": "",
        "multi": False,
        "includeAll": False,
        "hide": 0,
        "skipUrlSync": False,
        "options": [],
        "current": {"selected": True, "text": settings.datasource_uid, "value": settings.datasource_uid},
    }


def _page(settings: GrafanaSettings) -> Json:
    return {
        "type": "constant",
        "name": "page",
        "label": "headcount's page",
        "query": settings.page_url,
        "hide": 2,
        "skipUrlSync": True,
        "options": [],
        "current": {"selected": True, "text": settings.page_url, "value": settings.page_url},
    }


def _links(settings: GrafanaSettings) -> list[Json]:
    links: list[Json] = [
        {
            "type": "dashboards",
            "title": "headcount",
            "tags": [TAG],
            "asDropdown": False,
            "includeVars": True,
            "keepTime": True,
            "targetBlank": False,
            "icon": "external link",
            "tooltip": "",
            "url": "",
        }
    ]
    if settings.page_url:
        links.append(
            {
                "type": "link",
                "title": "headcount's page",
                "tags": [],
                "asDropdown": False,
                "includeVars": False,
                "keepTime": False,
                "targetBlank": True,
                "icon": "external link",
                "tooltip": "The same runs on headcount's own page",
                "url": settings.page_url + "/",
            }
        )
    return links
