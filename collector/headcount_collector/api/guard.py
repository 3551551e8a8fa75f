"""Who may ask: a bearer token where one is set; on loopback without one, only this machine and no foreign web page."""

from __future__ import annotations

import base64
import contextlib
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headcount_collector.access import Tokens
from headcount_collector.addresses import is_loopback
from headcount_collector.api.problems import problem_response
from headcount_collector.receive.errors import RateLimited, Unauthenticated
from headcount_collector.receive.rate import RateLimit

OPEN_PATHS = frozenset({"/healthz", "/readyz", "/alerts/slack"})
"""Probes come without credentials and learn nothing of any run; what Slack posts is signed, and answered 404 where
no secret to check it by is set."""
_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_FOR_PROGRAMS = ("/v1/", "/hooks/")
"""Paths that a web page of this machine may send its own telemetry to."""
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    "Cache-Control": "no-store",
}
"""On every answer that does not say otherwise itself."""


class Gate:
    """Decides by the value of an Authorization header, for both edges."""

    def __init__(self, tokens: Tokens, rate: RateLimit) -> None:
        self._tokens = tokens
        self._rate = rate

    @property
    def closed(self) -> bool:
        """Whether a token is wanted."""
        return self._tokens.required

    def __call__(self, authorization: str) -> None:
        """Let pass, or raise Unauthenticated or RateLimited."""
        if not self._tokens.required:
            return
        name = self._tokens.name_of(authorization)
        if name is None:
            raise Unauthenticated(
                "this collector wants its token: send the header 'Authorization: Bearer TOKEN' "
                "(commands: HEADCOUNT_TOKEN; OTLP exporters: OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20TOKEN)"
            )
        self._rate.take(name)


class Guard:
    """ASGI middleware in front of every route, OTLP and hooks included."""

    def __init__(self, app: ASGIApp, gate: Gate, *, certified: bool = False) -> None:
        """`certified`: the transport lets in only clients with a certificate, so that any host may ask."""
        self._app = app
        self._gate = gate
        self._certified = certified

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 401, 403 or 429."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_strictly(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = None if scope["path"] in OPEN_PATHS else self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, send_strictly)
        else:
            status, detail, extra = refusal
            response = problem_response(status, detail, headers=extra, instance=scope["path"])
            await response(scope, receive, send_strictly)

    def _refusal(self, scope: Scope) -> tuple[int, str, dict[str, str]] | None:
        headers = Headers(scope=scope)
        try:
            self._gate(_authorization(scope, headers))
        except Unauthenticated as error:
            return 401, str(error), {"WWW-Authenticate": "Bearer"}
        except RateLimited as error:
            return 429, str(error), {"Retry-After": str(error.retry_after_s)}
        if not self._gate.closed and not self._certified and (foreign := _foreign(headers)):
            return 403, foreign, {}
        origin = headers.get("origin", "")
        if (
            origin
            and scope["method"] not in _READS
            and not scope["path"].startswith(_FOR_PROGRAMS)
            and origin.partition("//")[2] != headers.get("host", "")
        ):
            return (
                403,
                f"Origin {origin!r} is another site: only this collector's own page may change anything",
                {},
            )
        return None


def _authorization(scope: Scope, headers: Headers) -> str:
    """Return the Authorization value; clients of ClickHouse send the token as their password, in one of three ways."""
    given = headers.get("authorization", "")
    if not scope["path"].startswith("/clickhouse"):
        return given
    if key := headers.get("x-clickhouse-key", ""):
        return f"Bearer {key}"
    if given.lower().startswith("basic "):
        with contextlib.suppress(ValueError):
            _, _, password = base64.b64decode(given[6:]).decode("utf-8", "replace").partition(":")
            return f"Bearer {password}"
    if not given:
        query = parse_qs(scope["query_string"].decode("latin-1"))
        return f"Bearer {query.get('password', [''])[0]}"
    return given


def _foreign(headers: Headers) -> str | None:
    """Say what tells that a request is not of this machine.

    A page in a browser on this machine can reach loopback too: by its own script, which sends an Origin, or by a
    name that it lets point here, which arrives as Host.
    """
    for name, value in (("Host", headers.get("host", "")), ("Origin", headers.get("origin", ""))):
        if value and not is_loopback(_host(value)):
            return (
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
