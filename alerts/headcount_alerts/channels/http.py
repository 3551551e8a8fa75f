"""One POST of JSON, and what a peer's answer means: taken, come again later, or never."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from urllib.parse import urlsplit

from headcount_alerts.errors import ChannelError
from headcount_collector.addresses import is_loopback

LATER = frozenset({408, 425, 429})
"""Statuses below 500 that say: come again."""


def post(url: str, body: bytes, headers: Mapping[str, str], timeout_s: float) -> bytes:
    """POST and return the answer's body. Raises ChannelError; redirects are errors, they would lose the signature."""
    request = urllib.request.Request(url, body, dict(headers), method="POST")
    opener = urllib.request.build_opener(_NoRedirects, *_proxies(url))
    try:
        with opener.open(request, timeout=timeout_s) as answer:
            found: bytes = answer.read(1_000_000)
            return found
    except urllib.error.HTTPError as error:
        with error:
            said = error.read(500).decode("utf-8", "replace").strip()
        raise ChannelError(
            f"{_shown(url)} answers {error.code} {error.reason}" + (f": {said}" if said else ""),
            retryable=error.code >= 500 or error.code in LATER,
            retry_after_s=retry_after_s(error.headers.get("Retry-After")),
        ) from None
    except (urllib.error.URLError, HTTPException, OSError, ValueError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise ChannelError(f"{_shown(url)} does not answer: {reason}") from None


def post_json(
    url: str, document: object, timeout_s: float, headers: Mapping[str, str] | None = None
) -> bytes:
    """POST a document as JSON."""
    body = json.dumps(document, ensure_ascii=False).encode()
    return post(url, body, {"Content-Type": "application/json", **(headers or {})}, timeout_s)


def retry_after_s(value: str | None) -> float | None:
    """Read a Retry-After header: seconds, or a date."""
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


def _proxies(url: str) -> list[urllib.request.BaseHandler]:
    return [urllib.request.ProxyHandler({})] if is_loopback(urlsplit(url).hostname or "") else []


def _shown(url: str) -> str:
    """Name a peer without what may be secret in its address."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")
