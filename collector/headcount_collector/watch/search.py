"""Finds runs by whatever a person has in hand: any id of theirs, of a tool call, session or trace, or a word of their text."""

from __future__ import annotations

import json
import re

from headcount_collector.derive.recorded import runs_of_call, runs_of_trace
from headcount_collector.store.client import Store
from headcount_collector.watch.documents import Document

LONGEST = 512
"""Characters of a question."""

_TRACE = re.compile(r"[0-9a-f]{32}", re.IGNORECASE)


def search(store: Store, question: str, limit: int = 100) -> tuple[str, list[Document]]:
    """Return by what the runs were found, and their verdicts: the first of these ways that finds any.

    `run` (id or alias), `session`, `call`, `trace`, `owner`, `text` (part of an id, agent, or description).
    """
    asked = question.strip()[:LONGEST]
    if not asked:
        return "nothing", []
    by_id = "run_id = {q:String} OR has(names, {q:String})"
    if found := _verdicts(store, by_id, limit, q=asked):
        return "run", found
    if found := _verdicts(store, "session_id = {q:String}", limit, q=asked):
        return "session", found
    if found := _of_runs(store, runs_of_call(store, asked), limit):
        return "call", found
    if _TRACE.fullmatch(asked):
        places = [(session, run) for session, run in runs_of_trace(store, asked.lower()) if run]
        if found := _of_runs(store, places, limit):
            return "trace", found
    by_owner = "owner_id = {q:String} OR has(child_sessions, {q:String})"
    if found := _verdicts(store, by_owner, limit, q=asked):
        return "owner", found
    by_text = (
        "positionCaseInsensitiveUTF8(concat(run_id, ' ', session_id, ' ', agent, ' ', owner_id, ' ',"
        " arrayStringConcat(names, ' '), ' ', description), {q:String}) > 0"
    )
    return "text", _verdicts(store, by_text, limit, q=asked)


def _of_runs(store: Store, places: list[tuple[str, str]], limit: int) -> list[Document]:
    if not places:
        return []
    sessions = sorted({session for session, _ in places})
    runs = sorted({run for _, run in places})
    where = (
        "session_id IN {sessions:Array(String)}"
        " AND (run_id IN {runs:Array(String)} OR hasAny(names, {runs:Array(String)}))"
    )
    return _verdicts(store, where, limit, sessions=sessions, runs=runs)


def _verdicts(store: Store, where: str, limit: int, **parameters: object) -> list[Document]:
    order = "is_open DESC, dispatched_at DESC, run_id"
    rows = store.query(
        "SELECT document FROM verdict FINAL WHERE (session_id, run_id) IN ("
        f" SELECT session_id, run_id FROM verdict FINAL WHERE {where} ORDER BY {order} LIMIT {{limit:UInt32}})"
        f" ORDER BY {order}",
        {**parameters, "limit": limit},
    )
    return [json.loads(row[0]) for row in rows]
