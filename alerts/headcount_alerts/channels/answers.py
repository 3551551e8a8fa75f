"""What a peer answered to a library that tells only whether a message went: heard where `requests` sends."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import requests

from headcount_alerts.channels.http import LATER, retry_after_s

TOO_MANY = 429


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: its status, and how long the peer asks to wait, where it said so."""

    status: int
    retry_after_s: float | None

    @property
    def taken(self) -> bool:
        """Whether the peer took what was sent."""
        return self.status < 400

    @property
    def retryable(self) -> bool:
        """Whether it may be taken later."""
        return self.status >= 500 or self.status in LATER


class AskedToWait(requests.RequestException):
    """Ends what a library would do next: it would come again at once."""


_HEARD: ContextVar[list[Answer] | None] = ContextVar("headcount_answers", default=None)
_send = requests.Session.send


def _send_and_hear(self: Any, request: Any, **options: Any) -> Any:
    answer = _send(self, request, **options)
    heard = _HEARD.get()
    if heard is not None:
        heard.append(Answer(answer.status_code, _asked_wait_s(answer)))
        if answer.status_code == TOO_MANY:
            raise AskedToWait("the peer asks to wait")
    return answer


requests.Session.send = _send_and_hear  # type: ignore[method-assign]  # apprise makes the sessions; this is the seam


@contextlib.contextmanager
def heard() -> Iterator[list[Answer]]:
    """Collect the answers to everything that this thread sends by `requests`; what others send is left alone."""
    found: list[Answer] = []
    token = _HEARD.set(found)
    try:
        yield found
    finally:
        _HEARD.reset(token)


def _asked_wait_s(answer: Any) -> float | None:
    """Return how long to wait: the header, else the field of Discord's or Telegram's answer."""
    said = retry_after_s(answer.headers.get("Retry-After"))
    if said is not None or answer.status_code != TOO_MANY:
        return said
    try:
        body = json.loads(answer.content)
        wait = body.get("retry_after", body.get("parameters", {}).get("retry_after"))
        return None if wait is None else max(0.0, float(wait))
    except (ValueError, TypeError, AttributeError):
        return None
