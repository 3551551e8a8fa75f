"""What the rare events of a run say: the way of the dispatch, its waits, ends, receipts and deliveries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from headcount_collector.derive.clocks import Clocks
from headcount_collector.derive.dated import Dated, one_of_two_witnesses, texts
from headcount_collector.derive.pairing import Span, spans
from headcount_collector.derive.pulse import Timing
from headcount_collector.derive.rows import EvidenceRow
from headcount_collector.evidence import wire
from headcount_collector.judge.facts import (
    Abort,
    Dismissal,
    Dispatch,
    End,
    Forward,
    Idle,
    Launch,
    Poke,
    Receipt,
    Start,
    Wait,
)
from headcount_collector.values import value

T = TypeVar("T")

FREQUENT = frozenset({"tool_call", "model_request", "first_token", "output", "heartbeat", "activity"})
"""Events that the database keeps as states; as rows they only name an alias or correct a moment."""


@value(frozen=True, slots=True)
class Rare:
    """What the rare events of a run say: the part of its facts that stays as it is while the child just works."""

    dispatch: Dispatch | None
    launches: tuple[Launch, ...]
    starts: tuple[Start, ...]
    waits: tuple[Wait, ...]
    idles: tuple[Idle, ...]
    pokes: tuple[Poke, ...]
    ends: tuple[End, ...]
    aborts: tuple[Abort, ...]
    receipts: tuple[Receipt, ...]
    forwards: tuple[Forward, ...]
    consumptions: tuple[int, ...]
    dismissals: tuple[Dismissal, ...]
    activity: tuple[int, ...]
    """First and last sign of the child."""
    traffic: tuple[int, ...]
    """First and last record of any kind."""
    heard: frozenset[str]
    child_side: frozenset[str]
    tokens: int
    early: tuple[EvidenceRow, ...]
    """Frequent events without a producer that arrived before they happened."""


def rare_facts(evidence: Sequence[EvidenceRow], dispatched_at: int | None, clocks: Clocks) -> Rare:
    """Return what the rare events of a run say, given when it was dispatched."""
    early = tuple(
        row
        for row in evidence
        if row.event in FREQUENT and not row.producer and row.event_ns > row.received_ns
    )
    records = _dated(evidence, Timing(clocks, dispatched_at, early))
    by_event: dict[str, list[Dated]] = defaultdict(list)
    for record in one_of_two_witnesses(records, clocks.skew_ns):
        by_event[record.row.event].append(record)
    dispatch = _dispatch(by_event["dispatch"], clocks)
    of_child = [r for r in records if is_child_side(r)]
    return Rare(
        dispatch=dispatch,
        launches=_launches(by_event["launch"], by_event["dispatch"], dispatch),
        starts=_starts(by_event["start"]),
        waits=tuple(map(_wait, spans(by_event["wait"], _wait_id, _wait_reason))),
        idles=tuple(map(_idle, by_event["idle"])),
        pokes=_sorted((_poke(r) for event in ("nudge", "message") for r in by_event[event]), _moment),
        ends=_sorted((_END[event](r) for event in _END for r in by_event[event]), _moment),
        aborts=tuple(Abort(r.at, r.text(wire.KILL_ACTOR), r.text(wire.KILL_RULE)) for r in by_event["abort"]),
        receipts=tuple(map(_receipt, by_event["completion_received"])),
        forwards=tuple(map(_forward, by_event["completion_forwarded"])),
        consumptions=tuple(r.at for r in by_event["completion_consumed"] if consumed(r)),
        dismissals=tuple(
            Dismissal(r.at, r.text(wire.DISMISS_REASON), r.text(wire.HANDED_TO)) for r in by_event["dismiss"]
        ),
        activity=extent(r.at for r in records if r.row.event == "activity" or is_child_side(r)),
        traffic=extent(r.at for r in records),
        heard=frozenset(r.row.producer for r in records),
        child_side=frozenset(r.row.producer for r in of_child),
        tokens=max((r.row.tokens for r in by_event["child_done"]), default=0),
        early=early,
    )


def extent(moments: Iterable[int]) -> tuple[int, ...]:
    """Return the first and the last of some moments, or nothing."""
    found = list(moments)
    return (min(found), max(found)) if found else ()


def is_child_side(record: Dated) -> bool:
    """Tell whether a rare event comes from the child, and so shows that it lives."""
    event = record.row.event
    if event == "wait":
        return record.attributes.get(wire.WAIT_REASON) != "queue"
    if event == "message":
        return record.attributes.get(wire.MESSAGE_FROM) == "child"
    return event in ("start", "idle", "child_done")


def consumed(record: Dated) -> bool:
    """Tell whether a consumption is one: an answer of no output tokens consumed nothing."""
    return record.number(wire.OUTPUT_TOKENS) != 0


def _dated(evidence: Sequence[EvidenceRow], timing: Timing) -> list[Dated]:
    """Date the rare events. A foreign agent span starts and ends the run only if it is the run's own."""
    dispatched_in = {row.span_id for row in evidence if row.event == "dispatch"} | {""}
    found = []
    for row in evidence:
        if row.event in FREQUENT:
            continue
        if row.foreign and row.parent_span_id not in dispatched_in:
            row = row._replace(event="activity")
        at = timing.of_row(row)
        began = at if row.start_ns >= row.event_ns else at - (row.event_ns - row.start_ns)
        found.append(Dated(at, began, row, row.attributes))
    return found


