"""The facts of one run, put in the order in which the rules ask for them; built once per judgement."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

from headcount_collector.values import value

from .facts import End, Facts, Forward, Idle, Receipt, Result, Wait
from .policy import SECOND, Times
from .progress import own_progress

ACKNOWLEDGED_WITHIN = 5 * SECOND
FAILING = frozenset({"error", "killed", "timeout", "crashed", "cancelled"})


@value(frozen=True, slots=True)
class StandingEnd:
    """An end that counts: from `at` on the child is taken for ended."""

    at: int
    kind: str
    outcome: str
    result: Result
    revived_from: int | None = None
    """When an annulled end was reported that counts again, because nothing moved for `idle` after it."""

    @property
    def reported_at(self) -> int:
        return self.at if self.revived_from is None else self.revived_from

    @property
    def has_result(self) -> bool:
        return has_result(self.outcome, self.result)


def has_result(outcome: str | None, result: Result) -> bool:
    """Tell whether a result exists: its size is not 0, and it ended well or something was captured."""
    if result.size == 0:
        return False
    captured = bool(result.size) or result.location is not None or bool(result.partial)
    return outcome in (None, "ok") or captured


@dataclass(slots=True)
class Timeline:
    """Facts in the judge's terms. `until(t)` questions look only at what happened at or before t."""

    facts: Facts
    times: Times
    progress: tuple[int, ...] = ()
    """The run's own progress."""
    any_progress: tuple[int, ...] = ()
    """Own and descendants' progress."""
    receipts: tuple[Receipt, ...] = ()
    """Completion receipts of the owner, launch acknowledgements taken out."""
    acknowledgements: tuple[int, ...] = ()
    forwards: tuple[Forward, ...] = ()
    ends: tuple[End, ...] = ()
    """Ends of the child; without kills and losses of a session whose work a completion had ended before."""
    gone: tuple[int, ...] = ()
    """Moments at which an ancestor's session was gone while the run was open."""
    deliveries: tuple[int, ...] = ()
    """Forwards to the owner and consumptions."""
    modes: tuple[tuple[int, str], ...] = ()
    breaks: tuple[int, ...] = field(default=())
    """Moments of every rare event: the places where the judgement may turn by evidence."""
    waits_at: dict[int, tuple[Wait, ...]] = field(default_factory=dict)
    """What `waits.waits_until` found for the moments asked."""

    @classmethod
    def of(cls, facts: Facts, times: Times) -> Timeline:
        line = cls(facts, times)
        line.progress = own_progress(facts)
        others = facts.neighbours.progress
        line.any_progress = tuple(sorted({*line.progress, *others})) if others else line.progress
        line.modes = _modes(facts)
        _split_acknowledgements(line)
        if line.forwards or facts.consumptions:
            told = [f.at for f in line.forwards if f.forwarded and line.to_owner(f)]
            line.deliveries = tuple(sorted((*told, *facts.consumptions)))
        if facts.ends:
            line.ends = tuple(
                end for end in facts.ends if end.kind == "child_done" or not line._completed_before(end.at)
            )
        if facts.neighbours.gone:
            line.gone = tuple(
                moment
                for moment in facts.neighbours.gone
                if line.dispatched_at <= moment and not line._completed_before(moment)
            )
        line.breaks = _breaks(facts)
        return line

    @property
    def owner(self) -> str:
        return self.facts.dispatch.owner if self.facts.dispatch else ""

    @property
    def dispatched_at(self) -> int:
        return self.facts.dispatch.at if self.facts.dispatch else self.facts.first_at

    def started(self, t: int) -> int | None:
        """Return the first start seen by t."""
        starts = self.facts.starts
        return starts[0].at if starts and starts[0].at <= t else None

    def mode(self, at: int) -> str:
        """Return the mode that holds at a moment (the latest by event time)."""
        place = bisect_right(self.modes, (at, "\uffff")) - 1
        return self.modes[max(place, 0)][1]

    def to_owner(self, told: Receipt | Forward) -> bool:
        """Tell whether a receipt or forward names the owner, or the one who inherits from an owner that is gone."""
        if told.receiver_session not in (None, self.facts.session):
            return False
        if told.receiver is None or told.receiver == self.owner:
            return True
        owner = self.facts.neighbours.owner
        ended = owner.ended_at is not None and owner.ended_at <= told.at
        return (ended or bool(owner.gone)) and told.receiver in owner.heirs

    def last_progress(self, t: int) -> int | None:
        return last_before(self.progress, t)

    def last_any_progress(self, t: int) -> int | None:
        return last_before(self.any_progress, t)

    def delivered(self, t: int) -> int | None:
        """Return F: the first delivery that no later progress undid."""
        if not self.deliveries:
            return None
        last = self.last_progress(t)
        floor = 0 if last is None else last - self.times.skew
        place = bisect_left(self.deliveries, floor)
        if place < len(self.deliveries) and self.deliveries[place] <= t:
            return self.deliveries[place]
        return None

    def receipt(self, t: int) -> Receipt | None:
        """Return the first completion receipt that stands at t."""
        if not self.receipts:
            return None
        last = self.last_progress(t)
        floor = 0 if last is None else last - self.times.skew
        restart = self._restarted_at(t)
        for receipt in self.receipts:
            if receipt.at > t:
                break
            if receipt.at >= floor and receipt.at > restart and self.to_owner(receipt):
                return receipt
        return None

    def completion(self, t: int) -> StandingEnd | None:
        """Return the end that the owner's harness tells of at t: a completion that stands, or that counts again."""
        receipt = self.receipt(t)
        if receipt is not None:
            return StandingEnd(receipt.at, "receipt", receipt.outcome or "ok", receipt.result)
        last = self.last_progress(t)
        if last is None or t - last < self.times.idle:
            return None
        annulled = self._annulled_receipts(t, last)
        if not annulled:
            return None
        latest = annulled[-1]
        revived_at = last + self.times.idle
        return StandingEnd(revived_at, "receipt", latest.outcome or "ok", latest.result, latest.at)

    def _annulled_receipts(self, t: int, last: int) -> list[Receipt]:
        """Return the completions with a result that progress up to `last` took back."""
        restart = self._restarted_at(t)
        return [
            receipt
            for receipt in self.receipts
            if restart < receipt.at < last - self.times.skew
            and self.to_owner(receipt)
            and has_result(receipt.outcome, receipt.result)
        ]

    def _completed_before(self, moment: int) -> bool:
        """Tell whether a completion with a result had ended the run by then: what is over is killed or lost no more."""
        receipt = self.receipt(moment)
        return receipt is not None and has_result(receipt.outcome, receipt.result)

    def end(self, t: int) -> StandingEnd | None:
        """Return the end that stands at t: the last `child_done`, else a kill, else a session that is gone."""
        if not self.ends and not self.gone:
            return None
        ends = [end for end in self.ends if end.at <= t]
        gone = [moment for moment in self.gone if moment <= t]
        if not ends and not gone:
            return None
        last = self.last_progress(t)
        restart = self._restarted_at(t)
        annulled: StandingEnd | None = None
        for kind in ("child_done", "kill", "child_gone"):
            for end in reversed([end for end in ends if end.kind == kind]):
                standing = self._standing(end, t)
                if standing is None or standing.at <= restart:
                    continue
                if last is None or last <= standing.at + self.times.skew:
                    return standing
                annulled = annulled or standing
            if kind == "child_gone":
                for moment in gone:
                    standing = self._standing(End(moment, "child_gone", "crashed"), t)
                    if (
                        standing is not None
                        and moment > restart
                        and (last is None or last <= moment + self.times.skew)
                    ):
                        return standing
        if annulled is not None and annulled.has_result and last is not None and t - last >= self.times.idle:
            revived_at = last + self.times.idle
            return StandingEnd(revived_at, annulled.kind, annulled.outcome, annulled.result, annulled.at)
        return None

    def moved_after_gone(self, t: int) -> int | None:
        """Return the last progress where it follows the loss of the child's session, which is no end before it is old."""
        gone = [end.at for end in self.ends if end.kind == "child_gone" and end.at <= t]
        gone += [moment for moment in self.gone if moment <= t]
        if not gone:
            return None
        last = self.last_progress(t)
        return last if last is not None and last > min(gone) else None

    def annulled_result(self, t: int) -> bool:
        """Tell whether an end with a result was annulled by later progress, so that it may count again."""
        if not self.ends and not self.receipts:
            return False
        last = self.last_progress(t)
        if last is None:
            return False
        return bool(self._annulled_receipts(t, last)) or any(
            end.at <= t and last > end.at + self.times.skew and has_result(end.outcome, end.result)
            for end in self.ends
            if end.kind != "child_gone"
        )

    def _standing(self, end: End, t: int) -> StandingEnd | None:
        if end.kind == "child_done":
            return StandingEnd(end.at, end.kind, end.outcome, end.result)
        after = self.progress[bisect_right(self.progress, end.at) :]
        after = after[: bisect_right(after, t)]
        if end.kind == "kill":
            last = last_before(after, end.at + self.times.kill_backstop)
            return StandingEnd(last if last is not None else end.at, end.kind, "killed", end.result)
        if after and t - after[-1] < self.times.skew:
            return None
        return StandingEnd(end.at, end.kind, end.outcome or "crashed", end.result)

    def _restarted_at(self, t: int) -> int:
        """Return when the last further attempt began: ends and receipts before it do not count; -1 if none."""
        seen, restarted = 1, -1
        for start in self.facts.starts:
            if start.at > t:
                break
            if start.attempt > seen:
                seen, restarted = start.attempt, start.at
        return restarted


