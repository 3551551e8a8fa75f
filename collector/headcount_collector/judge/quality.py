"""Receipts by the runbook's names, and how much of a result the owner got."""

from __future__ import annotations

from .facts import Forward, Receipt, Result
from .timeline import FAILING, Timeline
from .verdict import Receipts
from .waits import deadline, waits_until


def receipts_of(line: Timeline, due: int | None, now: int) -> Receipts:
    """Return the dispatch and completion receipts as of now."""
    facts = line.facts
    received = line.receipt(now)
    late = [r for r in line.receipts if r.at <= now and line.to_owner(r)]
    received = received or (late[-1] if late else None)
    told = [f for f in line.forwards if f.at <= now]
    forwarded: bool | None = None
    if told or received is not None or line.deliveries:
        forwarded = line.delivered(now) is not None
    return Receipts(
        run_id=facts.run,
        child_session_key=facts.children_keys[0] if facts.children_keys else None,
        dispatch_at=facts.dispatch.at if facts.dispatch else None,
        expected_by=due if due is not None else deadline(line, waits_until(line, now), now),
        completion_received_at=received.at if received else None,
        forwarded_to_main=forwarded,
        result_source=received.source if received else None,
    )


def quality_of(line: Timeline, now: int) -> str:
    """Return full, partial, empty, cut or unknown, for a run whose owner was told."""
    sent, told = last_left(line, now), last_arrived(line, now)
    left = sent[2] if sent is not None else None
    outcome, arrived = (told[1], told[2]) if told is not None else (None, Result())
    if (arrived.partial or (left is not None and left.partial)) and arrived.size != 0:
        return "partial"
    if outcome in FAILING:
        return "unknown" if arrived.size is None else ("partial" if arrived.size else "empty")
    if arrived.size == 0:
        return "empty"
    if left is None or left.size is None:
        return "full" if arrived.size else "unknown"
    if left.size == 0:
        return "empty" if not arrived.size else "full"
    if arrived.size is None and arrived.digest is None:
        return "full"
    if differs(left, arrived):
        return "cut"
    return "full"


def differs(left: Result, arrived: Result) -> bool:
    """Tell whether a result is unlike another one of the same form."""
    if left.form != arrived.form:
        return False
    if left.size is not None and arrived.size is not None and left.size != arrived.size:
        return True
    return left.digest is not None and arrived.digest is not None and left.digest != arrived.digest


Told = tuple[int, str | None, Result]
"""(moment, outcome, result)."""


def last_left(line: Timeline, now: int) -> Told | None:
    """Return the child's last word on its result; a kill speaks only where the child did not."""
    ends = [end for end in line.ends if end.at <= now and end.kind != "child_gone"]
    ends = [end for end in ends if end.kind == "child_done"] or ends
    return (ends[-1].at, ends[-1].outcome, ends[-1].result) if ends else None


def last_arrived(line: Timeline, now: int) -> Told | None:
    """Return what the owner's side last said of the result: of the last forward, else of the last receipt."""
    receipts = [r for r in line.receipts if r.at <= now and line.to_owner(r)]
    forwards = [f for f in line.forwards if f.at <= now and f.forwarded and line.to_owner(f)]
    outcome = receipts[-1].outcome if receipts else None
    words: list[Forward | Receipt] = [*forwards[-1:], *receipts[-1:]]
    for told in words:
        if told.result.size is not None or told.result.digest is not None:
            return told.at, outcome, told.result
    return (words[0].at, outcome, Result()) if words else None
