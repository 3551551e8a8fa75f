"""Verdicts in the store: the latest of each run, and the log of what was believed when."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from headcount_collector.judge.groups import Member
from headcount_collector.judge.policy import SECOND
from headcount_collector.judge.verdict import COMPLETED, RECOVERED, Verdict
from headcount_collector.store.client import Store
from headcount_collector.store.cluster import where_rows_lie
from headcount_collector.watch.documents import Document, document_of, rfc3339

_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_COLUMNS = [
    "session_id",
    "run_id",
    "judged_at",
    "status",
    "failure_class",
    "leaning",
    "severity",
    "outcome",
    "owner_id",
    "parent_run_id",
    "agent",
    "service",
    "mode",
    "names",
    "is_open",
    "is_watched",
    "is_abnormal",
    "remaining",
    "undelivered",
    "dispatched_at",
    "since",
    "last_progress_at",
    "ended_at",
    "delivered_at",
    "next_due",
    "model",
    "total_s",
    "working_s",
    "waiting_s",
    "idle_s",
    "delivery_s",
    "document",
    "version",
]
_TRANSITION_COLUMNS = [
    "believed_at",
    "happened_at",
    "session_id",
    "run_id",
    "owner_id",
    "agent",
    "service",
    "from_status",
    "to_status",
    "failure_class",
    "leaning",
    "severity",
    "rule",
    "late",
    "reason",
]
_EVALUATION_COLUMNS = [
    "at",
    "took_ns",
    "late_ns",
    "changed",
    "due",
    "judged",
    "transitions",
    "open_runs",
    "observer",
    "read_until",
]
_FILTERS = {
    "session": "session_id",
    "owner": "owner_id",
    "agent": "agent",
    "service": "service",
    "status": "status",
    "class": "failure_class",
    "severity": "severity",
    "mode": "mode",
}
_CONDITIONS = {
    "open": "is_open",
    "abnormal": "is_abnormal",
    # A verdict or an open signal of severity warn or page; of what is closed, only page.
    "attention": "urgency = 0 OR (is_open AND urgency = 1)",
}
ACCOUNT_PARTS = ("total", "working", "waiting", "idle", "delivery")
ACCOUNTS_BY = {
    "session": "session_id",
    "agent": "agent",
    "model": "model",
    "service": "service",
    "owner": "owner_id",
}
"""By what time accounts are summed, and the column of it."""
FILTERS = (*_FILTERS, *_CONDITIONS)
"""What `VerdictStore.find` can filter by."""

ORDERS = {
    "urgency": "urgency, is_abnormal DESC, is_open DESC, since DESC, run_id",
    "oldest": "dispatched_at, run_id",
    "silent": "last_progress_at, dispatched_at, run_id",
    "latest": "since DESC, run_id",
}
"""In which `VerdictStore.find` can order."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One change of what is believed of a run."""

    before: str | None
    verdict: Verdict
    believed_at: int
    late: bool


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One tick: when it was, how long it took, how late it came, what it did."""

    at: int
    took_ns: int
    late_ns: int
    changed: int
    due: int
    judged: int
    transitions: int
    open_runs: int
    observer: str
    read_until: int


@dataclass(frozen=True, slots=True)
class Watched:
    """What a starting watch must know of a run that was judged before."""

    session: str
    run: str
    status: str
    failure_class: str
    leaning: str
    severity: str
    is_open: bool
    next_due: int
    since: int


class VerdictStore:
    """Reads and writes verdicts, transitions and evaluations."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def write(self, verdicts: Sequence[Verdict], transitions: Sequence[Transition], version: int) -> None:
        """Store verdicts as the latest of their runs (a higher `version` wins) and append the transitions."""
        self._store.insert(
            "transition", [_transition_row(transition) for transition in transitions], _TRANSITION_COLUMNS
        )
        self._store.insert("verdict", [_verdict_row(verdict, version) for verdict in verdicts], _COLUMNS)

    def write_evaluations(self, evaluations: Sequence[Evaluation]) -> None:
        """Append the records of ticks."""
        rows = [[getattr(evaluation, name) for name in _EVALUATION_COLUMNS] for evaluation in evaluations]
        self._store.insert("evaluation", rows, _EVALUATION_COLUMNS)

    def last_evaluation(self) -> tuple[int, int] | None:
        """Return (at, read_until) of the last tick in nanoseconds, or None before the first."""
        rows = self._store.query(
            "SELECT toUnixTimestamp64Nano(at), toUnixTimestamp64Nano(read_until) FROM evaluation ORDER BY at DESC LIMIT 1"
        )
        return (int(rows[0][0]), int(rows[0][1])) if rows else None

    def last_version(self) -> int:
        """Return the highest version of all verdicts."""
        return int(self._store.query("SELECT max(version) FROM verdict")[0][0])

    def forget(self, keys: Iterable[tuple[str, str]]) -> None:
        """Delete the verdicts of ids that turned out to be other names of a dispatched run."""
        table = where_rows_lie(self._store, "verdict")
        for session, run in keys:
            self._store.command(
                f"DELETE FROM {table} WHERE session_id = {{session:String}} AND run_id = {{run:String}}",
                {"session": session, "run": run},
            )

    def watched(self, keys: Sequence[tuple[str, str]] | None = None) -> list[Watched]:
        """Return the runs that are open or will fall due; or, where keys are given, those of them that were judged."""
        where, parameters = "is_watched", {}
        if keys is not None:
            where = "(session_id, run_id) IN {keys:Array(Tuple(String, String))}"
            parameters = {"keys": list(keys)}
        rows = self._store.query(
            "SELECT session_id, run_id, status, failure_class, leaning, severity, is_open,"
            f" toUnixTimestamp64Nano(next_due), toUnixTimestamp64Nano(since) FROM verdict FINAL WHERE {where}",
            parameters,
        )
        return [
            Watched(session, run, status, failure_class, leaning, severity, bool(is_open), next_due, since)
            for session, run, status, failure_class, leaning, severity, is_open, next_due, since in rows
        ]

    def find(
        self,
        filters: Mapping[str, str] | None = None,
        *,
        limit: int = 200,
        offset: int = 0,
        order: str = "urgency",
    ) -> list[Document]:
        """Return verdict documents; `filters` by the names in FILTERS, `order` one of ORDERS."""
        where, parameters = _where(filters or {})
        # The documents are read for the rows of the answer only: they are most of the table.
        rows = self._store.query(
            "SELECT document FROM verdict FINAL WHERE (session_id, run_id) IN ("
            f" SELECT session_id, run_id FROM verdict FINAL WHERE {where} ORDER BY {ORDERS[order]}"
            " LIMIT {limit:UInt32} OFFSET {offset:UInt32})"
            f" ORDER BY {ORDERS[order]}",
            {**parameters, "limit": limit, "offset": offset},
        )
        return [json.loads(row[0]) for row in rows]

    def sections(self, filters: Mapping[str, str]) -> tuple[int, int, int]:
        """Return how many of the runs that match need a look, are open beside these, and are closed beside these."""
        where, parameters = _where(filters)
        attention = _CONDITIONS["attention"]
        rows = self._store.query(
            f"SELECT countIf({attention}), countIf(is_open AND NOT ({attention})),"
            f" countIf(NOT is_open AND NOT ({attention})) FROM verdict FINAL WHERE {where}",
            parameters,
        )
        needs, is_open, closed = (int(number) for number in rows[0])
        return needs, is_open, closed

    def count(self, filters: Mapping[str, str] | None = None) -> int:
        """Return how many runs `find` would give without a limit."""
        where, parameters = _where(filters or {})
        return int(self._store.query(f"SELECT count() FROM verdict FINAL WHERE {where}", parameters)[0][0])

    def named(self, name: str, session: str | None = None) -> list[Document]:
        """Return the runs that go by a name: their id or an alias; several sessions may use the same."""
        where = "(run_id = {name:String} OR has(names, {name:String}))"
        if session is not None:
            where += " AND session_id = {session:String}"
        rows = self._store.query(
            f"SELECT document FROM verdict FINAL WHERE {where} ORDER BY run_id = {{name:String}} DESC, dispatched_at DESC LIMIT 50",
            {"name": name, "session": session or ""},
        )
        found = [json.loads(row[0]) for row in rows]
        exact = [document for document in found if document["run"] == name]
        return exact or found

    def members(self, session: str) -> list[Member]:
        """Return every run of a session as its groups need it."""
        return self.members_of([session])[session]

    def members_of(self, sessions: Collection[str]) -> dict[str, list[Member]]:
        """Return every run of some sessions, by session."""
        rows = self._store.query(
            "SELECT session_id, document FROM verdict FINAL WHERE session_id IN {sessions:Array(String)}"
            " ORDER BY dispatched_at, run_id",
            {"sessions": list(sessions)},
        )
        found: dict[str, list[Member]] = {session: [] for session in sessions}
        for session, document in rows:
            found[session].append(member_of(json.loads(document)))
        return found

    def accounts(
        self, by: str, filters: Mapping[str, str] | None = None, *, limit: int = 200
    ) -> list[Document]:
        """Return where the time went, summed by one of ACCOUNTS_BY, the longest first; seconds.

        Of `open` runs it is known until they were last judged: `as_of` is when that was the longest ago.
        """
        where, parameters = _where(filters or {})
        parts = ", ".join(f"sum({part}_s)" for part in ACCOUNT_PARTS)
        rows = self._store.query(
            f"SELECT {ACCOUNTS_BY[by]} AS name, count(), countIf(is_open) AS open,"
            f" toUnixTimestamp64Nano(minIf(judged_at, is_open)), {parts} FROM verdict FINAL"
            f" WHERE {where} AND dispatched_at > toDateTime64(0, 9)"
            " GROUP BY name ORDER BY sum(total_s) DESC, name LIMIT {limit:UInt32}",
            {**parameters, "limit": limit},
        )
        return [
            {by: name, "runs": runs, "open": opened, "as_of": rfc3339(as_of) if opened else None}
            | {f"{part}_s": round(spent, 3) for part, spent in zip(ACCOUNT_PARTS, sums, strict=True)}
            for name, runs, opened, as_of, *sums in rows
        ]

    def sessions(self, *, open_only: bool = True, limit: int = 1000) -> list[str]:
        """Return the sessions with runs, the latest dispatch first."""
        having = "HAVING max(is_open)" if open_only else ""
        rows = self._store.query(
            f"SELECT session_id FROM verdict FINAL GROUP BY session_id {having}"
            " ORDER BY max(dispatched_at) DESC LIMIT {limit:UInt32}",
            {"limit": limit},
        )
        return [str(row[0]) for row in rows]

    def transitions(self, session: str, run: str, limit: int = 1000) -> list[Document]:
        """Return the log of one run, oldest first."""
        rows = self._store.query(
            "SELECT toUnixTimestamp64Nano(believed_at), toUnixTimestamp64Nano(happened_at), from_status, to_status,"
            " failure_class, leaning, severity, rule, late, reason FROM transition"
            " WHERE session_id = {session:String} AND run_id = {run:String} ORDER BY believed_at LIMIT {limit:UInt32}",
            {"session": session, "run": run, "limit": limit},
        )
        return [_transition_document(row) for row in rows]


