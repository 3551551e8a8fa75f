"""What `headcount doctor` asks of the alerts: whether they can be read, whom they reach, and whether a test arrives."""

from __future__ import annotations

from collections.abc import Iterator

from headcount_alerts.channels.build import build_channels
from headcount_alerts.client import AlertsClient
from headcount_alerts.errors import AlertsConfigError
from headcount_alerts.settings import NOBODY, load_alerts
from headcount_alerts.text import Texts
from headcount_alerts.tree import notes_of
from headcount_collector.cli.client import ClientError
from headcount_collector.settings import Settings

Finding = tuple[str, str, str]
"""State (ok, warning or wrong), what was found, and the way out."""


def findings(settings: Settings) -> Iterator[Finding]:
    """Yield what was found of the configuration at hand, then send a test message through the running collector."""
    try:
        alerts = load_alerts(settings.alerts)
        build_channels(alerts, Texts(alerts.templates))
    except AlertsConfigError as error:
        yield "wrong", "the table [alerts] cannot be used", str(error)
        return
    if alerts.route is None and settings.alerts:
        yield (
            "warning",
            "nobody is told of incidents",
            "add [alerts.route] to headcount.toml (docs/alerts.md)",
        )
    for note in notes_of(alerts) if alerts.route is not None else ():
        yield "warning", f"alerts: {note}", "headcount alerts check draws the tree"
    client = AlertsClient.of(settings)
    try:
        receivers = client.receivers()["receivers"]
    except ClientError:
        return  # that no collector answers is said elsewhere
    if set(receivers) <= {NOBODY}:
        yield (
            "warning",
            "the running collector tells nobody of incidents",
            "start it with --config headcount.toml",
        )
    for name in receivers:
        if name == NOBODY:
            continue
        for channel, outcome in client.test(name)["channels"].items():
            if outcome == "sent":
                yield "ok", f"a test message went out by {channel}", ""
            else:
                yield (
                    "wrong",
                    f"a test message did not go out by {channel}: {outcome}",
                    "headcount alerts test --receiver " + name,
                )
