"""The rules of a run's status in their order; the first that matches decides (domain contract, section 5)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from headcount_collector.values import value

from .facts import Result, Wait
from .progress import is_nudged
from .timeline import StandingEnd, Timeline, first_after, went_idle
from .verdict import ACTIVE, BLOCKED, COMPLETED, SUSPECT, UNFORWARDED
from .waits import PERSON, RESOURCE, Moments, deadline, waits_until


@value(frozen=True, slots=True)
class Finding:
    """What the rules say at one moment. `kind` refines the rule for class and wording."""

    rule: str
    status: str
    since: int
    kind: str = ""
    end: StandingEnd | None = None
    delivered_at: int | None = None
    void_at: int | None = None
    outcome: str | None = None
    wait: Wait | None = None
    idle_at: int | None = None
    received_at: int | None = None
    deadline: int | None = None
    owner_gone_at: int | None = None

    @property
    def abnormal(self) -> bool:
        return self.status in (SUSPECT, UNFORWARDED, BLOCKED)


def decide(
    line: Timeline,
    moments: Moments,
    became_abnormal: int | None,
    dismissed_at: int | None = None,
    *,
    with_waits: bool = True,
) -> Finding:
    """Return the finding of the first rule that matches at `moments.now`, reading only what happened by then.

    `became_abnormal` is when the run first was abnormal before now (rule 1, *superseded*, asks for it),
    `dismissed_at` when it was dismissed together with others of its class;
    `with_waits=False` leaves rule 6 out, as the judgement of a waker must.
    """
    t = moments.now
    end = line.end(t)
    void = _void(line, t, end, became_abnormal, dismissed_at)
    if void is not None:
        return void
    gone = owner_gone(line, t)
    delivered = line.delivered(t)
    if delivered is not None:
        return _unconsumed(line, moments, delivered, gone, end) or Finding(
            "2", COMPLETED, delivered, delivered_at=delivered, end=end
        )
    due = deadline(line, waits := waits_until(line, t), t)
    if line.facts.dispatch is None:
        return Finding("9", ACTIVE, line.facts.first_at, "undispatched", end=end)
    in_grace = False
    if end is None and (moved := line.moved_after_gone(t)) is not None:
        moments.reached(moved + line.times.skew)
    end = end or _rejected(line, t)
    completion = line.completion(t) if end is None else None
    if end is not None:
        over = _travels_until(line, t, end)
        if moments.reached(over):
            return _ended(line, moments, end, over, gone, due)
        in_grace = True
    if line.annulled_result(t) and (last := line.last_progress(t)) is not None:
        moments.reached(last + line.times.idle)
    if gone is not None and moments.reached(gone + line.times.delivery_grace):
        return Finding(
            "5", BLOCKED, gone + line.times.delivery_grace, end=end, deadline=due, owner_gone_at=gone
        )
    if with_waits:
        waiting = _waiting(line, moments, waits)
        if waiting is not None:
            return Finding("6", BLOCKED, waiting[0], waiting[1], wait=waiting[2], end=end, deadline=due)
    if not in_grace:
        if completion is not None:
            over = _travels_until(line, t, completion)
            if moments.reached(over):
                return _ended(line, moments, completion, over, gone, due, rule="7")
            in_grace = True
        else:
            late = _idle(line, moments, waits, due) or _overdue(line, moments, due)
            if late is not None:
                return late
    kind = "in_grace" if in_grace else ""
    since = end.at if end is not None and in_grace else line.dispatched_at
    return Finding(
        "9",
        ACTIVE,
        since,
        kind,
        end=end,
        deadline=due,
        received_at=completion.reported_at if completion is not None else None,
    )


def _void(
    line: Timeline, t: int, end: StandingEnd | None, became_abnormal: int | None, dismissed_at: int | None
) -> Finding | None:
    facts = line.facts
    found: list[tuple[int, str, str | None]] = []
    plain = [dismissal.at for dismissal in facts.dismissals if dismissal.failure_class is None]
    if dismissed_at is not None or (plain and plain[0] <= t):
        found.append((min(m for m in (dismissed_at, *plain[:1]) if m is not None), "dismissed", "dismissed"))
    rejected = _rejected(line, t)
    if rejected is not None:
        told = (
            [r.at for r in facts.receipts]
            + [f.at for f in facts.forwards if f.forwarded]
            + list(facts.consumptions)
        )
        if told and min(told) <= t:
            found.append((max(rejected.at, min(told)), "rejected", "rejected"))
    dispatch = facts.dispatch
    if dispatch is not None and dispatch.channel == "none" and end is not None:
        found.append((end.at, "no_return", end.outcome))
    callers = {"owner", "user", line.owner} - {""}
    for kill in facts.ends:
        if kill.kind != "kill" or kill.at > t or kill.actor not in callers:
            continue
        if (delivered := line.delivered(kill.at)) is None or delivered == kill.at:
            found.append((kill.at, "cancelled", "cancelled"))
            break
    for successor in facts.neighbours.successors:
        if successor.explicit and successor.dispatched_at <= t:
            found.append((successor.dispatched_at, "superseded", "superseded"))
        elif became_abnormal is None or successor.delivered_at is None:
            continue
        elif successor.dispatched_at >= became_abnormal and successor.delivered_at <= t:
            found.append((successor.delivered_at, "superseded", "superseded"))
    if not found:
        return None
    at, kind, outcome = min(found, key=lambda item: item[0])
    return Finding(
        "1", COMPLETED, at, kind, end=end, void_at=at, outcome=outcome, delivered_at=line.delivered(t)
    )


def _rejected(line: Timeline, t: int) -> StandingEnd | None:
    """Return the launch's rejection as an end without a result, where the latest word of the launch is that."""
    state: StandingEnd | None = None
    for launch in line.facts.launches:
        if launch.at <= t and launch.state is not None:
            rejected = launch.state == "rejected"
            state = StandingEnd(launch.at, "rejected", "error", Result(size=0)) if rejected else None
    return state