def member_of(document: Document) -> Member:
    """Return what a group needs of a verdict document."""
    group = document["group"]
    return Member(
        run=document["run"],
        owner=document["owner"],
        children_keys=tuple(document["child_sessions"]),
        counts=group["counts"],
        remaining=group["remaining"],
        undelivered=group["undelivered"],
        open=document["status"] not in (COMPLETED, RECOVERED) and document["ended_at"] is None,
        owner_gone=group["owner_gone"],
    )


def _where(filters: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    clauses, parameters = ["1"], {}
    for name, value in filters.items():
        if name in _CONDITIONS:
            holds = f"({_CONDITIONS[name]})"
            clauses.append(holds if value in ("1", "true", "yes") else f"NOT {holds}")
        else:
            clauses.append(f"{_FILTERS[name]} = {{f_{name}:String}}")
            parameters[f"f_{name}"] = value
    return " AND ".join(clauses), parameters


def _verdict_row(verdict: Verdict, version: int) -> list[object]:
    return [
        verdict.session,
        verdict.run,
        verdict.at,
        verdict.status,
        verdict.failure_class or "",
        verdict.leaning or "",
        verdict.severity or "",
        verdict.outcome or "",
        verdict.owner,
        verdict.parent or "",
        verdict.agent or "",
        verdict.service,
        verdict.mode,
        list(verdict.names),
        verdict.open,
        verdict.watched,
        verdict.abnormal,
        verdict.remaining,
        verdict.undelivered,
        verdict.receipts.dispatch_at or 0,
        verdict.since,
        verdict.last_progress_at or 0,
        verdict.ended_at or 0,
        verdict.delivered_at or 0,
        verdict.next_due or 0,
        verdict.model or "",
        verdict.account.total / SECOND,
        verdict.account.working / SECOND,
        sum(verdict.account.waiting.values()) / SECOND,
        verdict.account.idle / SECOND,
        verdict.account.delivery / SECOND,
        _json(document_of(verdict)),
        version,
    ]


def _transition_row(transition: Transition) -> list[object]:
    verdict = transition.verdict
    return [
        transition.believed_at,
        verdict.since,
        verdict.session,
        verdict.run,
        verdict.owner,
        verdict.agent or "",
        verdict.service,
        transition.before or "",
        verdict.status,
        verdict.failure_class or "",
        verdict.leaning or "",
        verdict.severity or "",
        verdict.rule,
        transition.late,
        verdict.evidence[0] if verdict.evidence else "",
    ]


def _transition_document(row: tuple[object, ...]) -> Document:
    believed, happened, before, after, failure_class, leaning, severity, rule, late, reason = row
    return {
        "believed_at": rfc3339(int(str(believed))),
        "happened_at": rfc3339(int(str(happened))),
        "from": before or None,
        "to": after,
        "class": failure_class or None,
        "leaning": leaning or None,
        "severity": severity or None,
        "rule": rule,
        "late": bool(late),
        "reason": reason,
    }
