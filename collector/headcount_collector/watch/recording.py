"""Gathers what a replay of one run needs from the store: the records of its session, as they arrived."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headcount_collector.derive.loader import FactsLoader, RunKey
from headcount_collector.derive.recorded import Recorded, recorded
from headcount_collector.evidence import wire
from headcount_collector.evidence.record import AttributeValue, Record
from headcount_collector.evidence.short_line import attributes_of
from headcount_collector.judge.facts import Facts
from headcount_collector.store.client import Store
from headcount_collector.watch.documents import Document

MOST = 100_000
"""Records of one session that are read at most."""


def arrivals_of(
    store: Store, session: str, strays: Sequence[str] = ()
) -> tuple[tuple[tuple[int, Record], ...], dict[str, str]]:
    """Return the records of a session as (receiver time, record) in order of arrival, and agent types with their services."""
    rows = recorded(store, session, strays=strays, limit=MOST)
    services = {row.agent: row.service for row in rows if row.event == "dispatch" and row.agent}
    dispatched_in = {row.span_id for row in rows if row.event == "dispatch"}
    return tuple(_arrivals(rows, dispatched_in)), services


def facts_of(store: Store, document: Document) -> Facts | None:
    """Return the facts of a judged run as they are now; None where nothing is stored of it any more."""
    key = RunKey(document["session"], document["run"])
    return FactsLoader(store).load([key]).get(key)


def _arrivals(rows: Sequence[Recorded], dispatched_in: set[str]) -> Iterator[tuple[int, Record]]:
    tokens: dict[str, int] = {}
    for row in rows:
        attributes = _attributes(row)
        event = row.event
        if event == "activity" or (
            row.foreign and event in ("start", "child_done") and row.parent_span_id not in dispatched_in
        ):
            event = "heartbeat"
        elif row.foreign and event == "child_done":
            attributes.setdefault(wire.OUTCOME, "ok")
        start_ns = row.start_ns if row.start_ns < row.event_ns and row.phase == wire.ENDED else None
        yield (
            row.received_ns,
            Record(
                event=event,
                at_ns=row.event_ns,
                run=row.run or None,
                session=row.session or None,
                attributes=attributes,
                start_ns=start_ns,
                phase=row.phase or None,
            ),
        )
        if row.foreign and event == "model_request" and row.tokens:
            total = tokens[row.run] = tokens.get(row.run, 0) + row.tokens
            output = {
                key: value for key, value in attributes.items() if key in (wire.TURN, wire.CHILD_SESSION)
            }
            output[wire.OUTPUT_TOKENS] = total
            yield (
                row.received_ns,
                Record("output", row.event_ns, row.run or None, row.session or None, output),
            )


def _attributes(row: Recorded) -> dict[str, AttributeValue]:
    found = attributes_of(row.attributes)
    if row.foreign:
        found = {}
        for attribute, value in (
            (wire.AGENT, row.agent if row.event == "dispatch" else ""),
            (wire.CHILD_SESSION, row.child),
            (wire.TURN, row.turn),
            (wire.RESPONSE_MODEL, row.model),
        ):
            if value:
                found[attribute] = value
        if row.event == "tool_call":
            found |= {wire.TOOL: row.tool or "tool"} | ({wire.CALL: row.call} if row.call else {})
    if row.error:
        found[wire.ERROR] = found[wire.ERROR_DIGEST] = row.error
    return found
