"""The alerts as a listener of `headcount serve`: made from its settings, with the routes of the API."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import APIRouter

from headcount_alerts.api import routes_of
from headcount_alerts.nudged import Nudged
from headcount_alerts.service import Alerts
from headcount_alerts.settings import load_alerts
from headcount_collector.metrics import Metric, counter, gauge
from headcount_collector.watch.listener import Host
from headcount_collector.watch.tick import Tick, TickReport


class ServedAlerts:
    """Joins the alerts and their routes."""

    routes: APIRouter

    def __init__(self, host: Host) -> None:
        self.alerts = Alerts(
            host.store,
            host.settings.judged_by,
            load_alerts(host.settings.alerts),
            nudged=Nudged(host.submit),
            grafana=host.settings.dashboards_url,
        )
        self.routes = routes_of(self.alerts, host)

    @property
    def next_due(self) -> int | None:
        """Return when the ladder wants a tick; a serving collector ticks anyway."""
        return self.alerts.next_due

    def start(self, watched: Tick) -> None:
        """Take up where the last process stopped, and have the runs of open incidents judged anew."""
        self.alerts.start()
        watched.look_again(self.alerts.open_runs())

    def rest(self) -> None:
        """Send nothing and decide nothing: another process does."""
        self.alerts.rest()

    def failed(self, at: int) -> None:
        """Let the dead-man ping tell that an evaluation failed."""
        self.alerts.failed(at)

    def after_tick(self, report: TickReport) -> None:
        """Take in one tick."""
        self.alerts.after_tick(report)

    def metrics(self) -> Iterator[Metric]:
        """Return the numbers of incidents and of the outbox."""
        numbers = self.alerts.numbers()
        says = "Incidents that are open."
        yield Metric("headcount_open_incidents", "gauge", says, numbers.open_incidents, "severity")
        yield gauge(
            "headcount_alert_messages_waiting", "Messages on their way to a channel.", numbers.waiting
        )
        for name, says, value in (
            ("sent", "Messages that a channel took.", numbers.sent),
            ("send_failures", "Attempts that a channel refused or did not answer.", numbers.failures),
            ("dead", "Messages that were given up.", numbers.dead),
        ):
            yield counter(f"headcount_alert_messages_{name}_total", says, value)

    def close(self) -> None:
        """Stop sending."""
        self.alerts.close()


def serve_listener(host: Host) -> ServedAlerts:
    """Return the alerts of a running collector; named by the entry point `alerts`. Raises AlertsConfigError."""
    return ServedAlerts(host)
