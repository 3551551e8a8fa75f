"""Asks a running collector about incidents, and tells it what people say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode
from urllib.request import Request

from headcount_collector.cli.client import Client, ClientError
from headcount_collector.settings import Settings

Document = dict[str, Any]


class AlertsClient(Client):
    """The API of one collector, with the routes of the alerts. Every method raises ClientError."""

    @classmethod
    def of(cls, settings: Settings) -> AlertsClient:
        """Return the client of the collector that the settings name."""
        return cls(settings.url, settings.own_token)

    def incidents(self, filters: Mapping[str, str], *, limit: int) -> Document:
        """Return the incidents that match."""
        return self._ask("GET", f"/api/v1/incidents?{urlencode({**filters, 'limit': str(limit)})}")

    def incident(self, number: str) -> Document:
        """Return one incident with its decisions."""
        return self._ask("GET", f"/api/v1/incidents/{quote(number, safe='')}")

    def acknowledge(self, number: str, by: str) -> Document:
        """Say who is on an incident."""
        return self._ask("POST", f"/api/v1/incidents/{quote(number, safe='')}/ack", {"by": by})

    def outbox(self, *, waiting: bool, limit: int) -> Document:
        """Return messages with what became of them."""
        query = urlencode({"waiting": str(waiting).lower(), "limit": str(limit)})
        return self._ask("GET", f"/api/v1/alerts/outbox?{query}")

    def silence(self, body: Mapping[str, object]) -> Document:
        """Add a silence."""
        return self._ask("POST", "/api/v1/silences", {k: v for k, v in body.items() if v is not None})

    def silences(self) -> Document:
        """Return silences that have not ended."""
        return self._ask("GET", "/api/v1/silences")

    def unsilence(self, number: str) -> Document:
        """End a silence."""
        return self._ask("DELETE", f"/api/v1/silences/{quote(number, safe='')}")

    def preview(self, run: str, session: str | None) -> Document:
        """Return where a run would go."""
        query = urlencode({"run": run} | ({} if session is None else {"session": session}))
        return self._ask("GET", f"/api/v1/alerts/preview?{query}")

    def receivers(self) -> Document:
        """Return the receivers with the names of their channels."""
        return self._ask("GET", "/api/v1/alerts/receivers")

    def test(self, receiver: str) -> Document:
        """Send a test message."""
        return self._ask("POST", "/api/v1/alerts/test", {"receiver": receiver})

    def _ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Document:
        data = None if body is None else json.dumps(body).encode()
        headers = {**self._headers, **({} if data is None else {"Content-Type": "application/json"})}
        answer = self._answer(Request(f"{self.url}{path}", data, headers, method=method))
        try:
            document = json.loads(answer)
        except ValueError:
            raise ClientError(f"{self.url} answers, but not as a collector does: no JSON") from None
        if not isinstance(document, dict):
            raise ClientError(f"{self.url} answers, but not as a collector does: no JSON object")
        return document
