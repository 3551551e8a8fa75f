"""The dashboard of one run: what happened, what is missing, and why it is judged as it is."""

from __future__ import annotations

from headcount_dashboards import links, panels
from headcount_dashboards.dashboard import Row, annotation, dashboard, variable
from headcount_dashboards.fleet import ENVIRONMENT
from headcount_dashboards.panels import STATUS_COLORS, Json, words_of
from headcount_dashboards.queries import Query
from headcount_dashboards.settings import GrafanaSettings

_LANES: tuple[str | Query, ...] = (
    "run/lane_status",
    "run/lane_evidence",
    "run/lane_progress",
    Query("run/lane_call", {"event": "tool_call", "lane": "tool"}),
    Query("run/lane_call", {"event": "model_request", "lane": "model"}),
    "run/lane_wait",
)
_UNKNOWN = "no such run: choose one above"


def run(settings: GrafanaSettings) -> Json:
    """Return the dashboard of one run by its id."""
    return dashboard(
        settings,
        uid=links.RUN,
        title="headcount: run",
        says="One run: its evidence on a time axis, its receipts, where its time went, and what would change its verdict.",
        rows=_rows(),
        variables=(
            ENVIRONMENT,
            variable("session", "Session", "variables/session", many=False, everything=False),
            variable("run", "Run", "variables/run", many=False, everything=False),
        ),
        annotations=(annotation("Incidents", "annotations/incidents_of_session", "red"),),
        since="now-24h",
    )


def _rows() -> list[Row]:
    return [
        Row(
            4,
            [
                (
                    panels.stat(
                        "Status",
                        "How the run is judged now.",
                        "run/status",
                        mappings=words_of(STATUS_COLORS),
                        empty=_UNKNOWN,
                    ),
                    6,
                ),
                (
                    panels.stat(
                        "How long ago",
                        "Progress counts for the judgement; activity and traffic are life without it.",
                        "run/clocks",
                        unit="s",
                        empty=_UNKNOWN,
                    ),
                    12,
                ),
                (
                    panels.stat(
                        "Deadline",
                        "Time until the deadline, below zero once it has passed. Empty where the run is closed.",
                        "run/deadline",
                        unit="s",
                        steps=((None, "red"), (0, "green")),
                        empty="closed",
                    ),
                    6,
                ),
            ],
        ),
        Row(
            10,
            [
                (
                    panels.state_timeline(
                        "What happened",
                        "What was believed; what was said of the obligation; progress; the tool and the model request in "
                        "flight; declared waits.",
                        _LANES,
                        empty="nothing was heard in this time",
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
                        "Why, and what is missing",
                        "The rule that decides, the facts it rests on, what is in flight, and what would change the verdict.",
                        "run/why",
                        widths={"about": 190},
                        empty=_UNKNOWN,
                    ),
                    14,
                ),
                (
                    panels.table(
                        "The run",
                        "What is known of the run.",
                        "run/summary",
                        widths={"what": 140},
                        empty=_UNKNOWN,
                    ),
                    10,
                ),
            ],
        ),
        Row(
            8,
            [
                (
                    panels.table(
                        "Receipts",
                        "The dispatch receipt and the completion receipt, by the names of the runbook.",
                        "run/receipts",
                        widths={"receipt": 190},
                        empty=_UNKNOWN,
                    ),
                    8,
                ),
                (
                    panels.bars(
                        "Where the time went",
                        "The run's time account: working, waiting, idle, and on its way back.",
                        "run/account",
                        over="part",
                        unit="s",
                        empty="nothing to account for",
                    ),
                    8,
                ),
                (
                    panels.table(
                        "Tool calls",
                        "Each tool: how often it was called, failed, or has not come back, and how long it took.",
                        "run/tool_calls",
                        units={"in all": "s", "longest": "s"},
                        empty="no tool was called",
                    ),
                    8,
                ),
            ],
        ),
        Row(
            8,
            [
                (
                    panels.table(
                        "What was believed",
                        "Every change of the verdict: when it was believed, and since when it holds by event time.",
                        "run/believed",
                        colored=("before", "status", "severity"),
                        empty="nothing yet",
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
                        "Evidence",
                        "Every record of the obligation, in order of event time; on its way: how long it took to arrive.",
                        "run/evidence",
                        units={"on its way": "s"},
                        widths={"event": 170, "phase": 80, "on its way": 90, "happened": 170},
                        empty="nothing was heard",
                    ),
                    24,
                )
            ],
        ),
        Row(
            12,
            [
                (
                    panels.traces(
                        "Spans",
                        "Every span that carries the run, of whatever trace: a background child has a trace of its own.",
                        "run/trace",
                        empty="no span of this run is stored any more",
                    ),
                    24,
                )
            ],
        ),
    ]
