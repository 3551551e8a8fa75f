"""A verdict as the JSON document that the store keeps and that API, CLI, page and alerts show."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from headcount_collector.judge.policy import SECOND
from headcount_collector.judge.verdict import Verdict

Document = dict[str, Any]


def rfc3339(moment: int | None) -> str | None:
    """Return nanoseconds since the epoch as RFC 3339 in UTC with milliseconds; None and 0 are no moment."""
    if not moment:
        return None
    whole, rest = divmod(moment, SECOND)
    return f"{_second(whole)}.{rest // 1_000_000:03d}Z"


@lru_cache(maxsize=20_000)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()[:19]


def _seconds(length_ns: int) -> float:
    return round(length_ns / SECOND, 3)


def document_of(verdict: Verdict) -> Document:
    """Return the verdict's document; every moment is RFC 3339, absent values are null."""
    receipts = verdict.receipts
    return {
        "session": verdict.session,
        "run": verdict.run,
        "names": list(verdict.names),
        "child_sessions": list(verdict.child_sessions),
        "owner": verdict.owner,
        "parent": verdict.parent,
        "agent": verdict.agent,
        "service": verdict.service,
        "mode": verdict.mode,
        "attended": verdict.attended,
        "description": verdict.description,
        "dispatched": verdict.dispatched,
        "status": verdict.status,
        "class": verdict.failure_class,
        "leaning": verdict.leaning,
        "severity": verdict.severity,
        "outcome": verdict.outcome,
        "quality": verdict.quality,
        "rule": verdict.rule,
        "held": verdict.held,
        "since": rfc3339(verdict.since),
        "deadline": rfc3339(verdict.deadline),
        "abnormal_since": rfc3339(verdict.abnormal_since),
        "first_abnormal_at": rfc3339(verdict.first_abnormal_at),
        "ended_at": rfc3339(verdict.ended_at),
        "delivered_at": rfc3339(verdict.delivered_at),
        "void_at": rfc3339(verdict.void_at),
        "receipts": {
            "runId": receipts.run_id,
            "childSessionKey": receipts.child_session_key,
            "dispatchAt": rfc3339(receipts.dispatch_at),
            "expectedBy": rfc3339(receipts.expected_by),
            "completionReceivedAt": rfc3339(receipts.completion_received_at),
            "forwardedToMain": receipts.forwarded_to_main,
            "resultSource": receipts.result_source,
        },
        "clocks": {
            "last_traffic_at": rfc3339(verdict.last_traffic_at),
            "last_activity_at": rfc3339(verdict.last_activity_at),
            "last_progress_at": rfc3339(verdict.last_progress_at),
        },
        "account": {
            "total_s": _seconds(verdict.account.total),
            "working_s": _seconds(verdict.account.working),
            "waiting_s": {reason: _seconds(spent) for reason, spent in verdict.account.waiting.items()},
            "idle_s": _seconds(verdict.account.idle),
            "delivery_s": _seconds(verdict.account.delivery),
        },
        "model": verdict.model,
        "tool_calls": verdict.tool_calls,
        "output_tokens": verdict.output_tokens,
        "result_location": verdict.result_location,
        "in_flight": list(verdict.in_flight),
        "evidence": list(verdict.evidence),
        "would_change": list(verdict.would_change),
        "signals": [
            {"name": s.name, "since": rfc3339(s.since), "severity": s.severity, "evidence": s.evidence}
            for s in verdict.signals
        ],
        "group": {
            "counts": verdict.counts,
            "remaining": verdict.remaining,
            "undelivered": verdict.undelivered,
            "owner_gone": verdict.owner_gone,
        },
        "next_due": rfc3339(verdict.next_due),
        "judged_at": rfc3339(verdict.at),
    }
