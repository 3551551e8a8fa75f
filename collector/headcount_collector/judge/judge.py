"""The one judgement: facts, policy and a moment in; status, class, evidence and the next moment of change out."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from headcount_collector.values import value

from .accounts import Account, account_of
from .classes import Diagnosis, diagnose, was_alive_and_stalled
from .facts import Facts
from .policy import Policy
from .quality import quality_of, receipts_of
from .rules import Finding, awaits_consumption, decide, next_pulse, owner_gone
from .signals import signals_of
from .timeline import Timeline
from .verdict import COMPLETED, RECOVERED, SEVERITIES, Signal, Verdict
from .waits import Moments
from .words import evidence_of, in_flight, would_change

_STEPS = 20_000


@dataclass(slots=True)
class History:
    """What a run was before now, by event time."""

    recovered_from: int | None = None
    """First moment of an abnormality that makes its delivery a recovery."""
    first_abnormal_at: int | None = None
    abnormal_since: int | None = None
    dismissed_at: int | None = None
    """When the run was dismissed as one of its class."""
    worst: int = -1
    """Highest severity since the last progress, as an index of SEVERITIES."""


@value(frozen=True, slots=True)
class Outline:
    """The part of a judgement that neighbours ask for."""

    finding: Finding
    history: History
    ended_at: int | None
    delivered_at: int | None
    void_at: int | None
    abnormal_since: int | None


def judge(facts: Facts, policy: Policy, now: int) -> Verdict:
    """Return the verdict on one run at `now` (nanoseconds since the epoch); pure: same input, same answer.

    `Verdict.next_due` is the next moment at which it may change without new evidence.
    """
    line = _timeline(facts, policy)
    finding, diagnosis, history, next_due = _walk(line, now, with_waits=True)
    moments = Moments(now, next_due)
    signals = signals_of(line, moments, finding)
    return _compile(line, finding, diagnosis, history, signals, moments.next_due, now)


def outline(facts: Facts, policy: Policy, now: int) -> Outline:
    """Return what the neighbours of a run need of it: its end, delivery, void and abnormality, waits left aside."""
    line = _timeline(facts, policy)
    finding, _, history, _ = _walk(line, now, with_waits=False)
    end = line.end(now)
    completion = line.completion(now)
    ended = [standing.at for standing in (end, completion) if standing is not None]
    return Outline(
        finding,
        history,
        min(ended) if ended else None,
        line.delivered(now),
        finding.void_at,
        history.abnormal_since if finding.abnormal else None,
    )


def _timeline(facts: Facts, policy: Policy) -> Timeline:
    dispatch = facts.dispatch
    if dispatch is None:
        return Timeline.of(facts, policy.times(facts.session, None, ""))
    times = policy.times(facts.session, dispatch.agent, dispatch.service, dispatch.attended)
    return Timeline.of(facts, times)


def _walk(
    line: Timeline, now: int, *, with_waits: bool
) -> tuple[Finding, Diagnosis | None, History, int | None]:
    """Judge at every moment where evidence or a threshold may turn the judgement, the last being now."""
    history = History()
    still_since = line.last_any_progress(now) or 0
    t = min(_first_possible(line), now)
    breaks = line.breaks
    for _ in range(_STEPS):
        moments, finding, diagnosis = _look(line, t, history, with_waits)
        _remember(history, diagnosis, finding, t, t >= still_since)
        if t >= now:
            break
        slow = diagnosis is not None and diagnosis.slow
        place = bisect_right(breaks, t)
        following = [moments.next_due, next_pulse(line, finding, slow, t)]
        if place < len(breaks):
            following.append(breaks[place])
        t = min(now, min((moment for moment in following if moment is not None), default=now))
    else:
        moments, finding, diagnosis = _look(line, now, history, with_waits)
        _remember(history, diagnosis, finding, now, True)
    return finding, diagnosis, history, moments.next_due


def _look(
    line: Timeline, t: int, history: History, with_waits: bool
) -> tuple[Moments, Finding, Diagnosis | None]:
    """Judge at one moment; a dismissal of a class takes effect where the run is of that class then."""
    moments = Moments(t)
    finding = decide(line, moments, history.first_abnormal_at, history.dismissed_at, with_waits=with_waits)
    diagnosis = diagnose(line, moments, finding) if finding.abnormal else None
    if (
        diagnosis is not None
        and history.dismissed_at is None
        and _dismisses(line, t, diagnosis.failure_class)
    ):
        history.dismissed_at = t
        return _look(line, t, history, with_waits)
    return moments, finding, diagnosis


def _dismisses(line: Timeline, t: int, failure_class: str) -> bool:
    return any(d.at == t and d.failure_class == failure_class for d in line.facts.dismissals)


def _first_possible(line: Timeline) -> int:
    """Return a moment before which no rule but the last can match."""
    facts, times = line.facts, line.times
    if facts.dispatch is None:
        return 1 << 62
    first = facts.dispatch.at + min(
        facts.dispatch.expected_ns if facts.dispatch.expected_ns is not None else times.expected,
        facts.dispatch.max_runtime_ns if facts.dispatch.max_runtime_ns is not None else times.expected,
    )
    for group in (
        facts.ends,
        facts.receipts,
        facts.forwards,
        facts.idles,
        facts.waits,
        facts.dismissals,
    ):
        if group:
            first = min(first, group[0].at)
    for launch in facts.launches:
        if launch.state in ("queued", "reserved", "rejected"):
            first = min(first, launch.at)
    for moments in (facts.consumptions, facts.neighbours.gone):
        if moments:
            first = min(first, moments[0])
    if facts.neighbours.owner.gone:
        first = min(first, facts.neighbours.owner.gone[0][0])
    for successor in facts.neighbours.successors:
        first = min(first, successor.dispatched_at)
    return first


def _remember(history: History, diagnosis: Diagnosis | None, finding: Finding, t: int, still: bool) -> None:
    if diagnosis is None:
        history.abnormal_since = None
        return
    if history.abnormal_since is None:
        history.abnormal_since = t
    if history.first_abnormal_at is None:
        history.first_abnormal_at = t
    if history.recovered_from is None and finding.rule != "6" and not diagnosis.slow:
        history.recovered_from = t
    if still:
        history.worst = max(history.worst, SEVERITIES.index(diagnosis.severity))


def _compile(
    line: Timeline,
    finding: Finding,
    diagnosis: Diagnosis | None,
    history: History,
    signals: tuple[Signal, ...],
    next_due: int | None,
    now: int,
) -> Verdict:
    facts, dispatch = line.facts, line.facts.dispatch
    status = finding.status
    if finding.rule == "2" and history.recovered_from is not None:
        status = RECOVERED
    severity = None
    if diagnosis is not None:
        worst = max(history.worst, SEVERITIES.index(diagnosis.severity))
        if finding.kind == "late" and not diagnosis.slow and was_alive_and_stalled(line, finding.since, now):
            worst = SEVERITIES.index("page")
        severity = SEVERITIES[worst]
    mode = line.mode(now)
    end = finding.end or line.end(now)
    completion = line.completion(now)
    ended = end or completion
    settled = (
        status in (COMPLETED, RECOVERED) or finding.delivered_at is not None or finding.void_at is not None
    )
    counts = dispatch is not None and mode != "foreground"
    return Verdict(
        session=facts.session,
        run=facts.run,
        at=now,
        status=status,
        rule=finding.rule,
        since=max(finding.since, history.abnormal_since or 0),
        failure_class=diagnosis.failure_class if diagnosis else None,
        leaning=diagnosis.leaning if diagnosis else None,
        severity=severity,
        outcome=finding.outcome or (ended.outcome if ended is not None else None),
        quality=quality_of(line, now) if finding.delivered_at is not None else None,
        owner=line.owner,
        parent=dispatch.parent if dispatch else None,
        agent=dispatch.agent if dispatch else None,
        service=dispatch.service if dispatch else "",
        mode=mode,
        attended=dispatch is not None and dispatch.attended,
        description=dispatch.description if dispatch else None,
        names=facts.names,
        child_sessions=facts.children_keys,
        dispatched=dispatch is not None,
        deadline=finding.deadline,
        abnormal_since=history.abnormal_since,
        first_abnormal_at=history.first_abnormal_at,
        ended_at=end.at if end else None,
        delivered_at=finding.delivered_at,
        void_at=finding.void_at,
        receipts=receipts_of(line, finding.deadline, now),
        last_traffic_at=facts.last_traffic_at,
        last_activity_at=facts.last_activity_at,
        last_progress_at=line.last_any_progress(now),
        model=facts.resolved_models[-1] if facts.resolved_models else dispatch.model if dispatch else None,
        tool_calls=facts.tool_calls,
        output_tokens=facts.output_tokens,
        result_location=end.result.location if end else None,
        in_flight=in_flight(line, now),
        owner_gone=owner_gone(line, now) is not None,
        counts=counts,
        remaining=counts and ended is None and not settled,
        undelivered=counts and ended is not None and not settled,
        evidence=evidence_of(line, finding, diagnosis, now),
        would_change=would_change(line, finding, diagnosis),
        signals=signals,
        next_due=next_due,
        account=_account(line, finding, ended.at if ended is not None else None, now)
        if dispatch is not None
        else Account(),
        unconsumed=finding.rule == "2" and awaits_consumption(line, now),
    )


def _account(line: Timeline, finding: Finding, ended_at: int | None, now: int) -> Account:
    settled = [moment for moment in (finding.delivered_at, finding.void_at) if moment is not None]
    return account_of(line, ended_at, min(settled) if settled else None, now)
