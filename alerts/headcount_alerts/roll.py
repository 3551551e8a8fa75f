"""The roll of incidents: which runs belong to which, and to whom they are owed now."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from headcount_alerts.conditions import RANK, UNINSTRUMENTED, Condition, conditions_of
from headcount_alerts.decision import Decision, Outcome
from headcount_alerts.incident import LEVELS, OWNER, Incident, Key, Member, condition_id, incident_id
from headcount_alerts.origins import Origins, dispatches_of, nowhere
from headcount_collector.judge.groups import Member as GroupMember
from headcount_collector.judge.groups import heirs_of_runs
from headcount_collector.judge.verdict import Verdict

Kin = Callable[[Collection[str]], Mapping[str, Collection[GroupMember]]]
"""Every run of some sessions, as its groups need it."""


class Roll:
    """Open incidents by id and by owner, with their members. What a tick finds new is kept until it is weighed."""

    def __init__(self, kin: Kin, origins: Origins = nowhere) -> None:
        self._kin = kin
        self._origins = origins
        self._from: Mapping[Key, Mapping[str, str]] = {}
        self.open: dict[str, Incident] = {}
        self.latest: dict[Key, Incident] = {}
        """The latest incident of each owner, closed ones too."""
        self.out = Outcome()
        self.touched: dict[str, None] = {}
        self.fresh: dict[str, Incident] = {}
        """Opened in this tick."""
        self.news: dict[str, list[str]] = {}
        """Why the ladder of an incident starts again."""
        self.joined: dict[str, list[str]] = {}
        self._of_run: dict[Key, set[str]] = {}

    def add(self, incident: Incident) -> None:
        """Put an incident on the roll, new or restored."""
        self.latest[incident.key] = incident
        if incident.is_open:
            self.open[incident.id] = incident
            for key in incident.members:
                self._of_run.setdefault(key, set()).add(incident.id)

    def create(self, key: Key, kind: str, now: int, reason: str, severity: str = "warn") -> Incident:
        """Open an incident."""
        session, owner = key
        incident = Incident(incident_id(session, owner, now), session, owner, now, kind, severity=severity)
        incident.reason = reason
        self.add(incident)
        self.fresh[incident.id] = incident
        self.say(incident, now, "opened", reason)
        return incident

    def close(self, incident: Incident, now: int, reason: str) -> None:
        """Close an incident and let go of its runs."""
        incident.is_open, incident.closed_at, incident.paused = False, now, False
        incident.deferral = None
        self.open.pop(incident.id, None)
        for key in incident.members:
            self._leave(key, incident.id)
        self.say(incident, now, "closed", reason)

    def say(self, incident: Incident, now: int, what: str, reason: str, runs: Iterable[str] = ()) -> None:
        """Record a decision."""
        self.out.decisions.append(Decision(incident.id, now, what, reason, tuple(runs)))
        self.changed(incident)

    def changed(self, incident: Incident) -> None:
        """Note that an incident has to be stored and weighed."""
        self.out.changed[incident.id] = incident
        self.touched[incident.id] = None

    def take(self, verdicts: Mapping[Key, Verdict], forgotten: Collection[Key], now: int) -> None:
        """Let every verdict find its incidents, and every unmet run its present owner."""
        for key in forgotten:
            for number in tuple(self._of_run.pop(key, ())):
                self.open[number].members.pop(key, None)
                self.changed(self.open[number])
        homes = self._homes(verdicts)
        self._move(homes, now)
        joining = [v for k, v in verdicts.items() if k not in self._of_run and conditions_of(v)]
        self._from = self._origins(dispatches_of(joining)) if joining else {}
        for key, verdict in verdicts.items():
            self._take(key, verdict, homes.get(key, verdict.owner), now)

    def _homes(self, verdicts: Mapping[Key, Verdict]) -> dict[Key, str]:
        """Return who is owed the runs of those sessions in which it may be another than who asked."""
        sessions = {v.session for v in verdicts.values() if v.owner and conditions_of(v)}
        named = {i.session for i in self.open.values() if i.kind == OWNER and i.owner}
        sessions |= named & {session for session, _ in verdicts}
        if not sessions:
            return {}
        return {
            (session, run): owner
            for session, members in self._kin(sessions).items()
            for run, owner in heirs_of_runs(members).items()
        }

    def _take(self, key: Key, verdict: Verdict, owner: str, now: int) -> None:
        conditions = conditions_of(verdict)
        member_of = {n: self.open[n] for n in self._of_run.get(key, ())}
        if not conditions and not member_of:
            return
        mine = tuple(c for c in conditions if c.leaning != UNINSTRUMENTED)
        dark = tuple(c for c in conditions if c.leaning == UNINSTRUMENTED)
        home = next((i for i in member_of.values() if i.kind == OWNER), None)
        kind = next((i for i in member_of.values() if i.kind == UNINSTRUMENTED), None)
        if home is None and any(c.alerts for c in mine):
            home = self._at((verdict.session, owner), OWNER, now, f"{verdict.run}: {_names(mine)}")
        if kind is None and any(c.alerts for c in dark):
            where = ("", f"{UNINSTRUMENTED}:{verdict.agent or ''}")
            kind = self._at(
                where, UNINSTRUMENTED, now, f"no child of type {verdict.agent or '?'} was ever heard"
            )
        for incident, part in ((home, mine), (kind, dark)):
            if incident is not None:
                self._update(incident, key, verdict, part)

    def _at(self, key: Key, kind: str, now: int, reason: str) -> Incident:
        latest = self.latest.get(key)
        return latest if latest is not None and latest.is_open else self.create(key, kind, now, reason)

    def _update(self, incident: Incident, key: Key, verdict: Verdict, part: tuple[Condition, ...]) -> None:
        member = incident.members.get(key)
        if member is None:
            member = incident.members[key] = Member(*key)
            self._of_run.setdefault(key, set()).add(incident.id)
        before = set(member.seen)
        self.news.setdefault(incident.id, []).extend(_news(incident, member, verdict, part))
        member.take(verdict, part)
        if key in self._from:
            member.facts["origin"] = dict(self._from[key])
        if {c.key for c in member.wrong} - before:
            self.joined.setdefault(incident.id, []).append(member.run)
        self.changed(incident)

    # An owner that ended or is gone leaves its obligations, and their incident with its level, to its own owner.
    def _move(self, homes: Mapping[Key, str], now: int) -> None:
        sessions = {session for session, _ in homes}
        for incident in [i for i in self.open.values() if i.kind == OWNER and i.session in sessions]:
            moving: dict[str, list[Key]] = {}
            for key in incident.members:
                heir = homes.get(key)
                if heir is not None and heir != incident.owner:
                    moving.setdefault(heir, []).append(key)
            for heir, keys in moving.items():
                self._hand_over(incident, (incident.session, heir), keys, now)

    def _hand_over(self, incident: Incident, target: Key, keys: list[Key], now: int) -> None:
        staying = [m for key, m in incident.members.items() if key not in keys and not m.met]
        there = self.latest.get(target)
        whom = target[1] or "the root owner"
        runs = [run for _, run in keys]
        if not staying and (there is None or not there.is_open):
            if self.latest.get(incident.key) is incident:
                del self.latest[incident.key]
            incident.owner = target[1]
            self.latest[target] = incident
            self.say(incident, now, "handed_over", f"its owner ended or is gone; now owed to {whom}", runs)
            return
        if there is None or not there.is_open:
            there = self.create(target, OWNER, now, f"handed over by {incident.owner or 'the root owner'}")
            there.severity = incident.severity
        there.heir_of = incident.id
        there.told = max(there.told, 1 if incident.told else 0)
        if LEVELS.index(incident.level) > LEVELS.index(there.level):
            there.level, there.next_step_at = incident.level, incident.next_step_at
            if there.paused and not incident.paused:  # the ladder that comes is under way, and stays so
                there.paused = False
                self.say(there, now, "resumed", f"{', '.join(runs)} is owed here now")
        if RANK[incident.severity] > RANK[there.severity]:
            there.severity = incident.severity
        for key in keys:
            member = incident.members.pop(key)
            self._leave(key, incident.id)
            there.members[key] = member
            self._of_run.setdefault(key, set()).add(there.id)
            there.paged |= {condition_id(member, c) for c in member.wrong}
        self.joined.setdefault(there.id, []).extend(runs)
        self.changed(there)
        self.say(incident, now, "handed_over", f"now owed to {whom}, incident {there.id}", runs)
        if not staying:
            self.close(incident, now, f"what was owed is now owed to {whom}")

    def _leave(self, key: Key, number: str) -> None:
        numbers = self._of_run.get(key)
        if numbers is not None:
            numbers.discard(number)
            if not numbers:
                del self._of_run[key]


def _news(incident: Incident, member: Member, verdict: Verdict, part: tuple[Condition, ...]) -> Iterator[str]:
    """Yield why the ladder has to start again: what is of severity page and was not when it last started."""
    evidence = (verdict.last_traffic_at or 0) > member.traffic_at
    had_class = any(key.startswith("class:") for key in member.seen)
    for condition in part:
        number = condition_id(member, condition)
        if condition.severity != "page" or number in incident.paged:
            continue
        incident.paged.add(number)
        if condition.key in member.seen:
            turned = condition.kind == "signal" and evidence
        else:
            turned = evidence or condition.kind == "signal" or not had_class
        if turned:
            yield f"{member.run}: {condition.name.replace('_', ' ')}"


def _names(conditions: Iterable[Condition]) -> str:
    return ", ".join(c.name.replace("_", " ") for c in conditions if c.alerts)
