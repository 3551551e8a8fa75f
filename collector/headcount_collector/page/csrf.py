"""The token that a form of this page carries, so that no other site can make a browser change anything here."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from urllib.parse import parse_qs

from fastapi import Request

from headcount_collector.api.problems import Problem

_LARGEST = 64 * 1024
_TOKEN = secrets.token_urlsafe(32)


def token() -> str:
    """Return the token of this process."""
    return _TOKEN


async def form_of(request: Request) -> Mapping[str, str]:
    """Return the fields of a posted form, if it carries the token. Raises Problem."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LARGEST:
            raise Problem(413, f"a form of over {_LARGEST} bytes; no form of this page is so large")
    fields = {
        name: values[-1]
        for name, values in parse_qs(
            body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=50
        ).items()
    }
    if not hmac.compare_digest(fields.get("csrf", "").encode(), _TOKEN.encode()):
        raise Problem(
            403,
            "the form does not carry this collector's token, perhaps since it restarted: go back, reload, try again",
        )
    return fields