def _dispatch(records: Sequence[Dated], clocks: Clocks) -> Dispatch | None:
    if not records:
        return None
    first = records[0]
    for other in records[1:]:
        row, more = first.row, other.row
        first = replace(
            first,
            row=row._replace(
                owner=row.owner or more.owner,
                agent=row.agent or more.agent,
                parent=row.parent or more.parent,
                producer=row.producer or more.producer,
            ),
            attributes={**other.attributes, **{k: v for k, v in first.attributes.items() if v != ""}},
        )
    return Dispatch(
        at=first.at,
        owner=first.row.owner,
        parent=first.row.parent or None,
        agent=first.row.agent or None,
        service=first.row.service,
        mode=records[0].text(wire.MODE) or first.text(wire.MODE) or "background",
        channel=first.text(wire.CHANNEL),
        can_send=first.flag(wire.CAN_SEND),
        expected_ns=next((e for e in map(_expected, records) if e is not None), None),
        max_runtime_ns=first.milliseconds(wire.MAX_RUNTIME_MS),
        prompt_digest=first.text(wire.PROMPT_DIGEST),
        description=first.text(wire.DESCRIPTION),
        description_digest=first.text(wire.DESCRIPTION_DIGEST),
        replica=first.text(wire.REPLICA),
        supersedes=tuple(texts(first.attributes.get(wire.SUPERSEDES))),
        model=first.text(wire.REQUEST_MODEL),
        attended=first.flag(wire.ATTENDED) or False,
        producer=first.row.producer,
    )


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _expected(record: Dated) -> int | None:
    """Return the deadline as a duration after the dispatch's own event time, whatever its clock says."""
    text = record.text(wire.EXPECTED_BY)
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        return None
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000 - record.row.event_ns // 1000 * 1000


def _launches(
    launches: Sequence[Dated], dispatches: Sequence[Dated], dispatch: Dispatch | None
) -> tuple[Launch, ...]:
    """Return the launches by time; a later dispatch record that names another mode is a change of mode, too."""
    mode = dispatch.mode if dispatch else "background"
    found = []
    for record in sorted([*launches, *dispatches[1:]], key=lambda r: (r.at, r.row.identity)):
        said = record.text(wire.MODE)
        changed = said if said is not None and said != mode else None
        mode = said or mode
        if record.row.event == "launch" or changed is not None:
            state = record.text(wire.LAUNCH_STATE)
            found.append(Launch(record.at, state, changed, record.number(wire.LAUNCH_CAP)))
    return tuple(found)


def _starts(records: Sequence[Dated]) -> tuple[Start, ...]:
    found = {Start(r.at, r.number(wire.ATTEMPT) or 1, r.row.producer) for r in records}
    return _sorted(found, lambda start: (start.at, start.attempt, start.producer))


def _wait_id(record: Dated) -> str | None:
    return record.text(wire.WAIT_ID)


def _wait_reason(record: Dated) -> str | None:
    return record.text(wire.WAIT_REASON)


def _wait(span: Span) -> Wait:
    record = span.record
    return Wait(
        at=span.at,
        reason=_wait_reason(record) or "",
        closed=span.closed,
        waker=record.text(wire.WAIT_WAKER),
        id=_wait_id(record),
    )


def _idle(record: Dated) -> Idle:
    return Idle(record.at, record.flag(wire.HAS_SUMMARY), record.flag(wire.TURN_ENDED))


def _poke(record: Dated) -> Poke:
    return Poke(record.at, record.row.event, record.text(wire.MESSAGE_FROM))


def _done(record: Dated) -> End:
    outcome = record.text(wire.OUTCOME) or ("ok" if record.text(wire.ERROR) is None else "error")
    return End(record.at, "child_done", outcome, record.result(), producer=record.row.producer)


def _killed(record: Dated) -> End:
    return End(
        at=record.at,
        kind="kill",
        outcome="killed",
        result=record.result(),
        actor=record.text(wire.KILL_ACTOR),
        rule=record.text(wire.KILL_RULE),
        limit_ns=record.milliseconds(wire.KILL_LIMIT_MS),
        producer=record.row.producer,
    )


def _gone(record: Dated) -> End:
    outcome = record.text(wire.OUTCOME) or "crashed"
    return End(record.at, "child_gone", outcome, record.result(), producer=record.row.producer)


_END: Mapping[str, Callable[[Dated], End]] = {"child_done": _done, "kill": _killed, "child_gone": _gone}


def _receipt(record: Dated) -> Receipt:
    return Receipt(
        at=record.at,
        source=record.text(wire.RESULT_SOURCE),
        outcome=record.text(wire.OUTCOME),
        result=record.result(),
        receiver=record.attributes.get(wire.RECEIVER),
        receiver_session=record.text(wire.RECEIVER_SESSION),
    )


def _forward(record: Dated) -> Forward:
    return Forward(
        at=record.at,
        forwarded=record.flag(wire.FORWARDED) or False,
        receiver=record.attributes.get(wire.RECEIVER),
        receiver_session=record.text(wire.RECEIVER_SESSION),
        final=record.flag(wire.FORWARD_FINAL) or False,
        error=record.text(wire.ERROR),
        result=record.result(),
    )


def _moment(item: Poke | End) -> tuple[int, str]:
    return item.at, item.kind


def _sorted(items: Iterable[T], key: Callable[[T], tuple[object, ...]]) -> tuple[T, ...]:
    return tuple(sorted(items, key=key))
