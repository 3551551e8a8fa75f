"""Makes the channels of a configuration: every table under a receiver becomes one, named receiver/number/type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headcount_alerts import settings as tables
from headcount_alerts.channels.channel import Channel, Parcel
from headcount_alerts.errors import AlertsConfigError
from headcount_alerts.settings import AlertSettings, ChannelTable, secret_of
from headcount_alerts.text import Texts


@dataclass(frozen=True, slots=True)
class Line:
    """A channel with how fast and for how long it may be tried."""

    name: str
    channel: Channel
    rate_per_minute: int
    give_up_after_s: float


def build_channels(
    settings: AlertSettings, texts: Texts, nudged: Callable[[Parcel], None] | None = None
) -> dict[str, list[Line]]:
    """Return the channels of each receiver; `nudged` is told of nudges. Raises AlertsConfigError naming the receiver."""
    found: dict[str, list[Line]] = {tables.NOBODY: []}
    for name, receiver in settings.receivers.items():
        found[name] = []
        for place, table in enumerate(receiver.channels):
            where = f"{name}/{place}/{table.type}"
            try:
                channel = _channel(table, texts, nudged)
            except ImportError as error:
                raise AlertsConfigError(
                    f"{where} needs {error.name}, which is not installed: pip install 'headcount[alerts]'"
                ) from None
            except AlertsConfigError as error:
                raise AlertsConfigError(f"alerts.receivers.{name}.channels.{place}: {error}") from None
            found[name].append(Line(where, channel, table.rate_per_minute, table.give_up_after))
    return found


def _channel(table: ChannelTable, texts: Texts, nudged: Callable[[Parcel], None] | None) -> Channel:
    # Imported where needed: a configuration loads only the libraries of the channels that it names.
    match table:
        case tables.SlackChannel():
            from headcount_alerts.channels.slack import SlackBot, SlackWebhook

            token = secret_of(table, "token")
            if token is None:
                return SlackWebhook(_given(table, "webhook"), texts, timeout_s=table.timeout_s)
            button = secret_of(table, "signing_secret") is not None
            return SlackBot(
                token, table.channel or "", texts, api=table.api, timeout_s=table.timeout_s, button=button
            )
        case tables.WebhookChannel():
            from headcount_alerts.channels.webhook import WebhookChannel

            return WebhookChannel(
                _given(table, "url"),
                secret=secret_of(table, "secret"),
                headers=table.headers,
                timeout_s=table.timeout_s,
            )
        case tables.AlertmanagerChannel():
            from headcount_alerts.channels.alertmanager import AlertmanagerChannel

            return AlertmanagerChannel(
                table.url, texts, labels=table.labels, hold_s=table.hold, timeout_s=table.timeout_s
            )
        case tables.NudgeChannel():
            from headcount_alerts.channels.nudge import NudgeChannel

            return NudgeChannel(
                texts,
                url=secret_of(table, "url"),
                command=table.command,
                at_most=table.at_most,
                timeout_s=table.timeout_s,
                told=nudged,
            )
        case tables.AppriseChannel():
            from headcount_alerts.channels.anything import AppriseChannel

            return AppriseChannel(_given(table, "url"), texts, timeout_s=table.timeout_s)


def _given(table: ChannelTable, name: str) -> str:
    found = secret_of(table, name)
    assert found is not None  # the table's own check made sure
    return found
