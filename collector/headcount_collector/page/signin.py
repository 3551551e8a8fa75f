"""Signs a browser in: it shows the collector's token once, and from then on its cookie stands for it on pages."""

from __future__ import annotations

import secrets
import time
from http.cookies import CookieError, SimpleCookie
from importlib.resources import files
from urllib.parse import parse_qs, quote, urlsplit

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from headcount_collector.api.guard import Gate
from headcount_collector.page.render import HEADERS, rendered
from headcount_collector.receive.errors import RateLimited, Unauthenticated

COOKIE = "headcount_session"
_LASTS_S = 30 * 86400
_MOST = 1000
_LARGEST = 8 * 1024
_API = ("/api/", "/v1/", "/hooks/")
_READS = frozenset({"GET", "HEAD"})


class SignIn:
    """ASGI middleware before the guard. It serves what needs no credentials: style, scripts, and the form itself.

    A cookie counts for reading anything, and for changing things through the page's own forms, which carry a token of
    theirs. It never counts for changes through the API.
    """

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        self._app = app
        self._gate = gate
        self._sessions: dict[str, tuple[float, str]] = {}
        static = StaticFiles(directory=str(files("headcount_collector.page") / "static"))
        self._open = Starlette(
            routes=[
                Route("/login", self._form, methods=["GET"]),
                Route("/login", self._sign_in, methods=["POST"]),
                Mount("/static", _cached(static)),
            ]
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve what is open, let a cookie stand for the token, or send a browser to the form."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path, headers = scope["path"], Headers(scope=scope)
        if path.startswith("/static/") or path == "/login":
            await self._open(scope, receive, send)
            return
        if self._gate.closed and "authorization" not in headers:
            reads = scope["method"] in _READS
            known = self._known(headers.get("cookie", ""))
            if known and (reads or not path.startswith(_API)):
                bearer = (b"authorization", known.encode())
                scope = {**scope, "headers": [*scope["headers"], bearer]}
            elif reads and "text/html" in headers.get("accept", "") and path not in ("/healthz", "/readyz"):
                asked = path + (
                    f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else ""
                )
                response = RedirectResponse(f"/login?next={quote(asked, safe='/')}", 303, headers=HEADERS)
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _known(self, cookies: str) -> str:
        """Return the Authorization that a cookie stands for; "" where it stands for none."""
        try:
            morsel = SimpleCookie(cookies).get(COOKIE)
        except CookieError:
            return ""
        ends, authorization = self._sessions.get(morsel.value if morsel else "", (0.0, ""))
        return authorization if ends > time.monotonic() else ""

    async def _form(self, request: Request) -> Response:
        return rendered("login.html", next=_local(request.query_params.get("next", "/")), wrong="")

    async def _sign_in(self, request: Request) -> Response:
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > _LARGEST:
                return rendered("login.html", 413, next="/", wrong="That is no token.")
        fields = parse_qs(body.decode("utf-8", "replace"))
        given, to = fields.get("token", [""])[-1].strip(), _local(fields.get("next", ["/"])[-1])
        authorization = f"Bearer {given}"
        try:
            self._gate(authorization)
        except Unauthenticated:
            return rendered("login.html", 403, next=to, wrong="That is not this collector's token.")
        except RateLimited as error:
            return rendered("login.html", 429, next=to, wrong=str(error))
        return self._welcome(request, to, authorization)

    def _welcome(self, request: Request, to: str, authorization: str) -> Response:
        now = time.monotonic()
        self._sessions = {key: kept for key, kept in self._sessions.items() if kept[0] > now}
        while len(self._sessions) >= _MOST:
            self._sessions.pop(next(iter(self._sessions)))
        session = secrets.token_urlsafe(32)
        self._sessions[session] = (now + _LASTS_S, authorization)
        response = RedirectResponse(to, 303, headers=HEADERS)
        response.set_cookie(
            COOKIE,
            session,
            max_age=_LASTS_S,
            httponly=True,
            samesite="lax",  # a link in a chat must find the browser signed in; changes want the form's token
            secure=request.url.scheme == "https",
        )
        return response


def _local(address: str) -> str:
    """Return an address on this site; anything else becomes the first page."""
    parts = urlsplit(address)
    safe = address.startswith("/") and not address.startswith(("//", "/\\")) and not parts.netloc
    return address if safe and address.isprintable() else "/"


def _cached(static: StaticFiles) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: dict[str, object]) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", []))  # type: ignore[call-overload]  # pairs of bytes, by ASGI
                headers += [
                    (b"cache-control", b"public, max-age=300"),
                    (b"x-content-type-options", b"nosniff"),
                ]
                message["headers"] = headers
            await send(message)

        await static(scope, receive, send_with_headers)  # type: ignore[arg-type]  # a message is a mutable mapping

    return app
