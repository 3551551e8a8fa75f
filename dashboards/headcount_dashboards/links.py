"""Where a click leads: between the dashboards, and to headcount's own page."""

from __future__ import annotations

from headcount_collector import dashboard_urls
from headcount_dashboards.panels import Json

FLEET = "headcount-fleet"
RUN = dashboard_urls.RUN
SESSION = dashboard_urls.SESSION
FAILURES = "headcount-failures"
TIME = "headcount-time"
OBSERVER = "headcount-observer"
UIDS = (FLEET, RUN, SESSION, FAILURES, TIME, OBSERVER)

_KEPT = "${__url_time_range}&var-datasource=${datasource}&${environment:queryparam}"


def to_run(session: str = "${__data.fields.session:percentencode}") -> Json:
    """Lead from a row with the column `run` (and `session`, unless given) to the run."""
    run = "${__data.fields.run:percentencode}"
    return _link("Run", f"/d/{RUN}?{_KEPT}&var-session={session}&var-run={run}")


def to_session(session: str = "${__data.fields.session:percentencode}") -> Json:
    """Lead from a row with the column `session` to its owners and children."""
    return _link("Session", f"/d/{SESSION}?{_KEPT}&var-session={session}&var-owner=$__all")


def to_page(session: str = "${__data.fields.session:percentencode}") -> Json:
    """Lead from a row to the run on headcount's own page, as far as one is configured."""
    run = "${__data.fields.run:percentencode}"
    return _link("headcount's page", f"${{page:raw}}/runs/{run}?session={session}")


def to_dashboard(uid: str, title: str) -> Json:
    """Lead to another dashboard, with time, data source, and the kind of runs that is chosen."""
    return _link(title, f"/d/{uid}?{_KEPT}&${{service:queryparam}}&${{agent:queryparam}}")


def _link(title: str, url: str) -> Json:
    return {"title": title, "url": url, "targetBlank": False}
