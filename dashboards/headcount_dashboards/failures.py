"""The dashboard of the kinds of failure: which come, from whom, and how often the alarm was noise."""

from __future__ import annotations

from headcount_dashboards import links, panels
from headcount_dashboards.dashboard import Row, dashboard
from headcount_dashboards.fleet import INCIDENTS, KIND, run_links
from headcount_dashboards.panels import CLASS_COLORS, Json
from headcount_dashboards.settings import GrafanaSettings

_NAMED = (
    "done_but_not_forwarded",
    "no_completion_event",
    "session_exists_no_result_bounce",
    "unclear_slow_or_lost",
)
"""Classes with a bar of their own; the others share one."""


def failures(settings: GrafanaSettings) -> Json:
    """Return the dashboard of classes and signals."""
    return dashboard(
        settings,
        uid=links.FAILURES,
        title="headcount: kinds of failure",
        says="Failure classes and signals over time and by kind of agent; and what became of the runs that were called wrong.",
        rows=_rows(settings),
        variables=KIND,
        annotations=INCIDENTS,
        since="now-7d",
        refresh="5m",
    )


def _rows(settings: GrafanaSettings) -> list[Row]:
    return [
        Row(
            9,
            [
                (
                    panels.timeseries(
                        "Failure classes",
                        "Runs that came into each class, by the time at which it was believed.",
                        "failures/classes_over_time",
                        label="class",
                        colors=CLASS_COLORS,
                        stacked=True,
                        bars=True,
                    ),
                    12,
                ),
                (
                    panels.timeseries(
                        "Signals",
                        "Signals that opened, by their name.",
                        "failures/signals_over_time",
                        label="signal",
                        stacked=True,
                        bars=True,
                    ),
                    12,
                ),
            ],
        ),
        Row(
            9,
            [
                (
                    panels.bars(
                        "By agent type",
                        "Runs of each agent type that were in a class, each class for itself.",
                        "failures/classes_by_agent",
                        over="agent type",
                        hidden=("runs",),
                        colors={**{name: CLASS_COLORS[name] for name in _NAMED}, "other": "purple"},
                    ),
                    12,
                ),
                (
                    panels.table(
                        "By model",
                        "Runs in a class, by the model that their dispatch asked for.",
                        "failures/classes_by_model",
                    ),
                    6,
                ),
                (
                    panels.table(
                        "By service",
                        "Runs in a class, by the service that reported them.",
                        "failures/classes_by_service",
                    ),
                    6,
                ),
            ],
        ),
        Row(
            8,
            [
                (
                    panels.table(
                        "What became of them",
                        "The precision of each class: dismissed runs were noise to somebody, recovered ones were not lost.",
                        "failures/precision",
                        units={"dismissed as noise": "percentunit"},
                    ),
                    24,
                )
            ],
        ),
        Row(
            9,
            [
                (
                    panels.table(
                        "Signals that hold now",
                        "Signals of severity page and warn that are open.",
                        "failures/open_signals",
                        colored=("severity",),
                        units={"age": "s"},
                        links={"run": run_links(settings), "session": [links.to_session()]},
                    ),
                    24,
                )
            ],
        ),
    ]
