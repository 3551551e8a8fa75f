"""The ladder: verdicts of one tick in, decisions and due messages out. It knows no clock, no store and no channel."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from headcount_alerts.conditions import RANK
from headcount_alerts.decision import Outcome, Step
from headcount_alerts.errors import UnknownIncident
from headcount_alerts.fleet import Fleet, Groups
from headcount_alerts.gates import Gate, Gates
from headcount_alerts.incident import (
    COLLECTED,
    GATE,
    OBSERVER,
    Acknowledgement,
    Deferral,
    Incident,
    Key,
    condition_id,
)
from headcount_alerts.origins import Origins, nowhere
from headcount_alerts.roll import Kin, Roll
from headcount_alerts.silence import Silence
from headcount_collector.judge.policy import Policy, Times
from headcount_collector.judge.verdict import Verdict
from headcount_collector.judge.words import span

Window = Callable[[Incident], "int | None"]
"""The step of an incident's ladder in nanoseconds, where it is not the policy's."""

_BROKEN_AFTER = 3
"""So many windows of deferring in a row, and the gate is an incident itself."""


class Ladder:
    """Moves every incident that news or time moves. One tick after the other, from one thread at a time."""

    def __init__(
        self,
        policy: Policy,
        kin: Kin,
        gates: Mapping[str, Gate] | None = None,
        window: Window | None = None,
        origins: Origins = nowhere,
        groups: Groups | None = None,
    ) -> None:
        self._policy = policy
        self._window = window
        self._roll = Roll(kin, origins)
        self._gates = Gates(self._roll.open, gates or {})
        self._fleet = Fleet(self._roll, policy.default, groups)
        self._slept_until = 0
        self._now = 0

    @property
    def silences(self) -> Mapping[str, Silence]:
        """Silences that have not ended, by id."""
        return self._gates.silences

    @property
    def incidents(self) -> Collection[Incident]:
        """The latest incident of each owner, open or closed."""
        return self._roll.latest.values()

    @property
    def open(self) -> Mapping[str, Incident]:
        """Open incidents by id."""
        return self._roll.open

    def find(self, session: str, owner: str) -> Incident | None:
        """Return the open incident of an owner, or else its last one."""
        return self._roll.latest.get((session, owner))

    @property
    def next_due(self) -> int | None:
        """Return the earliest moment at which time alone moves an incident."""
        return min((due for i in self._roll.open.values() for due in self._due(i)), default=None)

    def tick(
        self,
        now: int,
        verdicts: Mapping[Key, Verdict],
        *,
        degraded: bool = False,
        sleeps: Sequence[tuple[int, int]] = (),
        forgotten: Collection[Key] = (),
    ) -> Outcome:
        """Take in what was judged and return what it came to. `sleeps` of the host move the windows with them."""
        self._rebase(sleeps)
        self._gates.degraded, self._now = degraded, now
        roll = self._roll
        roll.take(verdicts, forgotten, now)
        for number in list(roll.touched):
            if number in roll.open:
                self._weigh(roll.open[number], now)
        self._observe(now)
        for fleet in self._fleet.collect(now):
            self._weigh(fleet, now)
        for incident in [i for i in roll.open.values() if i.id in roll.touched or self._is_due(i, now)]:
            self._climb(incident, now)
            self._tell_of_more(incident, now)
        self._release_gates(now)
        return self._done()

    def acknowledge(self, incident: Incident, by: str, now: int) -> Outcome:
        """Let the ladder rest for what is wrong now. Raises UnknownIncident where it is closed."""
        if not incident.is_open:
            raise UnknownIncident(f"incident {incident.id} is closed; there is nothing to acknowledge")
        until = now + self._times(incident).ack_for
        for one in (incident, *(self._roll.open[n] for n in incident.parts if n in self._roll.open)):
            one.acknowledgement = Acknowledgement(by, now, until, dict(self._to_cover(one)))
            for member in one.members.values():
                member.confirm()
            self._roll.say(one, now, "acknowledged", f"{by or 'somebody'} is on it")
            self._weigh(one, now)
            if one.is_open:
                self._show(one, now, f"{by or 'somebody'} is on it")
        return self._done()

    def silence(self, silence: Silence) -> None:
        """Add a silence, or put a changed one in place of the former."""
        self._gates.silences[silence.id] = silence

    def restore(self, incidents: Iterable[Incident], silences: Iterable[Silence]) -> None:
        """Take up where the last process stopped."""
        ordered = sorted(incidents, key=lambda i: i.opened_at)
        for incident in ordered:
            self._roll.add(incident)
        for incident in ordered:
            self._fleet.remember(incident)
        for silence in silences:
            self.silence(silence)

    def forget(self, before: int) -> None:
        """Let go of incidents that closed, and silences that ended, before a moment."""
        for key, incident in list(self._roll.latest.items()):
            if not incident.is_open and incident.closed_at < before:
                del self._roll.latest[key]
        for number, silence in list(self.silences.items()):
            if silence.until < before:
                del self._gates.silences[number]

    def _done(self) -> Outcome:
        roll = self._roll
        out, roll.out = roll.out, Outcome()
        roll.touched, roll.fresh, roll.news, roll.joined = {}, {}, {}, {}
        return out

    def _times(self, incident: Incident) -> Times:
        attended = any(member.facts.get("attended") for member in incident.members.values())
        times = self._policy.times(incident.session, None, "", attended)
        window = self._window(incident) if self._window is not None else None
        return times if window is None else replace(times, window=window)

    def _rebase(self, sleeps: Sequence[tuple[int, int]]) -> None:
        """A window is a time in which somebody could have acted: while the host slept none passed."""
        for begin, end in sleeps:
            if begin < self._slept_until or not end:
                continue
            self._slept_until = end
            for incident in self._roll.open.values():
                if incident.next_step_at > begin:
                    incident.next_step_at += end - begin
                    self._roll.changed(incident)

    def _weigh(self, incident: Incident, now: int) -> None:
        """Decide whether an incident rises, rests, goes on or is over."""
        roll = self._roll
        fresh = incident.id in roll.fresh
        news = roll.news.pop(incident.id, [])
        joined = list(dict.fromkeys(roll.joined.pop(incident.id, [])))
        severity = self._severity(incident)
        if severity and RANK[severity] > RANK[incident.severity]:
            incident.severity = severity
            news.insert(0, f"its severity rises to {severity}")
        if self._over(incident):
            self._close(incident, now)
            return
        if not severity and not incident.paused:
            incident.paused = True
            reason = "nothing is wrong now, and the result is still owed"
            roll.say(incident, now, "paused", reason)
            self._show(incident, now, reason)
        elif severity and incident.paused:
            incident.paused = False
            if incident.next_step_at:
                times = self._times(incident)
                wait = times.re_escalate if incident.level == "escalated" else times.window
                incident.next_step_at = now + wait
            roll.say(incident, now, "resumed", "something is wrong again")
            self._show(incident, now, "something is wrong again")
        if joined:
            roll.say(incident, now, "joined", _counted(joined), joined)
        if news and not fresh:
            incident.level, incident.next_step_at = "", 0
            roll.say(incident, now, "raised", "; ".join(news[:5]))
        elif joined and not fresh:
            roll.say(incident, now, "updated", _counted(joined))
            self._show(incident, now, _counted(joined))

    def _severity(self, incident: Incident) -> str:
        """Return the highest severity of what is wrong now; empty if nothing is."""
        if incident.kind in (OBSERVER, GATE):
            return incident.severity
        if incident.kind in COLLECTED:
            found = [self._severity(i) for n in incident.parts if (i := self._roll.open.get(n)) is not None]
            return max(found, key=RANK.__getitem__, default="")
        return max((c.severity for _, c in incident.wrong()), key=RANK.__getitem__, default="")

    def _over(self, incident: Incident) -> bool:
        if incident.kind in COLLECTED:
            return not any(number in self._roll.open for number in incident.parts)
        if incident.kind in (OBSERVER, GATE):
            return False
        return all(member.met for member in incident.members.values())

    def _close(self, incident: Incident, now: int) -> None:
        runs = len(incident.members)
        reason = incident.reason if not runs else f"every obligation is met ({runs} run{'s' * (runs != 1)})"
        if incident.kind in COLLECTED:
            reason = f"all {len(incident.parts)} incidents that it spoke for are closed"
        self._roll.close(incident, now, reason)
        if incident.told:  # also of one that was told before a fleet incident began to speak for it
            self._step(incident, now, "closed", reason)

    def _show(self, incident: Incident, now: int, reason: str) -> None:
        """Let those who were told see the change where a message can be edited; elsewhere nothing is sent."""
        if incident.told and not incident.fleet:
            self._step(incident, now, "updated", reason)

    def _observe(self, now: int) -> None:
        """Keep one incident for as long as the observer does not trust what it does not see."""
        latest = self._roll.latest.get(("", OBSERVER))
        standing = latest if latest is not None and latest.is_open else None
        if self._gates.degraded and standing is None:
            reason = "the observer was away or hears nobody; silence does not count until it has warmed up"
            self._roll.create(("", OBSERVER), OBSERVER, now, reason)
        elif not self._gates.degraded and standing is not None:
            standing.reason = "the observer sees again"
            self._close(standing, now)

    def _climb(self, incident: Incident, now: int) -> None:
        """Take the step that is due, unless somebody is on it or a gate holds it back."""
        if not incident.is_open or incident.fleet:
            return
        if incident.paused:
            self._drop_if_never_told(incident, now)
            return
        what = self._step_due(incident, now)
        if what is None or self._is_covered(incident, now):
            return
        held = self._gates.held(incident, now)
        if held is not None:
            self._defer(incident, held, now)
            return
        incident.deferral = None
        incident.again_at = 0
        times = self._times(incident)
        again = incident.level == "escalated"
        incident.level = what
        page = RANK[incident.severity] >= RANK["page"]
        incident.next_step_at = (
            now + (times.re_escalate if what == "escalated" else times.window) if page else 0
        )
        reason = self._why(incident, again)
        self._roll.say(incident, now, what, reason)
        self._step(incident, now, what, reason)

    def _tell_of_more(self, incident: Incident, now: int) -> None:
        """Tell of incidents that joined a group; its ladder goes on as it stands."""
        if not incident.again_at or now < incident.again_at or not incident.is_open or incident.paused:
            return
        if self._is_covered(incident, now) or self._gates.held(incident, now) is not None:
            return
        incident.again_at = 0
        reason = f"{len(incident.parts)} incidents by now"
        self._roll.say(incident, now, "notified", reason)
        self._step(incident, now, "notified", reason)

    def _step_due(self, incident: Incident, now: int) -> str | None:
        if not incident.level:
            return "notified" if now >= incident.not_before else None
        if self._severity(incident) != "page" or not incident.next_step_at or now < incident.next_step_at:
            return None
        if self._is_covered(incident, now, "page"):
            return None
        return "reminded" if incident.level == "notified" else "escalated"

    def _why(self, incident: Incident, again: bool) -> str:
        if incident.reason and not incident.members:
            return incident.reason
        wrong = [f"{m.run}: {c.name.replace('_', ' ')}" for m, c in incident.wrong()]
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        return ("still unacknowledged; " if again else "") + "; ".join(wrong[:3]) + more

    def _is_covered(self, incident: Incident, now: int, least: str = "info") -> bool:
        """Tell whether an acknowledgement stands for everything that is wrong, of a severity of `least` and above.

        The ladder goes on when it ends. Only a page runs it: a warning that joins is told, and brings back no page that
        somebody is on.
        """
        ack = incident.acknowledgement
        if ack is None or now >= ack.until:
            return False
        return all(
            RANK[severity] <= RANK[ack.covers.get(number)]
            for number, severity in self._to_cover(incident)
            if RANK[severity] >= RANK[least]
        )

    def _to_cover(self, incident: Incident) -> Iterator[tuple[str, str]]:
        """Yield what an acknowledgement is given for: what is wrong, or the parts of a fleet incident."""
        for member, condition in incident.wrong():
            yield condition_id(member, condition), condition.severity
        for number in incident.parts:
            part = self._roll.open.get(number)
            if part is not None:
                yield number, part.severity

    def _defer(self, incident: Incident, held: Deferral, now: int) -> None:
        former = incident.deferral
        if former is not None and former.gate == held.gate:
            held.since = former.since
        if former is None or former.reason != held.reason:
            self._roll.say(incident, now, "deferred", held.reason)
        incident.deferral = held
        window = self._times(incident).window
        if not held.until and now - held.since >= _BROKEN_AFTER * window:
            key = ("", f"{GATE}:{held.gate}")
            latest = self._roll.latest.get(key)
            if latest is None or not latest.is_open:
                reason = (
                    f"messages have been held back for {span(now - held.since)} ({held.reason}); "
                    "a gate that never opens looks like health"
                )
                self._climb(self._roll.create(key, GATE, now, reason, severity="page"), now)

    def _release_gates(self, now: int) -> None:
        """A gate that keeps nothing back any more is no incident."""
        for incident in [i for i in self._roll.open.values() if i.kind == GATE]:
            name = incident.owner.removeprefix(f"{GATE}:")
            if not any(i.deferral is not None and i.deferral.gate == name for i in self._roll.open.values()):
                incident.reason = "nothing is held back by it any more"
                self._close(incident, now)

    def _drop_if_never_told(self, incident: Incident, now: int) -> None:
        """What was kept back until it was over is told to nobody."""
        held = incident.deferral
        if incident.told or held is None:
            return
        if not self._gates.still_shut(incident, held, now):
            self._roll.close(incident, now, "nothing was wrong any more when its message could have left")

    def _step(self, incident: Incident, now: int, what: str, reason: str) -> None:
        incident.told += 1
        incident.told_at = now
        incident.last_step = what
        self._roll.out.steps.append(Step(incident.id, now, what, incident.told, reason))

    def _due(self, incident: Incident) -> Iterator[int]:
        if incident.deferral is not None:
            window = self._times(incident).window
            broken = incident.deferral.since + _BROKEN_AFTER * window
            yield incident.deferral.until or (broken if broken > self._now else self._now + window)
            return
        if not incident.level and not incident.paused and not incident.fleet:
            yield incident.not_before
        if incident.again_at and not incident.paused:
            yield incident.again_at
        if incident.next_step_at and not (incident.paused or incident.fleet):
            ack = incident.acknowledgement
            rests = ack.until if ack is not None and self._is_covered(incident, self._now, "page") else 0
            yield max(incident.next_step_at, rests)

    def _is_due(self, incident: Incident, now: int) -> bool:
        return incident.deferral is not None or any(due <= now for due in self._due(incident))


def _counted(runs: Sequence[str]) -> str:
    more = f" and {len(runs) - 5} more" if len(runs) > 5 else ""
    return ", ".join(runs[:5]) + more