def owner_gone(line: Timeline, t: int) -> int | None:
    """Return since when nobody is left to deliver to, or None."""
    owner = line.facts.neighbours.owner
    for moment, _ in owner.gone:
        if line.dispatched_at <= moment <= t and not any(moment < shown <= t for shown in owner.shown):
            return moment
    return None


def _unconsumed(
    line: Timeline, moments: Moments, delivered: int, gone: int | None, end: StandingEnd | None
) -> Finding | None:
    """Rule 2b: delivered, and an owner whose consumption can be seen has not taken it up."""
    owner, t = line.facts.neighbours.owner, moments.now
    if not awaits_consumption(line, t):
        return None
    if gone is not None and gone >= delivered:
        return Finding("2b", UNFORWARDED, gone, end=end, delivered_at=delivered, owner_gone_at=gone)
    idle_from = delivered + line.times.consume
    if not moments.reached(idle_from):
        return None
    for opened, closed in owner.turns:
        if opened <= idle_from and (closed is None or closed > idle_from):
            if closed is None or closed > t:
                return None
            idle_from = closed
    return Finding("2b", UNFORWARDED, idle_from, end=end, delivered_at=delivered)


def awaits_consumption(line: Timeline, t: int) -> bool:
    """Tell whether consumption can be seen of this owner, and none of this run was."""
    since = line.facts.neighbours.owner.consumes_since
    return since is not None and since <= t and not any(moment <= t for moment in line.facts.consumptions)


def _travels_until(line: Timeline, t: int, end: StandingEnd) -> int:
    """Return until when the result of an end may still travel; one that counts again has had its time."""
    return end.at if end.revived_from is not None else grace_over(line, t, end.at, killed=end.kind == "kill")


def grace_over(line: Timeline, t: int, ended_at: int, *, killed: bool = False) -> int:
    """Return until when a result may still travel: the grace after the end, or after the owner turn that holds it."""
    times, owner = line.times, line.facts.neighbours.owner
    base = ended_at
    for opened, closed in owner.turns:
        if opened <= ended_at and (closed is None or closed > ended_at):
            release = closed if closed is not None and closed <= t else ended_at + times.blocked_after
            base = max(base, min(release, ended_at + times.blocked_after))
    return base + times.delivery_grace + owner.export_interval_ns + (times.kill_backstop if killed else 0)


def _ended(
    line: Timeline,
    moments: Moments,
    end: StandingEnd,
    over: int,
    gone: int | None,
    due: int | None,
    *,
    rule: str | None = None,
) -> Finding:
    """Rules 3 and 4, and rule 7 for a completion that the harness holds."""
    t = moments.now
    received_at = end.reported_at if end.kind == "receipt" else None
    if not end.has_result:
        return Finding(
            rule or "4",
            BLOCKED,
            over,
            "nothing",
            end=end,
            deadline=due,
            received_at=received_at,
            owner_gone_at=gone,
        )
    blocked = over + line.times.blocked_after
    if gone is not None:
        blocked = min(blocked, max(over, gone))
    since = end.reported_at - line.times.skew
    for forward in line.forwards:
        if not forward.forwarded and forward.final and since <= forward.at <= t:
            blocked = min(blocked, max(over, forward.at))
    for receipt in line.facts.receipts:
        pulled = receipt.source in ("polled", "transcript") and receipt.result.size == 0
        if pulled and since <= receipt.at <= t:
            blocked = min(blocked, max(over, receipt.at))
    status = BLOCKED if moments.reached(blocked) else UNFORWARDED
    return Finding(
        rule or "3",
        status,
        over,
        "result",
        end=end,
        deadline=due,
        received_at=received_at,
        owner_gone_at=gone,
    )