def last_before(moments: tuple[int, ...], t: int) -> int | None:
    """Return the last of sorted `moments` at or before t."""
    place = bisect_right(moments, t)
    return moments[place - 1] if place else None


def first_after(moments: tuple[int, ...], t: int) -> int | None:
    """Return the first of sorted `moments` after t."""
    place = bisect_right(moments, t)
    return moments[place] if place < len(moments) else None


def _modes(facts: Facts) -> tuple[tuple[int, str], ...]:
    first = (facts.dispatch.at, facts.dispatch.mode) if facts.dispatch else (facts.first_at, "background")
    changes = [(launch.at, launch.mode) for launch in facts.launches if launch.mode is not None]
    if not changes:
        return (first,)
    return (first, *sorted(changes))


def _split_acknowledgements(line: Timeline) -> None:
    """Take the launch acknowledgements of a background run, and the forwards that belong to them, out of the receipts."""
    facts = line.facts
    if not facts.receipts:
        line.forwards = facts.forwards
        return
    done = [end.at for end in facts.ends if end.kind == "child_done"]
    first_done = min(done) if done else None
    kept: list[Receipt] = []
    acknowledged: list[int] = []
    for receipt in facts.receipts:
        if _acknowledges(line, receipt, first_done):
            acknowledged.append(receipt.at)
        else:
            kept.append(receipt)
    line.receipts = tuple(kept)
    line.acknowledgements = tuple(acknowledged)
    line.forwards = tuple(
        forward
        for forward in facts.forwards
        if not any(ack <= forward.at <= ack + ACKNOWLEDGED_WITHIN for ack in acknowledged)
        or (first_done is not None and first_done <= forward.at)
    )


