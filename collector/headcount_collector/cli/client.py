"""Asks a running collector over HTTP, and says what to start when none answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import OpenerDirector, ProxyHandler, Request, build_opener

from headcount_collector.addresses import is_loopback
from headcount_collector.errors import HeadcountError
from headcount_collector.settings import Settings

_TIMEOUT_S = 30.0


class ClientError(HeadcountError):
    """The collector gave no answer, or its answer was an error; `document` is its problem document, if any."""

    def __init__(self, message: str, document: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.document = dict(document or {})


class Client:
    """The API of one collector."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url.rstrip("/")
        self._headers = {"Accept": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._opener = _opener(self.url)

    @classmethod
    def of(cls, settings: Settings) -> Client:
        """Return the client of the collector that the settings name."""
        return cls(settings.url, settings.own_token)

    def runs(self, filters: Mapping[str, str], *, limit: int, offset: int = 0) -> dict[str, Any]:
        """Return the page of judged runs that match."""
        return self._get("/api/v1/runs", {**filters, "limit": str(limit), "offset": str(offset)})

    def run(self, name: str, session: str | None = None) -> dict[str, Any]:
        """Return one run with its timeline. Raises ClientError where none or several go by that name."""
        return self._get(
            f"/api/v1/runs/{quote(name, safe='')}", {} if session is None else {"session": session}
        )

    def accounts(self, by: str, filters: Mapping[str, str], *, limit: int) -> dict[str, Any]:
        """Return the sums of time accounts of the runs that match."""
        return self._get("/api/v1/accounts", {**filters, "by": by, "limit": str(limit)})

    def policy(self, asked: Mapping[str, str]) -> dict[str, Any]:
        """Return the times that hold for an agent, session and service."""
        return self._get("/api/v1/policy", asked)

    def suggestions(self) -> dict[str, Any]:
        """Return deadlines proposed from history."""
        return self._get("/api/v1/policy/suggest", {})

    def get(self, path: str) -> dict[str, Any]:
        """Return the document at a path of the API."""
        return self._get(path, {})

    def post(self, path: str, document: Mapping[str, Any]) -> dict[str, Any]:
        """Send a document and return the answer."""
        headers = {**self._headers, "Content-Type": "application/json"}
        return self._document(Request(f"{self.url}{path}", json.dumps(document).encode(), headers))

    def _get(self, path: str, query: Mapping[str, str]) -> dict[str, Any]:
        url = f"{self.url}{path}" + (f"?{urlencode(query)}" if query else "")
        return self._document(Request(url, headers=self._headers))

    def _document(self, request: Request) -> dict[str, Any]:
        url = request.full_url
        try:
            document = json.loads(self._answer(request))
        except ValueError:
            raise ClientError(f"{url} answers, but not as a collector does: no JSON") from None
        if not isinstance(document, dict):
            raise ClientError(f"{url} answers, but not as a collector does: no JSON object")
        return document

    def export(self, message: bytes) -> None:
        """Hand over evidence, a serialised ExportTraceServiceRequest. Raises ClientError where it is not stored."""
        headers = {**self._headers, "Content-Type": "application/x-protobuf"}
        self._answer(Request(f"{self.url}/v1/traces", message, headers))

    def _answer(self, request: Request) -> bytes:
        try:
            with self._opener.open(request, timeout=_TIMEOUT_S) as answer:
                return bytes(answer.read())
        except HTTPError as error:
            raise _refusal(self.url, error) from None
        except (URLError, HTTPException, OSError) as error:
            reason = error.reason if isinstance(error, URLError) else error
            raise ClientError(
                f"no collector answers at {self.url} ({reason}): start one with `headcount serve`, "
                "or name another with --url or HEADCOUNT_URL"
            ) from None


def _opener(url: str) -> OpenerDirector:
    """Go straight to this machine: a proxy from the environment cannot reach our loopback."""
    host = urlsplit(url).hostname or ""
    return build_opener(ProxyHandler({})) if is_loopback(host) else build_opener()


def _refusal(url: str, error: HTTPError) -> ClientError:
    with error:
        try:
            document = json.loads(error.read())
        except ValueError:
            document = None
    if not isinstance(document, dict) or "detail" not in document:
        return ClientError(f"{url} answers {error.code} {error.reason}: it does not seem to be a collector")
    return ClientError(str(document["detail"]), document)
