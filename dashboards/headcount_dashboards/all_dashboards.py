"""The list of dashboards."""

from __future__ import annotations

from headcount_dashboards.accounts import accounts
from headcount_dashboards.failures import failures
from headcount_dashboards.fleet import fleet
from headcount_dashboards.observer import observer
from headcount_dashboards.panels import Json
from headcount_dashboards.run import run
from headcount_dashboards.session import session
from headcount_dashboards.settings import GrafanaSettings

_DASHBOARDS = (fleet, run, session, failures, accounts, observer)


def dashboards(settings: GrafanaSettings) -> list[Json]:
    """Return every dashboard, the one to keep open first."""
    return [build(settings) for build in _DASHBOARDS]
