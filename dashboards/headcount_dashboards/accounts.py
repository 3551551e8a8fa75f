"""The dashboard of time accounts: where the time of the runs went, and what a benchmark takes with idling left out."""

from __future__ import annotations

from headcount_dashboards import links, panels
from headcount_dashboards.dashboard import Row, dashboard
from headcount_dashboards.fleet import KIND
from headcount_dashboards.panels import Json
from headcount_dashboards.queries import Query
from headcount_dashboards.settings import GrafanaSettings

_COLORS = {"working": "green", "waiting": "yellow", "idle": "orange", "delivery": "red"}
_SECONDS = dict.fromkeys(("working", "waiting", "idle", "delivery", "total", "net", "wall"), "s")
_EMPTY = "no run was settled in this time"


def accounts(settings: GrafanaSettings) -> Json:
    """Return the dashboard of working, waiting, idling and delivery."""
    return dashboard(
        settings,
        uid=links.TIME,
        title="headcount: time",
        says="The time of the runs that were settled: working, waiting, idle, and on the way back.",
        rows=_rows(),
        variables=KIND,
        since="now-7d",
        refresh="5m",
    )


def _rows() -> list[Row]:
    return [
        Row(
            9,
            [
                (
                    panels.bars(
                        "By agent type",
                        "Time of all settled runs of each agent type.",
                        Query("time/accounts", {"by": "agent", "name": "agent type"}),
                        over="agent type",
                        unit="s",
                        colors=_COLORS,
                        empty=_EMPTY,
                    ),
                    12,
                ),
                (
                    panels.bars(
                        "By model",
                        "Time of all settled runs, by the model that their dispatch asked for.",
                        Query("time/accounts", {"by": "model", "name": "model name"}),
                        over="model name",
                        unit="s",
                        colors=_COLORS,
                        empty=_EMPTY,
                    ),
                    12,
                ),
            ],
        ),
        Row(
            8,
            [
                (
                    panels.timeseries(
                        "Shares over time",
                        "Share of each account in the time of the runs settled in each interval.",
                        "time/shares_over_time",
                        unit="percentunit",
                        stacked=True,
                        colors=_COLORS,
                        empty=_EMPTY,
                    ),
                    24,
                )
            ],
        ),
        Row(
            10,
            [
                (
                    panels.table(
                        "Benchmark view: sessions without their idling",
                        "Net: the time of the runs without what was idled. Overhead: the share of idling and of results on their way.",
                        "time/benchmark",
                        units={**_SECONDS, "overhead": "percentunit"},
                        links={"session": [links.to_session()]},
                        empty=_EMPTY,
                    ),
                    24,
                )
            ],
        ),
    ]
