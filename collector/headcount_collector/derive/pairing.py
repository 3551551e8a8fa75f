"""Pairs what began with what ended: waits and owner turns by id, by span, or the oldest open one of their reason."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from headcount_collector.derive.dated import Dated
from headcount_collector.evidence import wire


@dataclass(slots=True)
class Span:
    """Something that lasted: `record` is the one that opened it, else the one that closed it."""

    at: int
    closed: int | None
    record: Dated


def spans(
    records: Iterable[Dated], id_of: Callable[[Dated], str | None], reason_of: Callable[[Dated], str | None]
) -> list[Span]:
    """Return the waits or turns that pending and ended records tell of, by time; those not closed have None.

    A pair meets by id; else by span, since a pending twin has the real span as its parent; else the end closes
    the oldest open one of its reason.
    """
    ordered = sorted(records, key=lambda r: (r.at, r.row.phase == wire.ENDED, r.row.identity))
    twins = {r.row.parent_span_id for r in ordered if r.row.phase == wire.PENDING and r.row.parent_span_id}
    open_spans: dict[str, list[Span]] = defaultdict(list)
    found: list[Span] = []
    for record in ordered:
        key = _key(record, id_of(record), reason_of(record), twins)
        waiting = open_spans[key]
        if record.row.phase == wire.PENDING:
            if not (waiting and key.startswith("id:")):
                waiting.append(Span(record.at, None, record))
                found.append(waiting[-1])
        elif waiting:
            span = waiting.pop(0)
            span.closed = record.at
            if record.began < record.at:
                span.at = min(span.at, record.began)
        else:
            found.append(Span(min(record.began, record.at), record.at, record))
    return sorted(found, key=lambda span: (span.at, span.record.row.identity))


def _key(record: Dated, own_id: str | None, reason: str | None, twins: set[str]) -> str:
    if own_id:
        return f"id:{own_id}"
    if record.row.phase == wire.PENDING and record.row.parent_span_id:
        return f"span:{record.row.parent_span_id}"
    if record.row.phase != wire.PENDING and record.row.span_id in twins:
        return f"span:{record.row.span_id}"
    return f"reason:{reason or ''}"


def still_open(
    began: Sequence[tuple[int, str, str, bool]], ended: Iterable[tuple[int, str, str]]
) -> list[int]:
    """Return which of the calls that began, by place, are open after the unclaimed ends are dealt out.

    `began` are (moment, tool, call id, found by its parent span), `ended` (moment, tool, call id). An end goes to
    the oldest open call of its tool that began before it; never where both have an id, since those would have met.
    """
    order = sorted(range(len(began)), key=lambda place: began[place][:3])
    open_places = [place for place in order if not (began[place][3] and not began[place][2])]
    closed: set[int] = set()
    for at, tool, call in sorted(ended):
        for place in open_places:
            start, its_tool, its_call, _ = began[place]
            if place in closed or its_tool != tool or start > at or (call and its_call):
                continue
            closed.add(place)
            break
    return [place for place in range(len(began)) if place not in closed]
