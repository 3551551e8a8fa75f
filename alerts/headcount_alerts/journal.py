"""Incidents, decisions and silences in the store: appended, never changed, so that a restart forgets nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headcount_alerts.decision import Decision
from headcount_alerts.incident import Incident
from headcount_alerts.silence import Silence, parse_matcher
from headcount_alerts.state import Document, document_of, incident_of
from headcount_collector.store.client import Store

_INCIDENT = (
    "incident_id session_id owner_id kind is_open level severity fleet_id opened_at closed_at runs unmet document"
    " version"
).split()
_DECISION = ["at", "incident_id", "decision", "reason", "runs"]
_SILENCE = ["silence_id", "matchers", "since", "until", "author", "reason", "version"]
_MOST_RUNS = 1000
"""So many runs are named in a decision; its incident names them all."""

_FILTERS = {
    "session": "session_id = {session:String}",
    "owner": "owner_id = {owner:String}",
    "severity": "severity = {severity:String}",
    "kind": "kind = {kind:String}",
    "fleet": "fleet_id = {fleet:String}",
    "run": "has(runs, {run:String})",
    "state": "is_open = ({state:String} = 'open')",
}
FILTERS = tuple(_FILTERS)
"""What `Journal.find` can filter by."""


class Journal:
    """Reads and writes what the ladder came to."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def write(self, decisions: Sequence[Decision], incidents: Iterable[Incident], version: int) -> None:
        """Append decisions, and the state of every incident that they changed (a higher `version` wins)."""
        rows = [(d.at, d.incident, d.what, d.reason, list(d.runs[:_MOST_RUNS])) for d in decisions]
        self._store.insert("incident_decision", rows, _DECISION)
        self._store.insert("incident", [_row(incident, version) for incident in incidents], _INCIDENT)

    def write_silence(self, silence: Silence, version: int) -> None:
        """Store a silence, or its end."""
        row = [
            silence.id,
            [str(matcher) for matcher in silence.matchers],
            silence.since,
            silence.until,
            silence.by,
            silence.reason,
            version,
        ]
        self._store.insert("silence", [row], _SILENCE)

    def incidents(self, closed_after: int) -> list[Incident]:
        """Return open incidents, and those that closed after a moment (nanoseconds)."""
        rows = self._store.query(
            "SELECT document FROM incident FINAL WHERE is_open OR closed_at > fromUnixTimestamp64Nano({after:Int64})",
            {"after": closed_after},
        )
        return [incident_of(json.loads(row[0])) for row in rows]

    def silences(self, ended_after: int) -> list[Silence]:
        """Return the silences that had not ended at a moment."""
        rows = self._store.query(
            "SELECT silence_id, matchers, toUnixTimestamp64Nano(since), toUnixTimestamp64Nano(until), author, reason"
            " FROM silence FINAL WHERE until > fromUnixTimestamp64Nano({after:Int64}) ORDER BY since",
            {"after": ended_after},
        )
        return [
            Silence(number, tuple(parse_matcher(m) for m in matchers), int(since), int(until), author, reason)
            for number, matchers, since, until, author, reason in rows
        ]

    def find(self, filters: Mapping[str, str], *, limit: int = 200, offset: int = 0) -> list[Document]:
        """Return the documents of incidents, open and severe ones first; `filters` by the names in FILTERS."""
        rows = self._store.query(
            f"SELECT document FROM incident FINAL WHERE {_where(filters)}"
            " ORDER BY is_open DESC, indexOf(['page', 'warn', 'info'], severity), opened_at DESC, incident_id"
            " LIMIT {limit:UInt32} OFFSET {offset:UInt32}",
            {**filters, "limit": limit, "offset": offset},
        )
        return [json.loads(row[0]) for row in rows]

    def count(self, filters: Mapping[str, str]) -> int:
        """Return how many incidents `find` would give without a limit."""
        query = f"SELECT count() FROM incident FINAL WHERE {_where(filters)}"
        return int(self._store.query(query, filters)[0][0])

    def get(self, number: str) -> Document | None:
        """Return the document of one incident."""
        rows = self._store.query(
            "SELECT document FROM incident FINAL WHERE incident_id = {number:String}", {"number": number}
        )
        return json.loads(rows[0][0]) if rows else None

    def decisions(self, number: str, limit: int = 1000) -> list[dict[str, Any]]:
        """Return the log of one incident, oldest first; `at` is nanoseconds since the epoch."""
        rows = self._store.query(
            "SELECT toUnixTimestamp64Nano(at), decision, reason, runs FROM incident_decision"
            " WHERE incident_id = {number:String} ORDER BY at LIMIT {limit:UInt32}",
            {"number": number, "limit": limit},
        )
        return [
            {"at": int(at), "decision": what, "reason": reason, "runs": list(runs)}
            for at, what, reason, runs in rows
        ]


def _where(filters: Mapping[str, str]) -> str:
    return " AND ".join(_FILTERS[name] for name in filters) or "1"


def _row(incident: Incident, version: int) -> list[object]:
    return [
        incident.id,
        incident.session,
        incident.owner,
        incident.kind,
        incident.is_open,
        incident.shown_level,
        incident.severity,
        incident.fleet,
        incident.opened_at,
        incident.closed_at,
        sorted({run for _, run in incident.members}),
        incident.unmet,
        json.dumps(document_of(incident), ensure_ascii=False, separators=(",", ":")),
        version,
    ]
