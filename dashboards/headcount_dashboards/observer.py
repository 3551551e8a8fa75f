"""The dashboard of the observer itself: whether it hears, reads and judges in time."""

from __future__ import annotations

from headcount_dashboards import links, panels
from headcount_dashboards.dashboard import Row, annotation, dashboard
from headcount_dashboards.panels import Json
from headcount_dashboards.settings import GrafanaSettings

_NEVER = "nothing was ever judged: is headcount running?"
_QUIET = "nothing was heard"


def observer(settings: GrafanaSettings) -> Json:
    """Return the dashboard of headcount's own health."""
    return dashboard(
        settings,
        uid=links.OBSERVER,
        title="headcount: observer",
        says="Whether headcount hears, reads and judges in time. Silence here means that silence elsewhere proves nothing.",
        rows=_rows(),
        annotations=(annotation("Incidents", "annotations/all_incidents", "red"),),
        since="now-3h",
    )


def _rows() -> list[Row]:
    return [
        Row(
            4,
            [
                (
                    panels.stat(
                        "Observer",
                        "What the observer says of itself. Degraded: it may be blind, and opens nothing that rests on absence.",
                        "observer/state",
                        mappings=[
                            {
                                "type": "value",
                                "options": {
                                    "ok": {"color": "green", "index": 0},
                                    "degraded": {"color": "red", "index": 1},
                                },
                            }
                        ],
                        empty=_NEVER,
                    ),
                    6,
                ),
                (
                    panels.stat(
                        "Last evaluation",
                        "Age of the last evaluation that was written: seconds while headcount runs.",
                        "observer/since_last",
                        unit="s",
                        steps=((None, "green"), (20, "orange"), (60, "red")),
                        empty=_NEVER,
                    ),
                    6,
                ),
                (
                    panels.timeseries(
                        "Open runs",
                        "Runs under watch.",
                        "observer/open_runs",
                        empty=_NEVER,
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
                        "Intake",
                        "Spans a second by service, by the time they carry.",
                        "observer/spans",
                        label="service",
                        stacked=True,
                        empty=_QUIET,
                    ),
                    6,
                ),
                (
                    panels.timeseries(
                        "Lag of arrival",
                        "From the event, by its producer's clock, to its arrival.",
                        "observer/lag",
                        unit="s",
                        empty=_QUIET,
                    ),
                    6,
                ),
                (
                    panels.timeseries(
                        "Queue before the store",
                        "Requests and hooks that wait for the store.",
                        "observer/waiting",
                        label="kind",
                        empty=_QUIET,
                    ),
                    6,
                ),
                (
                    panels.timeseries(
                        "Refused",
                        "Requests and spans that were refused, inserts that failed, hooks that were dropped.",
                        "observer/refused",
                        label="refusal",
                        bars=True,
                        stacked=True,
                        empty="nothing was refused",
                    ),
                    6,
                ),
            ],
            title="Hearing",
        ),
        Row(
            8,
            [
                (
                    panels.timeseries(
                        "Queue before the judgement",
                        "Time between an evaluation and the newest commit that it had read.",
                        "observer/queue",
                        unit="s",
                        empty=_NEVER,
                    ),
                    6,
                ),
                (
                    panels.timeseries(
                        "Evaluations",
                        "How long they took and how late they came.",
                        "observer/ticks",
                        unit="s",
                        empty=_NEVER,
                    ),
                    6,
                ),
                (
                    panels.timeseries(
                        "Judged",
                        "Runs that changed, fell due, were judged, and turned.",
                        "observer/judged",
                        empty=_NEVER,
                    ),
                    6,
                ),
                (
                    panels.timeseries(
                        "Blind",
                        "Seconds of each interval without evaluation, or with an observer that held itself back.",
                        "observer/blind",
                        unit="s",
                        bars=True,
                    ),
                    6,
                ),
            ],
            title="Judging",
        ),
        Row(
            9,
            [
                (
                    panels.table(
                        "Producers",
                        "Each process that reports: what is missing of its numbers, and when it was last heard.",
                        "observer/producers",
                        units={"last heard": "s", "best arrival": "s", "keep-alive every": "s"},
                        empty=_QUIET,
                    ),
                    12,
                ),
                (
                    panels.timeseries(
                        "Telemetry gaps",
                        "Holes in numberings, clocks that are off, events without a dispatch.",
                        "observer/telemetry_gaps",
                        label="signal",
                        stacked=True,
                        bars=True,
                        empty="no gap was found",
                    ),
                    12,
                ),
            ],
            title="Gaps",
        ),
        Row(
            9,
            [
                (
                    panels.table(
                        "Messages to people",
                        "What was decided to be told, and whether the channel took it.",
                        "observer/channels",
                        units={"slowest": "s"},
                        empty="nothing had to be told",
                    ),
                    12,
                ),
                (
                    panels.table(
                        "Store",
                        "Rows and bytes of each table of this database.",
                        "observer/store",
                        units={"bytes": "bytes"},
                        empty="no table yet",
                    ),
                    12,
                ),
            ],
            title="Telling and keeping",
        ),
    ]
