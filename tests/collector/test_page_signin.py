"""Signing a browser in where the collector wants a token."""

from __future__ import annotations

from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from tests.collector.running import Running, running_collector

HTML = {"Accept": "text/html"}
FORM = "application/x-www-form-urlencoded"


def test_a_browser_signs_in_once_where_a_token_is_wanted(tmp_path: Path) -> None:
    token = "a token of some length"
    with running_collector(tmp_path / "data", tick_s=5, token=token, log_level="error") as closed:
        assert b"Token of this collector" in closed.request("GET", "/incidents?state=open", None, HTML).body
        assert closed.get("/").status == 401
        assert closed.post("/login", urlencode({"token": "not it"}).encode(), FORM).status == 403
        cookie = signed_in(closed, token)
        assert b"All quiet" in closed.request("GET", "/", None, {**HTML, "Cookie": cookie}).body
        refused = closed.request(
            "POST", "/api/v1/runs/x/dismiss", b"{}", {"Content-Type": "application/json", "Cookie": cookie}
        )
        assert refused.status == 401


def signed_in(closed: Running, token: str) -> str:
    """Return the cookie of a browser that signed in."""
    connection = HTTPConnection(urlsplit(closed.url).netloc)
    body = urlencode({"token": token, "next": "//evil.example/"})
    connection.request("POST", "/login", body, {"Content-Type": FORM})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    assert answer.status == 303
    assert answer.headers["location"] == "/"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert token not in cookie
    return cookie.split(";")[0]
