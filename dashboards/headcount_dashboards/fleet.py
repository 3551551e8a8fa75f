"""The dashboard that stays open: what is wrong now, first and large; then how it comes and goes."""

from __future__ import annotations

from headcount_dashboards import links, panels
from headcount_dashboards.dashboard import Row, annotation, dashboard, variable
from headcount_dashboards.panels import GREEN_TO_ORANGE, GREEN_TO_RED, STATUS_COLORS, Json, override
from headcount_dashboards.settings import GrafanaSettings


def fleet(settings: GrafanaSettings) -> Json:
    """Return the dashboard of all runs."""
    return dashboard(
        settings,
        uid=links.FLEET,
        title="headcount: fleet",
        says="Every run that was dispatched: what is wrong now, since when, and how fast that was known.",
        rows=_rows(settings),
        variables=KIND,
        annotations=INCIDENTS,
    )


ENVIRONMENT = variable("environment", "Environment", "variables/environment")
KIND = (
    ENVIRONMENT,
    variable("service", "Service", "variables/service"),
    variable("agent", "Agent type", "variables/agent"),
)
"""Variables that narrow runs by their kind."""

INCIDENTS = (
    annotation("Incidents", "annotations/incidents", "red"),
    annotation("Runs that went wrong", "annotations/went_wrong", "orange", on=False),
)
"""Marks on the time axis."""


def run_links(settings: GrafanaSettings) -> list[Json]:
    """Return where a run's cell leads."""
    return [links.to_run(), *([links.to_page()] if settings.page_url else [])]


def _rows(settings: GrafanaSettings) -> list[Row]:
    to_runs = {"run": run_links(settings), "session": [links.to_session()]}
    return [
        Row(
            5,
            [
                (
                    _now(
                        "Done, not delivered",
                        "undelivered",
                        "The result exists and its owner does not have it. Fetch it and forward it; do not dispatch again.",
                        GREEN_TO_RED,
                    ),
                    6,
                ),
                (
                    _now(
                        "Suspect",
                        "suspect",
                        "The deadline passed and nothing came back. The class says what it leans to: slow, silent, or not instrumented.",
                        GREEN_TO_ORANGE,
                    ),
                    6,
                ),
                (
                    _now(
                        "Blocked",
                        "blocked",
                        "Waiting explains nothing any more: somebody has to act.",
                        GREEN_TO_RED,
                    ),
                    6,
                ),
                (
                    panels.stat(
                        "Open and in time",
                        "Runs that are open and not wrong, and the age of the oldest open run of all.",
                        "fleet/active",
                        empty="nothing is open",
                        overrides=[override("oldest open", {"unit": "s"})],
                    ),
                    6,
                ),
            ],
        ),
        Row(
            10,
            [
                (
                    panels.table(
                        "What needs somebody",
                        "Every run that is not well: results that lie somewhere first, then the late, then the blocked; the "
                        "longest wrong on top. The run leads to its dashboard.",
                        "fleet/needs_attention",
                        colored=("status", "severity"),
                        units={"age": "s", "last progress": "s"},
                        links=to_runs,
                        widths={
                            "status": 150,
                            "class": 190,
                            "severity": 70,
                            "age": 80,
                            "last progress": 90,
                            "agent": 120,
                            "owner": 110,
                        },
                    ),
                    24,
                )
            ],
        ),
        Row(
            8,
            [
                (
                    panels.timeseries(
                        "Open runs by status",
                        "What was believed at each moment, from the log of transitions.",
                        "fleet/status_over_time",
                        label="status",
                        colors={
                            name: color
                            for name, color in STATUS_COLORS.items()
                            if name not in ("completed", "recovered")
                        },
                        stacked=True,
                        empty="nothing was open",
                    ),
                    12,
                ),
                (
                    panels.table(
                        "Incidents and their ladder",
                        "What people were told: the level of the ladder, how many runs belong to it, how many are still owed.",
                        "fleet/incidents",
                        colored=("severity",),
                        units={"open for": "s", "next step in": "s"},
                        widths={
                            "state": 60,
                            "level": 80,
                            "severity": 70,
                            "open for": 80,
                            "runs owed": 85,
                            "runs in all": 85,
                            "owner": 90,
                            "acknowledged by": 125,
                            "next step in": 100,
                        },
                        links={"session": [links.to_session()]},
                    ),
                    12,
                ),
            ],
            title="Now and over time",
        ),
        Row(
            8,
            [
                (
                    panels.timeseries(
                        "Detection delay",
                        "From the moment a run went wrong, by event time, to the moment this was believed.",
                        "fleet/detection_delay",
                        unit="s",
                        empty="nothing went wrong",
                    ),
                    8,
                ),
                (
                    panels.timeseries(
                        "Delivery latency",
                        "From the end of the child to the result in its owner's conversation, by the time of delivery.",
                        "fleet/delivery_latency",
                        unit="s",
                        empty="nothing was delivered",
                    ),
                    8,
                ),
                (
                    panels.stat(
                        "Settled in this time",
                        "Runs whose owner got the result: as planned, or after all.",
                        "fleet/settled",
                        empty="nothing was settled",
                    ),
                    8,
                ),
            ],
            title="How fast",
        ),
        Row(
            8,
            [
                (
                    panels.table(
                        "Remaining by owner",
                        "What each owner still waits for: runs that have not ended, and runs that ended without its knowing.",
                        "fleet/remaining",
                        units={"oldest": "s"},
                        links={"session": [links.to_session()]},
                        empty="nobody waits for anything",
                    ),
                    12,
                ),
                (
                    panels.table(
                        "Oldest open runs",
                        "Open runs by age, whatever their status.",
                        "fleet/oldest_open",
                        colored=("status",),
                        units={"age": "s", "last progress": "s"},
                        links=to_runs,
                        empty="nothing is open",
                    ),
                    12,
                ),
            ],
            title="Who waits",
        ),
    ]


def _now(title: str, query: str, says: str, steps: tuple[tuple[float | None, str], ...]) -> Json:
    age = override("oldest", {"unit": "s", "color": {"mode": "fixed", "fixedColor": "text"}})
    return panels.stat(
        title,
        says,
        f"fleet/{query}",
        steps=steps,
        overrides=[age],
        links=[links.to_dashboard(links.FAILURES, "Kinds of failure")],
    )
