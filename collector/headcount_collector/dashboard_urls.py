"""Addresses of the dashboards in Grafana, for links from the page and from messages."""

from __future__ import annotations

from urllib.parse import quote

RUN = "headcount-run"
SESSION = "headcount-session"
_MARGIN_NS = 60 * 1_000_000_000


def run_dashboard(
    grafana_url: str, session: str, run: str, began_ns: int | None = None, ended_ns: int | None = None
) -> str:
    """Return the address of a run's dashboard. Its time begins a minute before `began_ns` and ends a minute after
    `ended_ns`, or now where the run goes on; without a beginning the dashboard's own default holds."""
    time = ""
    if began_ns is not None:
        until = "now" if ended_ns is None else str((ended_ns + _MARGIN_NS) // 1_000_000)
        time = f"&from={(began_ns - _MARGIN_NS) // 1_000_000}&to={until}"
    return f"{grafana_url}/d/{RUN}?var-session={quote(session, safe='')}&var-run={quote(run, safe='')}{time}"


def session_dashboard(grafana_url: str, session: str) -> str:
    """Return the address of a session's dashboard, with all of its owners."""
    return f"{grafana_url}/d/{SESSION}?var-session={quote(session, safe='')}&var-owner=$__all"
