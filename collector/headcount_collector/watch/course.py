"""The course of one run as a picture needs it: what lasted, what happened at one moment, and the gap that decided."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from headcount_collector.derive.loader import RunKey
from headcount_collector.derive.recorded import Call, calls_of
from headcount_collector.evidence.moment import moment_ns
from headcount_collector.judge.facts import Facts
from headcount_collector.judge.policy import SECOND, Policy
from headcount_collector.judge.progress import own_progress
from headcount_collector.store.client import Store
from headcount_collector.watch.documents import Document, rfc3339
from headcount_collector.watch.timeline import stretches

LANES = ("owner", "launch", "model", "tools", "waits", "result")
"""From the owner's side down to the result's way back."""

_BUCKETS = 600
"""Bars that lie closer together than one part in so many of the whole are drawn as one."""

Bar = tuple[str, str, int, int | None, str]
"""(lane, kind, from, to or None while it lasts, text)."""
Mark = tuple[str, str, int, str]
"""(lane, kind, moment, text)."""


def course_of(store: Store, document: Document, facts: Facts | None, policy: Policy, now_ns: int) -> Document:
    """Return `begins`, `ends`, `until`, `bars`, `marks`, `gap` of a judged run.

    `until` is where its story stops: now, if the run is open. The picture may end later, at a deadline that is ahead.
    """
    key = RunKey(document["session"], document["run"])
    if facts is None:
        return {
            "begins": None,
            "ends": None,
            "until": None,
            "bars": [],
            "marks": [],
            "gap": None,
            "lanes": list(LANES),
        }
    calls = calls_of(store, key.session, facts.names or (key.run,))
    bars = [*_bars(facts, calls)]
    attended = facts.dispatch is not None and facts.dispatch.attended
    times = policy.times(key.session, document["agent"], document["service"], attended)
    marks = [*_marks(facts), *_thresholds(document, times.delivery_grace)]
    begins = min([facts.first_at, *(bar[2] for bar in bars), *(mark[2] for mark in marks)])
    is_open = document["status"] not in ("completed", "recovered")
    lasts = [bar[3] for bar in bars if bar[3] is not None] + [mark[2] for mark in marks]
    until = max(now_ns, begins + SECOND) if is_open else max([*lasts, begins + SECOND])
    # A deadline far ahead must not press the past into a corner.
    ends = max(until, min(max(lasts, default=until), 2 * until - begins))
    gap = _gap(document, facts, until)
    return {
        "begins": rfc3339(begins),
        "ends": rfc3339(ends),
        "until": rfc3339(until),
        "lanes": list(LANES),
        "bars": [_bar_document(bar) for bar in _joined(bars, (ends - begins) // _BUCKETS)],
        "marks": [
            {"lane": lane, "kind": kind, "at": rfc3339(at), "text": text}
            for lane, kind, at, text in sorted(marks, key=lambda mark: mark[2])
            if at <= ends
        ],
        "gap": gap,
    }


def _bar_document(bar: Bar) -> Document:
    lane, kind, begin, end, text = bar
    return {
        "lane": lane,
        "kind": kind,
        "from": rfc3339(begin),
        "to": None if end is None else rfc3339(end),
        "text": text,
    }


def _bars(facts: Facts, calls: Sequence[Call]) -> Iterator[Bar]:
    began = facts.dispatch.at if facts.dispatch is not None else facts.first_at
    yield from _launching(facts, began)
    for call in calls:
        lane = "tools" if call.event == "tool_call" else "model"
        what = (call.tool or "a tool") if lane == "tools" else "model request"
        kind = "failed" if call.error else ("open" if not call.ended_ns else "done")
        said = f"{what} failed" if call.error else what
        yield lane, kind, min(call.began_ns, call.ended_ns or call.began_ns), call.ended_ns or None, said
    for wait in facts.waits:
        text = f"waits ({wait.reason})" + (f" for {wait.waker}" if wait.waker else "")
        yield "waits", wait.reason, wait.at, wait.closed, text
    for opened, closed in facts.neighbours.owner.turns:
        if closed is None or closed >= began:
            yield "owner", "turn", max(opened, began), closed, "the owner is busy with a turn"


def _launching(facts: Facts, began: int) -> Iterator[Bar]:
    """Queued, reserved, registered: each until the next; before the first, the dispatch nobody has answered."""
    steps = [(began, "dispatched")] if facts.dispatch is not None else []
    steps += [(launch.at, launch.state) for launch in facts.launches if launch.state is not None]
    started = facts.starts[0].at if facts.starts else facts.heard_at
    for place, (at, state) in enumerate(steps):
        following = steps[place + 1][0] if place + 1 < len(steps) else started
        if following is not None and following <= at:
            continue
        if state != "rejected":
            yield "launch", state, at, following, f"{state}, not started"
    if started is not None:
        ends = [end.at for end in facts.ends]
        yield "launch", "started", started, max(ends) if ends else None, "the child's session"


def _marks(facts: Facts) -> Iterator[Mark]:
    dispatch = facts.dispatch
    if dispatch is not None:
        yield "owner", "dispatch", dispatch.at, "dispatched"
    for start in facts.starts:
        yield "launch", "start", start.at, "started" if start.attempt == 1 else f"attempt {start.attempt}"
    tokens = [moment for turn in facts.turns for moment in turn.tokens]
    if tokens:
        yield "model", "first_token", min(tokens), "first token"
    for first, last, count in stretches(own_progress(facts)):
        yield "tools", "progress", first, f"progress, {count} times" if count > 1 else "progress"
        if last > first:
            yield "tools", "progress", last, "last of this stretch of progress"
    for idle in facts.idles:
        yield "launch", "idle", idle.at, "ended its turn" if idle.turn_ended else "idle"
    for poke in facts.pokes:
        yield "launch", "poke", poke.at, f"{poke.kind} from {poke.sender or 'somebody'}"
    for end in facts.ends:
        text = {"child_done": f"ended: {end.outcome}", "kill": "killed", "child_gone": "session gone"}
        yield "result", "end" if end.kind == "child_done" else "kill", end.at, text[end.kind]
    for receipt in facts.receipts:
        yield "result", "received", receipt.at, "completion received"
    for forward in facts.forwards:
        yield (
            "result",
            "forwarded" if forward.forwarded else "refused",
            forward.at,
            "forwarded" if forward.forwarded else "not forwarded",
        )
    for at in facts.consumptions:
        yield "result", "consumed", at, "taken up by the owner"
    for dismissal in facts.dismissals:
        yield "owner", "dismiss", dismissal.at, "dismissed"
    began = dispatch.at if dispatch is not None else facts.first_at
    for at, _ in facts.neighbours.owner.gone:
        if at >= began:
            yield "owner", "gone", at, "the owner is gone"


def _thresholds(document: Document, grace_ns: int) -> Iterator[Mark]:
    """Moments that the judge named, and where its grace for a delivery ends."""
    ended, delivered = document["ended_at"], document["delivered_at"]
    if ended and not (delivered and moment_ns(delivered) <= moment_ns(ended) + grace_ns):
        yield "result", "grace", moment_ns(ended) + grace_ns, "grace for the delivery over"
    for name, kind, text in (
        ("deadline", "deadline", "deadline"),
        ("first_abnormal_at", "abnormal", "something wrong"),
        ("delivered_at", "delivered", "delivered"),
    ):
        if document[name]:
            yield "result" if name == "delivered_at" else "", kind, moment_ns(document[name]), text


def _gap(document: Document, facts: Facts, ends: int) -> Document | None:
    """Return the stretch of silence or of waiting on which the verdict rests."""

    def at(text: str | None) -> int | None:
        return None if text is None else moment_ns(text)

    rule, to = document["rule"], ends
    last = at(document["clocks"]["last_progress_at"])
    began = at(document["receipts"]["dispatchAt"])
    received = at(document["receipts"]["completionReceivedAt"])
    begin: int | None = None
    text = ""
    if document["status"] == "recovered":
        begin = at(document["first_abnormal_at"])
        to = at(document["delivered_at"]) or ends
        text = "wrong, until it was delivered"
    elif rule == "2b":
        begin, text = at(document["delivered_at"]), "delivered, and not taken up"
    elif rule in ("3", "4"):
        begin, text = at(document["ended_at"]), "ended, and its owner not told"
    elif rule == "5":
        gone = [moment for moment, _ in facts.neighbours.owner.gone]
        begin, text = (gone[-1] if gone else None), "nobody left to deliver to"
    elif rule == "6":
        waits = [wait.at for wait in facts.waits if wait.closed is None]
        begin, text = (min(waits) if waits else None), "waiting"
    elif rule == "7":
        idles = [idle.at for idle in facts.idles]
        begin, text = received or (idles[0] if idles else last), "nothing came back"
    elif rule == "8" and document["leaning"] == "slow":
        begin, text = at(document["deadline"]), "late, and still at work"
    elif rule == "8":
        begin, text = last or began, "no progress"
    if begin is None or to <= begin:
        return None
    return {"from": rfc3339(begin), "to": rfc3339(to), "text": text}


def _joined(bars: Iterable[Bar], least_ns: int) -> list[Bar]:
    """Join finished bars of one lane and kind that no eye could tell apart, so that ten thousand calls are a picture."""
    found: list[Bar] = []
    latest: dict[tuple[str, str], int] = {}
    for bar in sorted(bars, key=lambda bar: bar[2]):
        lane, kind, begin, end, text = bar
        place = latest.get((lane, kind))
        if place is not None and end is not None and kind == "done":
            _, _, first, last, said = found[place]
            if last is not None and begin - last < least_ns and (end - first < 3 * least_ns or begin <= last):
                what = said if said == text else f"several, the last {text}"
                found[place] = (lane, kind, first, max(last, end), what)
                continue
        latest[lane, kind] = len(found)
        found.append(bar)
    return found
