"""Who may ask: a bearer token where one is set; on loopback without one, only this machine and no foreign web page."""

from __future__ import annotations

import hmac
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from headcount_collector.addresses import is_loopback
from headcount_collector.api.problems import problem_response

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""Probes come without credentials and learn nothing of any run."""


class Guard:
    """ASGI middleware in front of every route, OTLP and hooks included."""

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app = app
        self._expected = None if token is None else f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 401 or 403."""
        if scope["type"] != "http" or scope["path"] in OPEN_PATHS:
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(Headers(scope=scope))
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            status, detail = refusal
            headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
            response = problem_response(status, detail, headers=headers, instance=scope["path"])
            await response(scope, receive, send)

    def _refusal(self, headers: Headers) -> tuple[int, str] | None:
        if self._expected is not None:
            given = headers.get("authorization", "").encode("utf-8", "surrogateescape")
            if hmac.compare_digest(given, self._expected):
                return None
            return 401, (
                "this collector wants its token: send the header 'Authorization: Bearer TOKEN' "
                "(commands: HEADCOUNT_TOKEN; OTLP exporters: OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20TOKEN)"
            )
        # A page in a browser on this machine can reach loopback too: by its own script, which sends an
        # Origin, or by a name that it lets point here, which arrives as Host.
        for name, value in (("Host", headers.get("host", "")), ("Origin", headers.get("origin", ""))):
            if value and not is_loopback(_host(value)):
                return 403, (
                    f"{name} {value!r} is not this machine: without a token the collector answers only "
                    "loopback; set HEADCOUNT_TOKEN to serve others"
                )
        return None


def _host(value: str) -> str:
    """Return the host of a Host or Origin header; text that has none is no host of ours."""
    try:
        return urlsplit(value if "//" in value else f"//{value}").hostname or "?"
    except ValueError:
        return "?"
