"""Every service that apprise knows: Discord, Teams, Telegram, Mattermost, Google Chat, e-mail, PagerDuty, ntfy, …"""

from __future__ import annotations

import logging

import apprise

from headcount_alerts.channels.answers import Answer, heard
from headcount_alerts.channels.channel import Document, Parcel
from headcount_alerts.errors import AlertsConfigError, ChannelError
from headcount_alerts.text import Texts, cut, size

_HTML = frozenset({"mailto", "mailtos"})
# Telegram refuses a text whose markdown does not add up; plain text it is given as HTML that does.
_PLAIN = frozenset({"tgram", "pagerduty", "sns", "twilio", "signal", "signals", "syslog", "json", "jsons"})
_PAGERDUTY = "pagerduty"
_LONGEST = {"ntfy": 4096, "ntfys": 4096}
"""Bytes of a message where the service takes less than apprise does: ntfy makes a file of what is longer."""
_SPARE = 60
"""Characters that a service's own marks may add to title and body."""


class AppriseChannel:
    """Sends one message a step to one apprise URL."""

    updates = False

    def __init__(self, url: str, texts: Texts, *, timeout_s: float = 10.0) -> None:
        self._texts = texts
        self._timeout_s = timeout_s
        self._url = url
        self._scheme = url.partition(":")[0].lower()
        target = _target(url, timeout_s)
        if target is None:
            raise AlertsConfigError(
                f"apprise does not understand a URL that begins with {self._scheme}://; "
                "https://github.com/caronc/apprise/wiki lists what it takes"
            )
        self._target = target
        self._room = min(target[0].body_maxlen, _LONGEST.get(self._scheme, target[0].body_maxlen))

    def send(self, parcel: Parcel) -> str:
        """Send one message. apprise says only whether it went; the peer's answers and its log say why it did not."""
        document = parcel.document | {"repeat": parcel.repeat}
        style, kind = self._style()
        title = cut(self._texts.title(document, style).strip(), self._room // 2)
        body = self._texts.body(document, style, self._room - size(title) - _SPARE)
        with heard() as answers, apprise.LogCapture(level=logging.WARNING) as said:  # type: ignore[no-untyped-call]  # apprise has no types here
            sent = self._of_incident(document).notify(
                body=body, title=title, notify_type=_level(document), body_format=kind
            )
            reason = " ".join(said.getvalue().split())[-400:]
        if not sent:
            raise self._refused(answers, reason)
        return ""

    def _of_incident(self, document: Document) -> apprise.Apprise:
        """Return the target of a message: to PagerDuty all messages of an incident are one, which the last resolves."""
        if self._scheme != _PAGERDUTY or "dedup=" in self._url:
            return self._target
        more = f"{'&' if '?' in self._url else '?'}action=map&dedup=headcount-{document['incident']}"
        return _target(self._url + more, self._timeout_s) or self._target

    def _refused(self, answers: list[Answer], reason: str) -> ChannelError:
        refusals = [answer for answer in answers if not answer.taken]
        asked = max((a.retry_after_s for a in refusals if a.retry_after_s is not None), default=None)
        status = f" answers {refusals[-1].status}" if refusals else ""
        return ChannelError(
            f"apprise ({self._scheme}){status}: {reason or 'not sent, without a reason'}",
            retryable=not refusals or any(answer.retryable for answer in refusals),
            retry_after_s=asked,
        )

    def _style(self) -> tuple[str, apprise.NotifyFormat]:
        if self._scheme in _HTML:
            return "html", apprise.NotifyFormat.HTML
        if self._scheme in _PLAIN:
            return "text", apprise.NotifyFormat.TEXT
        return "markdown", apprise.NotifyFormat.MARKDOWN


def _target(url: str, timeout_s: float) -> apprise.Apprise | None:
    target = apprise.Apprise(asset=apprise.AppriseAsset(app_id="headcount", app_desc="headcount"))
    if not target.add(url):
        return None
    target[0].socket_connect_timeout = target[0].socket_read_timeout = timeout_s
    target[0].request_rate_per_sec = 0  # the outbox spreads messages; apprise would let each wait by itself
    return target


def _level(document: Document) -> apprise.NotifyType:
    if document["state"] == "closed":
        return apprise.NotifyType.SUCCESS
    levels = {"page": apprise.NotifyType.FAILURE, "warn": apprise.NotifyType.WARNING}
    return levels.get(document["severity"], apprise.NotifyType.INFO)