def _acknowledges(line: Timeline, receipt: Receipt, first_done: int | None) -> bool:
    if line.mode(receipt.at) == "foreground" or receipt.outcome in FAILING:
        return False
    if first_done is not None and first_done <= receipt.at:
        return False
    if receipt.source == "tool_result":
        return True
    dispatch = line.facts.dispatch
    if dispatch is None or not 0 <= receipt.at - dispatch.at <= ACKNOWLEDGED_WITHIN:
        return False
    return line.last_progress(receipt.at) is None


def _breaks(facts: Facts) -> tuple[int, ...]:
    owner = facts.neighbours.owner
    found = {launch.at for launch in facts.launches}
    found.update([start.at for start in facts.starts])
    for request in facts.requests:
        found.add(request.at)
        if request.ended is not None:
            found.add(request.ended)
    for tool in facts.open_tools:
        found.add(tool.at)
        if tool.ended is not None:
            found.add(tool.ended)
    for wait in facts.waits:
        found.add(wait.at)
        if wait.closed is not None:
            found.add(wait.closed)
    found.update(facts.closed_calls.values())
    for group in (facts.idles, facts.ends, facts.receipts, facts.forwards, facts.dismissals, facts.pokes):
        if group:
            found.update([event.at for event in group])
    found.update(facts.consumptions, facts.neighbours.gone, owner.shown)
    for opened, closed in owner.turns:
        found.add(opened)
        if closed is not None:
            found.add(closed)
    for moment, _ in owner.gone:
        found.add(moment)
    for successor in facts.neighbours.successors:
        found.add(successor.dispatched_at)
        if successor.delivered_at is not None:
            found.add(successor.delivered_at)
    for child in facts.neighbours.children:
        found.add(child.dispatched_at)
        if child.closed_at is not None:
            found.add(child.closed_at)
    for waker in facts.neighbours.wakers.values():
        moments = (waker.delivered_at, waker.void_at, waker.ended_at, waker.abnormal_since, waker.gone_at)
        found.update([moment for moment in moments if moment is not None])
    return tuple(sorted(found))


def went_idle(line: Timeline, t: int) -> Idle | None:
    """Return the idle notice that stands at t: the first since the last progress, and after some progress."""
    last = line.last_progress(t)
    if last is None:
        return None
    for idle in line.facts.idles:
        if idle.at > t:
            return None
        if line.progress[0] <= idle.at and last <= idle.at + line.times.skew:
            return idle
    return None
