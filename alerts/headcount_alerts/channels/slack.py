"""Slack: a bot's one message an incident, edited as it changes, with its steps in the thread; or an incoming webhook."""

from __future__ import annotations

import json
from typing import Any

from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web import WebClient
from slack_sdk.webhook import WebhookClient

from headcount_alerts.channels.channel import Document, Parcel
from headcount_alerts.channels.http import retry_after_s
from headcount_alerts.errors import ChannelError
from headcount_alerts.text import Texts

ACKNOWLEDGE = "headcount_acknowledge"
"""The `action_id` of the button."""

_LATER = frozenset(
    {"ratelimited", "rate_limited", "internal_error", "fatal_error", "service_unavailable", "request_timeout"}
)
_GONE = ("message_not_found", "cant_update_message", "edit_window_closed")
_LONGEST = 2900
"""Characters of a section's text; Slack takes 3000."""


class SlackBot:
    """Writes to one channel with a bot token (scope `chat:write`). The reference is `channel:ts`."""

    updates = True

    def __init__(
        self,
        token: str,
        channel: str,
        texts: Texts,
        *,
        api: str = "https://slack.com/api/",
        timeout_s: float = 10.0,
        button: bool = False,
    ) -> None:
        self._client = WebClient(token, base_url=api, timeout=max(1, round(timeout_s)), retry_handlers=[])
        self._channel = channel
        self._texts = texts
        self._button = button

    def send(self, parcel: Parcel) -> str:
        """Post the first message of an incident; afterwards edit it, and say each step of the ladder in its thread."""
        document = parcel.document | {"repeat": parcel.repeat}
        content = self._content(document)
        if not parcel.reference:
            return self._post(content)
        channel, _, ts = parcel.reference.rpartition(":")
        try:
            self._call("chat.update", {"channel": channel, "ts": ts, **content})
        except ChannelError as error:
            if not any(reason in str(error) for reason in _GONE):
                raise
            return self._post(content)  # somebody deleted it; the incident stands all the same
        if document["step"] != "updated":
            said = self._texts.title(document, "slack").strip()
            # A reminder that nobody sees outside of its thread reminds nobody.
            loud = document["step"] in ("notified", "reminded", "escalated")
            reply = {"channel": channel, "thread_ts": ts, "text": said, "reply_broadcast": loud}
            self._call("chat.postMessage", {**reply, **_QUIET})
        return parcel.reference

    def _post(self, content: dict[str, Any]) -> str:
        answer = self._call("chat.postMessage", {"channel": self._channel, **content, **_QUIET})
        return f"{answer['channel']}:{answer['ts']}"

    def _content(self, document: Document) -> dict[str, Any]:
        title = self._texts.title(document, "slack").strip()
        return {
            "text": title,
            "blocks": blocks(title, self._texts.body(document, "slack", _LONGEST), document, self._button),
        }

    def _call(self, method: str, body: dict[str, Any]) -> dict[str, Any]:
        try:
            answer = self._client.api_call(method, json=body)
        except SlackApiError as error:
            raise _refused(method, error) from None
        except (SlackClientError, OSError, ValueError) as error:
            raise ChannelError(f"slack {method}: {type(error).__name__}: {error}") from None
        return dict(answer.data) if isinstance(answer.data, dict) else {}


class SlackWebhook:
    """Posts to an incoming webhook: every step is a message of its own."""

    updates = False

    def __init__(self, url: str, texts: Texts, *, timeout_s: float = 10.0) -> None:
        self._client = WebhookClient(url, timeout=max(1, round(timeout_s)), retry_handlers=[])
        self._texts = texts

    def send(self, parcel: Parcel) -> str:
        """Post one message."""
        document = parcel.document | {"repeat": parcel.repeat}
        title = self._texts.title(document, "slack").strip()
        body = {
            "text": title,
            "blocks": blocks(title, self._texts.body(document, "slack", _LONGEST), document),
            **_QUIET,
        }
        try:
            answer = self._client.send_dict(body)
        except (SlackClientError, OSError, ValueError) as error:
            raise ChannelError(f"slack webhook: {type(error).__name__}: {error}") from None
        if answer.status_code != 200:
            later = answer.status_code >= 500 or answer.status_code == 429
            headers = {name.lower(): value for name, value in answer.headers.items()}
            raise ChannelError(
                f"slack webhook answers {answer.status_code}: {answer.body}",
                retryable=later,
                retry_after_s=retry_after_s(headers.get("retry-after")),
            )
        return ""


_QUIET: dict[str, Any] = {"unfurl_links": False, "unfurl_media": False}


def blocks(title: str, body: str, document: Document, button: bool = False) -> list[dict[str, Any]]:
    """Return a message's blocks; `verbatim` keeps Slack from making links and mentions of its own."""
    found: list[dict[str, Any]] = [
        {"type": "section", "text": {"type": "mrkdwn", "verbatim": True, "text": f"*{title}*"[:_LONGEST]}},
        {"type": "section", "text": {"type": "mrkdwn", "verbatim": True, "text": body}},
    ]
    if button and document["state"] == "open":
        text = {"type": "plain_text", "text": "I am on it"}
        press = {"type": "button", "action_id": ACKNOWLEDGE, "value": document["incident"], "text": text}
        found.append({"type": "actions", "elements": [press]})
    return found


def pressed(payload: str) -> tuple[str, str] | None:
    """Return (incident, who) of a button that was pressed; None for any other interaction. `payload` is Slack's JSON."""
    try:
        document = json.loads(payload)
        action = next(a for a in document["actions"] if a["action_id"] == ACKNOWLEDGE)
        user = document["user"]
        return str(action["value"]), str(user.get("username") or user.get("name") or user["id"])
    except (ValueError, KeyError, TypeError, StopIteration):
        return None


def _refused(method: str, error: SlackApiError) -> ChannelError:
    answer = error.response
    said = str(answer.get("error", "?")) if answer is not None else str(error)
    status = getattr(answer, "status_code", 200)
    headers = {name.lower(): value for name, value in (getattr(answer, "headers", None) or {}).items()}
    return ChannelError(
        f"slack {method}: {said}",
        retryable=said in _LATER or status == 429 or status >= 500,
        retry_after_s=retry_after_s(headers.get("retry-after")),
    )
