"""The runs around one run, with how they stand: what a person looks at next."""

from __future__ import annotations

import json
import re

from headcount_collector.judge.facts import Facts
from headcount_collector.store.client import Store
from headcount_collector.watch.documents import Document

_MOST = 50
RELATIONS = ("parent", "owner", "incarnations", "children", "twins", "successors", "siblings")
_INCARNATION = re.compile(r"#\d+$")


def kin_of(store: Store, document: Document, facts: Facts | None) -> Document:
    """Return verdicts by their relation to this run (RELATIONS); at most 50 of each."""
    session, run = document["session"], document["run"]
    near = facts.neighbours if facts is not None else None
    children = list(document["child_sessions"]) or [run]
    found: dict[str, list[Document]] = {
        "parent": _runs(store, session, [document["parent"]] if document["parent"] else []),
        "owner": _query(
            store,
            session,
            "has(JSONExtract(document, 'child_sessions', 'Array(String)'), {value:String})",
            document["owner"],
        )
        if document["owner"]
        else [],
        "incarnations": _query(
            store,
            session,
            "run_id = {value:String} OR startsWith(run_id, concat({value:String}, '#'))",
            _INCARNATION.sub("", run),
        ),
        "children": _query(
            store,
            session,
            "parent_run_id = {value:String} OR has({others:Array(String)}, owner_id)",
            run,
            children,
        ),
        "twins": _runs(store, session, [twin.run for twin in near.twins] if near else []),
        "successors": _runs(store, session, [other.run for other in near.successors] if near else []),
        "siblings": _query(
            store, session, "owner_id = {value:String} AND mode != 'foreground'", document["owner"]
        ),
    }
    seen = {run}
    kin: dict[str, list[Document]] = {}
    for relation in RELATIONS:
        kin[relation] = [other for other in found[relation] if other["run"] not in seen]
        seen |= {other["run"] for other in kin[relation]}
    return kin


def _runs(store: Store, session: str, runs: list[str]) -> list[Document]:
    return _query(store, session, "has({others:Array(String)}, run_id)", "", runs) if runs else []


def _query(
    store: Store, session: str, where: str, value: str, others: list[str] | None = None
) -> list[Document]:
    rows = store.query(
        f"SELECT document FROM verdict FINAL WHERE session_id = {{session:String}} AND ({where})"
        " ORDER BY dispatched_at DESC, run_id LIMIT {limit:UInt32}",
        {"session": session, "value": value, "others": others or [], "limit": _MOST},
    )
    return [json.loads(row[0]) for row in rows]
