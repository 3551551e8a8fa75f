"""Every service that apprise knows: Discord, Teams, Telegram, Mattermost, Google Chat, e-mail, PagerDuty, ntfy, …"""

from __future__ import annotations

import logging

import apprise

from headcount_alerts.channels.channel import Parcel
from headcount_alerts.errors import AlertsConfigError, ChannelError
from headcount_alerts.text import Texts

_HTML = frozenset({"mailto", "mailtos"})
_PLAIN = frozenset({"pagerduty", "sns", "twilio", "signal", "signals", "syslog", "json", "jsons"})


_LONGEST = {"pagerduty": 1000}
"""Characters of title and body together, where a service refuses more and apprise does not cut."""


class AppriseChannel:
    """Sends one message a step to one apprise URL."""

    updates = False

    def __init__(self, url: str, texts: Texts) -> None:
        self._texts = texts
        self._scheme = url.partition(":")[0].lower()
        self._target = apprise.Apprise()
        if not self._target.add(url):
            raise AlertsConfigError(
                f"apprise does not understand a URL that begins with {self._scheme}://; "
                "https://github.com/caronc/apprise/wiki lists what it takes"
            )

    def send(self, parcel: Parcel) -> str:
        """Send one message. apprise says only whether it went; its log says why it did not."""
        document = parcel.document | {"repeat": parcel.repeat}
        style, kind = self._style()
        level = {"page": apprise.NotifyType.FAILURE, "warn": apprise.NotifyType.WARNING}
        closed = document["state"] == "closed"
        title = self._texts.title(document, style).strip()
        room = _LONGEST.get(self._scheme)
        if room is not None:
            title = title[: room // 2]
        body = self._texts.body(document, style)[: None if room is None else room - len(title)]
        with apprise.LogCapture(level=logging.WARNING) as said:  # type: ignore[no-untyped-call]  # apprise has no types here
            sent = self._target.notify(
                body=body,
                title=title,
                notify_type=apprise.NotifyType.SUCCESS
                if closed
                else level.get(document["severity"], apprise.NotifyType.INFO),
                body_format=kind,
            )
            reason = " ".join(said.getvalue().split())[-400:]
        if not sent:
            raise ChannelError(f"apprise ({self._scheme}): {reason or 'not sent, without a reason'}")
        return ""

    def _style(self) -> tuple[str, apprise.NotifyFormat]:
        if self._scheme in _HTML:
            return "html", apprise.NotifyFormat.HTML
        if self._scheme in _PLAIN:
            return "text", apprise.NotifyFormat.TEXT
        return "markdown", apprise.NotifyFormat.MARKDOWN
