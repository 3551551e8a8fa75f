"""Reads what was recorded, record by record, out of the stored spans: for people who look closely, and for export."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from headcount_collector.store.client import Store

_VIEW = "lifecycle_from_otel_traces_mv"


class Recorded(NamedTuple):
    """One thing that one stored span says; moments in nanoseconds. `foreign`: a span that others made."""

    session: str
    run: str
    event: str
    phase: str
    event_ns: int
    start_ns: int
    received_ns: int
    producer: str
    seq: int
    identity: str
    span_id: str
    parent_span_id: str
    foreign: bool
    owner: str
    service: str
    agent: str
    parent: str
    child: str
    aliases: list[str]
    turn: str
    trigger: str
    stream: int
    tool: str
    call: str
    error: str
    model: str
    tokens: int
    attributes: dict[str, str]


_COLUMNS = """session_id, run_id, event, phase, event_ns, start_ns, received_ns, producer, seq, identity, span_id,
    parent_span_id, foreign, owner,
    service, agent, parent, child, aliases, turn, trigger, stream, tool, call, error, model, tokens, attributes"""


def recorded(
    store: Store,
    session: str,
    *,
    runs: Collection[str] | None = None,
    strays: Collection[str] = (),
    limit: int = 100_000,
    offset: int = 0,
) -> list[Recorded]:
    """Return the records of a session in order of arrival; of `runs` only, where these are given.

    `strays` are run ids under which records that name no session belong here too. A record that came twice is
    returned twice.
    """
    asked = "session_id = {session:String}"
    if strays:
        asked = f"({asked} OR (session_id = '' AND run_id IN {{strays:Array(String)}}))"
    if runs is not None:
        asked += " AND run_id IN {runs:Array(String)}"
    rows = store.query(
        f"SELECT {_COLUMNS} FROM ({_unfolding(store)}) WHERE {asked}"
        " ORDER BY received_ns, event_ns, identity LIMIT {limit:UInt64} OFFSET {offset:UInt64}",
        {
            "session": session,
            "strays": list(strays),
            "runs": list(runs or ()),
            "limit": limit,
            "offset": offset,
        },
    )
    return [Recorded(*row) for row in rows]


def runs_of_trace(store: Store, trace: str) -> list[tuple[str, str]]:
    """Return (session, run id) of the spans of a trace; empty ids where they name none."""
    rows = store.query(
        "SELECT DISTINCT SpanAttributes['session.id'], SpanAttributes['subagent.run.id'] FROM otel_traces"
        " WHERE TraceId = {trace:String} LIMIT 100",
        {"trace": trace},
    )
    return [(str(session), str(run)) for session, run in rows]


def runs_of_call(store: Store, call: str) -> list[tuple[str, str]]:
    """Return (session, run id) of the runs in which a tool call with this id was made."""
    rows = store.query(
        "SELECT DISTINCT a.session_id, a.run_id FROM activity AS a"
        " WHERE a.run_key IN (SELECT run_key FROM call WHERE event = 'tool_call' AND key = concat('call:', {call:String}))"
        " LIMIT 100",
        {"call": call},
    )
    return [(str(session), str(run)) for session, run in rows]


class Call(NamedTuple):
    """One tool call or model request; `ended_ns` 0 while it is out, `error` "" where it went well."""

    event: str
    began_ns: int
    ended_ns: int
    tool: str
    error: str


def calls_of(store: Store, session: str, names: Collection[str], limit: int = 20_000) -> list[Call]:
    """Return the tool calls and model requests of a run, under any of its names, by their beginning."""
    rows = store.query(
        "SELECT event, min(c.began) AS began_ns, greatest(max(c.succeeded), max(c.failed)) AS ended_ns, max(c.tool), max(c.error)"
        " FROM call AS c"
        " WHERE run_key IN (SELECT arrayJoin(arrayMap(name -> halfMD5(concat({session:String}, '\\0', name)),"
        " {names:Array(String)})))"
        " GROUP BY event, key ORDER BY began_ns LIMIT {limit:UInt64}",
        {"session": session, "names": list(names), "limit": limit},
    )
    return [Call(*row) for row in rows]


def _unfolding(store: Store) -> str:
    """Return the very SELECT by which the store unfolds spans into records, so that there is one definition of it."""
    rows = store.query(
        "SELECT as_select FROM system.tables WHERE database = {database:String} AND name = {view:String}",
        {"database": store.database, "view": _VIEW},
    )
    return str(rows[0][0])
