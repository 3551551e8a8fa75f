"""Receipts by the runbook's names, and how much of a result the owner got."""

from __future__ import annotations

from .facts import Result
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
        expected_by=due if due is not None else deadline(line, waits_until(line, now)),
        completion_received_at=received.at if received else None,
        forwarded_to_main=forwarded,
        result_source=received.source if received else None,
    )


def quality_of(line: Timeline, now: int) -> str:
    """Return full, partial, empty, cut or unknown, for a run whose owner was told."""
    left = _left(line, now)
    arrived, outcome = _arrived(line, now)
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


def _left(line: Timeline, now: int) -> Result | None:
    ends = [end for end in line.facts.ends if end.at <= now and end.kind != "child_gone"]
    return ends[-1].result if ends else None


def _arrived(line: Timeline, now: int) -> tuple[Result, str | None]:
    receipts = [r for r in line.receipts if r.at <= now and line.to_owner(r)]
    forwards = [f for f in line.forwards if f.at <= now and f.forwarded and line.to_owner(f)]
    outcome = receipts[-1].outcome if receipts else None
    for told in (forwards[-1:] or []) + receipts[-1:]:
        if told.result.size is not None or told.result.digest is not None:
            return told.result, outcome
    return Result(), outcome
