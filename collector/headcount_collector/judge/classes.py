"""The failure class of an abnormal run, its leaning and its severity; first that matches (domain contract, section 6)."""

from __future__ import annotations

from headcount_collector.values import value

from .rules import Finding, returns_by_message
from .timeline import Timeline
from .verdict import BLOCKED
from .waits import Moments, base_deadline

LOST = "unclear_slow_or_lost"


@value(frozen=True, slots=True)
class Diagnosis:
    """What kind of abnormal a run is."""

    failure_class: str
    severity: str
    leaning: str | None = None

    @property
    def slow(self) -> bool:
        return self.leaning == "slow"


def diagnose(line: Timeline, moments: Moments, finding: Finding) -> Diagnosis:
    """Return the class of an abnormal finding; notes in `moments` when it would turn by time alone."""
    if finding.rule == "6":
        return _waiting(line, moments, finding)
    if finding.owner_gone_at is not None and (finding.rule in ("5", "2b", "3") or finding.kind == "result"):
        return Diagnosis("owner_gone", "page")
    if finding.rule == "2b":
        return Diagnosis("delivered_not_consumed", "page")
    if finding.kind == "result" or (finding.kind == "idle" and returns_by_message(line, moments.now)):
        return Diagnosis("done_but_not_forwarded", "page")
    if finding.kind == "nothing":
        ended_well = finding.end is not None and finding.end.outcome == "ok"
        return Diagnosis("empty_result" if ended_well else "child_failed_unreported", "page")
    return _unclear(line, moments, finding)


def _waiting(line: Timeline, moments: Moments, finding: Finding) -> Diagnosis:
    if finding.kind == "person":
        return Diagnosis("waiting_for_person", "page")
    if finding.kind == "nobody" or finding.wait is None:
        return Diagnosis("waiting_for_nobody", "page")
    twice = moments.reached(finding.wait.at + 2 * line.times.blocked_after)
    return Diagnosis("waiting_on_resource", "page" if twice else "warn")


def _unclear(line: Timeline, moments: Moments, finding: Finding) -> Diagnosis:
    """Tell the late apart: telemetry missing, never heard, alive without a result, slow, silent."""
    t, times, facts = moments.now, line.times, line.facts
    paged_when_blocked = "page" if finding.status == BLOCKED else "warn"
    last = line.last_any_progress(t)
    if _telemetry_gap(line, moments, last):
        return Diagnosis(LOST, "warn", "telemetry_gap")
    heard = facts.neighbours.kind_heard_at
    if facts.heard_at is None and (heard is None or heard > t):
        return Diagnosis(LOST, "warn", "uninstrumented")
    if facts.heard_at is None or facts.heard_at > t:
        return Diagnosis("no_completion_event", paged_when_blocked)
    since = last if last is not None else _began(line, t)
    stalled = moments.reached(since + times.idle)
    if (
        finding.kind == "idle"
        or _went_idle(line, t, last)
        or (stalled and _alive(line, moments))
        or _partial(line, t)
    ):
        return Diagnosis("session_exists_no_result_bounce", "page")
    if last is not None and not stalled:
        base = base_deadline(line, t)
        overdue = times.overdue or (round(times.overdue_factor * base[1]) if base is not None else 0)
        late = base is not None and moments.reached(base[0] + overdue)
        return Diagnosis(LOST, "warn" if late else "info", "slow")
    return Diagnosis(LOST, paged_when_blocked, "silent")


def _began(line: Timeline, t: int) -> int:
    started = line.started(t)
    return started if started is not None else line.dispatched_at


def _went_idle(line: Timeline, t: int, last: int | None) -> bool:
    """The child went idle or ended its turn, and did not wake since."""
    return any(
        idle.at <= t and (last is None or last <= idle.at + line.times.skew) for idle in line.facts.idles
    )


def _alive(line: Timeline, moments: Moments) -> bool:
    seen = line.facts.last_activity_at
    if seen is None or seen > moments.now:
        return False
    return not moments.reached(seen + line.times.liveness)


def _partial(line: Timeline, t: int) -> bool:
    return any(end.at <= t and (end.result.partial or end.result.location) for end in line.facts.ends)


def _telemetry_gap(line: Timeline, moments: Moments, last: int | None) -> bool:
    """An unfilled hole in the child side's numbering after the last progress, or a keep-alive that stopped."""
    floor = last if last is not None else 0
    for producer in line.facts.producers:
        if not producer.child_side:
            continue
        if producer.hole_after is not None and floor < producer.hole_after <= moments.now:
            return True
        if producer.keepalive_ns and moments.reached(producer.last_at + 3 * producer.keepalive_ns):
            return True
    return False


def was_alive_and_stalled(line: Timeline, since: int, t: int) -> bool:
    """Tell whether the late run showed life without progress since a moment, even where the life faded later.

    Only the last activity is kept, and it is the one that reaches farthest.
    """
    seen = line.facts.last_activity_at
    if seen is None:
        return False
    last = line.last_any_progress(t)
    from_then = max(since, (last if last is not None else _began(line, t)) + line.times.idle)
    return from_then <= t and seen + line.times.liveness > from_then
