"""What can go wrong between us and a Grafana: each names the value that was wrong and the way out."""

from __future__ import annotations

from headcount_collector.errors import HeadcountError


class DashboardsError(HeadcountError):
    """Base of the errors of this package."""


class GrafanaError(DashboardsError):
    """Grafana refused, cannot be reached, or lacks what is needed."""


class NotOurs(GrafanaError):
    """Something of ours is in the hands of somebody else: another owner, a file, or a later edit."""