def _waiting(line: Timeline, moments: Moments, waits: Sequence[Wait]) -> tuple[int, str, Wait] | None:
    """Rule 6: (since, kind, wait) of the open wait that explains nothing any more, a person first."""
    found: list[tuple[int, int, str, Wait]] = []
    times = line.times
    dispatch = line.facts.dispatch
    person = times.human_wait_attended if dispatch is not None and dispatch.attended else times.human_wait
    for wait in waits:
        if wait.closed is not None:
            continue
        if wait.reason in PERSON and moments.reached(wait.at + person):
            found.append((0, wait.at + person, "person", wait))
        if wait.reason in RESOURCE and moments.reached(wait.at + times.blocked_after):
            found.append((1, wait.at + times.blocked_after, "resource", wait))
        waker = line.facts.neighbours.wakers.get(wait.waker) if wait.waker is not None else None
        if waker is not None and waker.gone_at is not None:
            moments.reached(max(wait.at, waker.gone_at) + times.delivery_grace)
        lost = _nobody_since(line, wait, moments.now)
        if lost is not None and moments.reached(lost + times.delivery_grace):
            found.append((2, lost + times.delivery_grace, "nobody", wait))
    if not found:
        return None
    _, since, kind, wait = min(found, key=lambda item: item[:2])
    return since, kind, wait


def _nobody_since(line: Timeline, wait: Wait, t: int) -> int | None:
    """Return since when nobody can end this wait: its waker is void, abnormal, gone, or (a child) unknown."""
    waker = line.facts.neighbours.wakers.get(wait.waker) if wait.waker is not None else None
    if waker is not None:
        lost = [m for m in (waker.void_at, waker.abnormal_since, waker.gone_at) if m is not None and m <= t]
        return max(wait.at, min(lost)) if lost else None
    if wait.reason != "child" or at_work(line, t):
        return None
    return max(wait.at, _last_at_work(line, t))


def at_work(line: Timeline, t: int) -> bool:
    """Tell whether a child or a tool of this run is at work at t."""
    if any(tool.open(t) for tool in line.facts.open_tools):
        return True
    return any(
        child.dispatched_at <= t and (child.closed_at is None or child.closed_at > t)
        for child in line.facts.neighbours.children
    )


def _last_at_work(line: Timeline, t: int) -> int:
    """Return when the last tool or child of the run ended; 0 if none did."""
    ended = [turn.tools[place - 1] for turn in line.facts.turns if (place := bisect_right(turn.tools, t))]
    ended += [failure.at for failure in line.facts.failures if failure.at <= t]
    ended += [
        c.closed_at for c in line.facts.neighbours.children if c.closed_at is not None and c.closed_at <= t
    ]
    return max(ended, default=0)


def _next_tool_ended(line: Timeline, t: int) -> int | None:
    """Return when the next tool after t ended: a run that waited for nobody was at work then."""
    ended = [moment for turn in line.facts.turns if (moment := first_after(turn.tools, t)) is not None]
    ended += [failure.at for failure in line.facts.failures if failure.at > t]
    return min(ended, default=None)


def _idle(line: Timeline, moments: Moments, waits: Sequence[Wait], due: int | None) -> Finding | None:
    """Rule 7 for a child that ended its turn after some work and is owed for: nothing received, nothing pending."""
    t = moments.now
    idle = went_idle(line, t)
    if idle is None or any(wait.closed is None for wait in waits) or at_work(line, t):
        return None
    out = [r for r in line.facts.requests if r.at <= t and (r.ended is None or r.ended > t)]
    if any(not is_nudged(request, line.facts.turns) for request in out):
        return None
    over = grace_over(line, t, idle.at)
    if not moments.reached(over):
        return None
    status = UNFORWARDED if returns_by_message(line, t) else SUSPECT
    if moments.reached(over + line.times.blocked_after):
        status = BLOCKED
    return Finding("7", status, over, "idle", idle_at=idle.at, deadline=due)


def returns_by_message(line: Timeline, t: int) -> bool:
    """Tell whether the result comes back only if the child sends it."""
    dispatch = line.facts.dispatch
    if dispatch is not None and dispatch.channel is not None:
        return dispatch.channel == "message"
    return line.mode(t) == "teammate"


def _overdue(line: Timeline, moments: Moments, due: int | None) -> Finding | None:
    """Rule 8: the deadline is reached and nothing was received."""
    if due is None or not moments.reached(due):
        return None
    blocked = due + line.times.blocked_after
    last = line.last_any_progress(moments.now)
    if last is not None:
        blocked = max(blocked, last + line.times.idle)
    status = BLOCKED if moments.reached(blocked) else SUSPECT
    return Finding("8", status, due, "late", deadline=due)


def next_pulse(line: Timeline, finding: Finding, slow: bool, t: int) -> int | None:
    """Return the next progress after t at which the finding may turn; None where progress only postpones."""
    if finding.end is not None or finding.delivered_at is not None or finding.received_at is not None:
        return first_after(line.progress, t)
    if finding.rule == "6" and finding.kind == "nobody":
        return _next_tool_ended(line, t)
    if finding.rule in ("7", "8") and finding.abnormal and not slow:
        return first_after(line.any_progress, t)
    return None
