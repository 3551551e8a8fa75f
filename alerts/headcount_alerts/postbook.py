"""The outbox as the store keeps it: what was to be sent, and what became of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headcount_alerts.channels.channel import Document
from headcount_collector.store.client import Store

_MESSAGE = ["message_id", "incident_id", "number", "step", "channel", "decided_at", "document"]
_ATTEMPT = ["message_id", "incident_id", "channel", "at", "outcome", "error", "retry_at", "reference"]
_FINAL = "('sent', 'dead', 'superseded')"
# At one moment the end of an attempt counts after its beginning.
_LAST = (
    "SELECT message_id, argMax(outcome, (at, outcome != 'sending')) AS last_outcome, max(at) AS last_at,"
    " countIf(outcome = 'sending') AS tries, argMax(error, (at, outcome != 'sending')) AS last_error,"
    " argMax(retry_at, (at, outcome != 'sending')) AS last_retry_at FROM alert_attempt GROUP BY message_id"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One message for one channel; `id` is incident, number and channel, so the same step is the same message."""

    id: str
    incident: str
    number: int
    step: str
    channel: str
    decided_at: int
    document: Document


@dataclass(frozen=True, slots=True)
class Attempt:
    """One event in the life of a message."""

    message: str
    incident: str
    channel: str
    at: int
    outcome: str
    error: str = ""
    retry_at: int = 0
    reference: str = ""


class Postbook:
    """Appends messages and attempts, and reads what is unsent."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def write(self, entries: Sequence[Entry]) -> None:
        """Store messages before anybody tries to send them."""
        rows = [
            (
                e.id,
                e.incident,
                e.number,
                e.step,
                e.channel,
                e.decided_at,
                json.dumps(e.document, ensure_ascii=False),
            )
            for e in entries
        ]
        self._store.insert("alert_message", rows, _MESSAGE)

    def attempt(self, attempt: Attempt) -> None:
        """Append what became of a message."""
        row = (
            attempt.message,
            attempt.incident,
            attempt.channel,
            attempt.at,
            attempt.outcome,
            attempt.error,
            attempt.retry_at,
            attempt.reference,
        )
        self._store.insert("alert_attempt", [row], _ATTEMPT)

    def unsent(self) -> list[tuple[Entry, Attempt | None]]:
        """Return the messages without an end, oldest first, with their last attempt."""
        rows = self._store.query(
            "SELECT message_id, incident_id, number, step, channel, toUnixTimestamp64Nano(decided_at), document,"
            " last_outcome, toUnixTimestamp64Nano(last_at)"
            f" FROM alert_message FINAL LEFT JOIN ({_LAST}) AS last USING message_id"
            f" WHERE last_outcome NOT IN {_FINAL} ORDER BY decided_at, number"
        )
        return [
            (
                Entry(number, incident, int(place), step, channel, int(at), json.loads(document)),
                Attempt(number, incident, channel, int(attempted), outcome) if outcome else None,
            )
            for number, incident, place, step, channel, at, document, outcome, attempted in rows
        ]

    def last_numbers(self, incidents: Sequence[str]) -> dict[str, int]:
        """Return the number of the last message that is stored for each of some incidents."""
        rows = self._store.query(
            "SELECT incident_id, max(number) FROM alert_message"
            " WHERE incident_id IN {incidents:Array(String)} GROUP BY incident_id",
            {"incidents": list(incidents)},
        )
        return {str(incident): int(number) for incident, number in rows}

    def references(self) -> list[tuple[str, str, str]]:
        """Return (incident, channel, reference) of the last message that each channel took for an open incident."""
        rows = self._store.query(
            "SELECT incident_id, channel, argMax(reference, at) FROM alert_attempt"
            " WHERE outcome = 'sent' AND reference != '' AND incident_id IN"
            " (SELECT incident_id FROM incident FINAL WHERE is_open)"
            " GROUP BY incident_id, channel"
        )
        return [(str(incident), str(channel), str(reference)) for incident, channel, reference in rows]

    def told(self, incidents: Sequence[str]) -> dict[str, set[str]]:
        """Return the channels that messages of some incidents were decided for."""
        rows = self._store.query(
            "SELECT incident_id, groupUniqArray(channel) FROM alert_message"
            " WHERE incident_id IN {incidents:Array(String)} GROUP BY incident_id",
            {"incidents": list(incidents)},
        )
        return {str(incident): set(channels) for incident, channels in rows}

    def list(
        self, *, incident: str | None = None, open_only: bool = False, limit: int = 100
    ) -> list[dict[str, Any]]:
        """Return messages with what became of them, the latest first; moments are nanoseconds."""
        where = ["1"]
        if incident is not None:
            where.append("m.incident_id = {incident:String}")
        if open_only:
            where.append(f"last_outcome NOT IN {_FINAL}")
        rows = self._store.query(
            "SELECT m.message_id, m.incident_id, m.step, m.channel, toUnixTimestamp64Nano(m.decided_at),"
            " last_outcome, tries, last_error, toUnixTimestamp64Nano(last_at), toUnixTimestamp64Nano(last_retry_at)"
            f" FROM (SELECT * FROM alert_message FINAL) AS m LEFT JOIN ({_LAST}) AS last"
            " ON last.message_id = m.message_id"
            f" WHERE {' AND '.join(where)} ORDER BY m.decided_at DESC, m.number DESC LIMIT {{limit:UInt32}}",
            {"incident": incident or "", "limit": limit},
        )
        return [
            {
                "id": number,
                "incident": of,
                "step": step,
                "channel": channel,
                "decided_at": int(at),
                "outcome": outcome or "waiting",
                "tries": int(tries),
                "error": error,
                "ended_at": int(ended),
                "retry_at": int(retry),
            }
            for number, of, step, channel, at, outcome, tries, error, ended, retry in rows
        ]
