"""The dashboard of one session: what each owner is still owed, and how its children stand."""

from __future__ import annotations

from headcount_dashboards import links, panels
from headcount_dashboards.dashboard import Row, annotation, dashboard, variable
from headcount_dashboards.fleet import ENVIRONMENT
from headcount_dashboards.panels import GREEN_TO_RED, Json, override, thresholds
from headcount_dashboards.settings import GrafanaSettings

_HERE = "${session:percentencode}"


def session(settings: GrafanaSettings) -> Json:
    """Return the dashboard of one session and its owners."""
    return dashboard(
        settings,
        uid=links.SESSION,
        title="headcount: session and owner",
        says="One session: its groups, its children, and what went wrong between them.",
        rows=_rows(settings),
        variables=(
            ENVIRONMENT,
            variable("session", "Session", "variables/session", many=False, everything=False),
            variable("owner", "Owner", "variables/owner"),
        ),
        annotations=(annotation("Incidents", "annotations/incidents_of_session", "red"),),
        since="now-24h",
    )


def _rows(settings: GrafanaSettings) -> list[Row]:
    to_run = [links.to_run(_HERE), *([links.to_page(_HERE)] if settings.page_url else [])]
    return [
        Row(
            4,
            [
                (
                    panels.stat(
                        "Owed",
                        "Remaining: dispatched and not ended. Undelivered: ended, and the owner does not know.",
                        "session/remaining",
                        empty="nothing is owed",
                        overrides=[
                            override(name, {"thresholds": thresholds(GREEN_TO_RED)})
                            for name in ("undelivered", "not well")
                        ],
                    ),
                    14,
                ),
                (
                    panels.stat(
                        "All terminal?",
                        "Whether every run of the group has ended, and whether its owner has every result.",
                        "session/settled",
                        mappings=[
                            {
                                "type": "value",
                                "options": {
                                    "all ended and delivered": {"color": "green", "index": 0},
                                    "all ended, not all delivered": {"color": "red", "index": 1},
                                    "not all ended": {"color": "blue", "index": 2},
                                    "nothing was dispatched": {"color": "text", "index": 3},
                                },
                            }
                        ],
                        empty="nothing was dispatched",
                    ),
                    10,
                ),
            ],
        ),
        Row(
            10,
            [
                (
                    panels.table(
                        "Children",
                        "Every run of the session, the unwell first; a run leads to its dashboard.",
                        "session/children",
                        colored=("status", "severity"),
                        units={"took": "s", "delivered after": "s"},
                        links={"run": to_run},
                        empty="nothing was dispatched",
                    ),
                    24,
                )
            ],
        ),
        Row(
            9,
            [
                (
                    panels.state_timeline(
                        "Children over time",
                        "What was believed of each run, one lane a run.",
                        ["session/timeline"],
                        split_by="run",
                        empty="nothing was dispatched",
                    ),
                    24,
                )
            ],
        ),
        Row(
            8,
            [
                (
                    panels.table(
                        "Groups",
                        "The runs of each owner that count in its group; foreground calls do not.",
                        "session/groups",
                        empty="nothing was dispatched",
                    ),
                    12,
                ),
                (
                    panels.timeseries(
                        "Open runs",
                        "Runs of the session that were neither delivered nor void, at each moment.",
                        "session/open_over_time",
                        empty="nothing was open",
                    ),
                    12,
                ),
            ],
        ),
        Row(
            7,
            [
                (
                    panels.table(
                        "Signals that hold now",
                        "Early and orthogonal findings on the runs of this session.",
                        "session/signals",
                        colored=("severity",),
                        links={"run": to_run},
                    ),
                    24,
                )
            ],
        ),
        Row(
            7,
            [
                (
                    panels.table(
                        "Duplicates",
                        "Work that was dispatched twice, or told twice, at any time.",
                        "session/duplicates",
                        colored=("severity",),
                        links={"run": to_run},
                        empty="nothing was done twice",
                    ),
                    12,
                ),
                (
                    panels.table(
                        "Premature finals",
                        "Answers that were given while runs were still owed, and runs that were left behind.",
                        "session/finals",
                        colored=("severity",),
                        empty="no answer came too early",
                    ),
                    12,
                ),
            ],
        ),
    ]
