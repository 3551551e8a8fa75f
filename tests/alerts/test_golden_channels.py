"""What the channels of our own post for every class and signal, request by request, as golden files."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from headcount_alerts.channels.alertmanager import AlertmanagerChannel
from headcount_alerts.channels.channel import Channel, Parcel
from headcount_alerts.channels.slack import SlackBot, SlackWebhook
from headcount_alerts.channels.webhook import WebhookChannel
from headcount_alerts.text import Texts

from .peers import Asked, Said, SlackApi, peer
from .test_text import CONDITIONS, check, incident, message
from .verdicts import T0, S

TEXTS = Texts()
NOW_S = T0 / S
STEPS = ("notified", "reminded", "closed")
"""One class goes through these; of the others the first message is enough."""

Make = Callable[[str], Channel]
CHANNELS: dict[str, tuple[Make, Callable[[Asked], Said]]] = {
    "slack_bot": (
        lambda url: SlackBot("xoxb-1", "C1", TEXTS, api=url + "/api/", button=True),
        SlackApi(),
    ),
    "slack_webhook": (
        lambda url: SlackWebhook(url + "/services/T1/B1/x", TEXTS),
        lambda asked: Said(200, b"ok"),
    ),
    "alertmanager": (lambda url: AlertmanagerChannel(url, TEXTS, clock=lambda: NOW_S), lambda asked: Said()),
    "webhook": (
        lambda url: WebhookChannel(url + "/hook", secret="one that is long enough", clock=lambda: NOW_S),
        lambda asked: Said(),
    ),
}
SHOWN = ("idempotency-key", "headcount-timestamp", "headcount-signature")


def requests_of(asked: list[Asked]) -> str:
    lines = []
    for one in asked:
        lines.append(f"{one.method} {one.path}")
        lines += [f"{name}: {one.headers[name]}" for name in SHOWN if name in one.headers]
        lines.append(json.dumps(one.json, ensure_ascii=False, indent=1, sort_keys=True))
    return "\n".join(lines)


def sent(channel: Channel, name: str) -> None:
    found = incident(CONDITIONS[name])
    reference = ""
    for what in STEPS if name == "class-done_but_not_forwarded" else STEPS[:1]:
        found.is_open = what != "closed"
        document: dict[str, Any] = message(found, what)
        reference = channel.send(Parcel(f"{name}-{what}", document, reference))


@pytest.mark.parametrize("kind", CHANNELS)
def test_every_class_and_signal_is_posted_as_it_was_agreed(kind: str) -> None:
    make, answer = CHANNELS[kind]
    texts = []
    with peer(answer) as server:
        channel = make(server.url)
        for name in CONDITIONS:
            before = len(server.asked)
            sent(channel, name)
            texts.append(f"=== {name}\n{requests_of(server.asked[before:])}")
    check(f"channel-{kind}.txt", "\n".join(texts) + "\n")
