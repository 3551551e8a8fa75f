"""Alertmanager's API v2: an open incident is a firing alert whose end is kept ahead, a closed one a resolved alert."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from headcount_alerts.channels.channel import Document, Parcel
from headcount_alerts.channels.http import post_json
from headcount_alerts.neutral import STYLES
from headcount_alerts.text import Texts
from headcount_collector.judge.policy import SECOND


class AlertmanagerChannel:
    """POSTs alerts. Grouping, silences and receivers are that Alertmanager's."""

    updates = True

    def __init__(
        self,
        url: str,
        texts: Texts,
        *,
        labels: Mapping[str, str] | None = None,
        hold_s: float = 300.0,
        timeout_s: float = 10.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._url = url.rstrip("/") + "/api/v2/alerts"
        self._texts = texts
        self._labels = dict(labels or {})
        self._hold_s = hold_s
        self._timeout_s = timeout_s
        self._clock = clock

    @property
    def refresh_s(self) -> float:
        """How often an open incident must be sent again, so that its alert does not end by itself."""
        return self._hold_s / 4

    def send(self, parcel: Parcel) -> str:
        """Send one alert; where the severity rose, the alert of the former severity is resolved with it."""
        document = parcel.document
        alerts = [self._alert(document, document["severity"], over=document["state"] == "closed")]
        if parcel.reference not in ("", document["severity"]):
            alerts.append(self._alert(document, parcel.reference, over=True))
        post_json(self._url, alerts, self._timeout_s)
        return str(document["severity"])

    def _alert(self, document: Document, severity: str, *, over: bool) -> dict[str, object]:
        now = self._clock()
        end = now if over else now + self._hold_s
        alert: dict[str, object] = {
            # Labels are the identity of an alert: what changes while an incident is open would make another of it.
            "labels": {
                "alertname": "HeadcountIncident",
                "incident": document["incident"],
                "kind": document["kind"],
                "session": _harmless(document["session"]),
                "owner": _harmless(document["owner"]),
                "severity": severity,
                **self._labels,
            },
            "annotations": {
                "summary": self._texts.title(document),
                "description": self._texts.body(document),
                "level": document["level"],
                "class": document["class"],
                "agent": _harmless(document["agent"]),
                "step": document["step"],
            },
            "startsAt": _moment(document["opened_at"] / SECOND),
            "endsAt": _moment(end),
        }
        if document["url"]:
            alert["generatorURL"] = document["url"]
        return alert


# Whoever routes there may print labels into any chat.
_harmless = STYLES["markdown"]


def _moment(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds")
