"""Our own webhook: versioned JSON, signed with its time, so that nobody can forge it and nothing old counts."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Callable, Mapping

from headcount_alerts.channels.channel import Parcel
from headcount_alerts.channels.http import post
from headcount_alerts.errors import AlertsError

TOLERANCE_S = 300
"""How old a signed request may be."""


class BadSignature(AlertsError):
    """A request that does not come from who shares the secret, or came long ago."""


class WebhookChannel:
    """POSTs the message document."""

    updates = True

    def __init__(
        self,
        url: str,
        *,
        secret: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 10.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._url = url
        self._secret = secret
        self._headers = dict(headers or {})
        self._timeout_s = timeout_s
        self._clock = clock

    def send(self, parcel: Parcel) -> str:
        """Send the document; `repeat` says in it that it may have come before."""
        body = json.dumps({**parcel.document, "repeat": parcel.repeat}, ensure_ascii=False).encode()
        headers = {"Content-Type": "application/json", "User-Agent": "headcount", **self._headers}
        headers["Idempotency-Key"] = headers["Headcount-Id"] = parcel.id
        if self._secret is not None:
            headers |= signature_headers(self._secret, parcel.id, body, int(self._clock()))
        post(self._url, body, headers, self._timeout_s)
        return parcel.id


def signature_headers(secret: str, number: str, body: bytes, at_s: int) -> dict[str, str]:
    """Return the headers that sign a body: HMAC-SHA256 over version, id, time and body."""
    return {
        "Headcount-Timestamp": str(at_s),
        "Headcount-Signature": f"v1={_digest(secret, number, body, at_s)}",
    }


def verify(secret: str, headers: Mapping[str, str], body: bytes, now_s: float) -> None:
    """Check a request of ours; for receivers written in Python. Refuse an id that was seen. Raises BadSignature."""
    given = {name.lower(): value for name, value in headers.items()}
    try:
        at_s = int(given["headcount-timestamp"])
        version, _, digest = given["headcount-signature"].partition("=")
        number = given["headcount-id"]
    except (KeyError, ValueError):
        raise BadSignature(
            "the headers Headcount-Timestamp, -Signature and -Id are missing or malformed"
        ) from None
    if abs(now_s - at_s) > TOLERANCE_S:
        raise BadSignature(
            f"signed {abs(now_s - at_s):.0f} s away from now; more than {TOLERANCE_S} s is a replay"
        )
    if version != "v1" or not hmac.compare_digest(digest, _digest(secret, number, body, at_s)):
        raise BadSignature("the signature does not fit the body")


def _digest(secret: str, number: str, body: bytes, at_s: int) -> str:
    signed = b".".join((b"v1", number.encode(), str(at_s).encode(), body))
    return hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
