"""Incidents that are told as one: those of a group that a route names, and those of a storm that nobody could read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from headcount_alerts.conditions import RANK
from headcount_alerts.incident import FLEET, GROUP, SPEAKING_FOR_ITSELF, Incident
from headcount_alerts.roll import Roll
from headcount_collector.judge.policy import Times


@dataclass(frozen=True, slots=True)
class Grouping:
    """The group that a route puts an incident into; times are nanoseconds."""

    key: str
    says: str
    """What its incidents have in common, as `service=ci`."""
    wait: int
    """How long a new group gathers incidents before its first message."""
    interval: int
    """How long after a message the next one may tell of incidents that joined."""


Groups = Callable[[Incident], "Grouping | None"]


class Fleet:
    """Counts what opens, and mutes what is collected."""

    def __init__(self, roll: Roll, times: Times, groups: Groups | None = None) -> None:
        self._roll = roll
        self._storm = times.storm
        self._window = times.window
        self._groups = groups
        self._opened: dict[str, tuple[int, str]] = {}
        """By incident: when it opened, and what it would be told as: its group, or itself."""

    def remember(self, incident: Incident, told_as: str = "") -> None:
        """Count an incident, also of an earlier process."""
        if incident.kind in SPEAKING_FOR_ITSELF:
            return
        speaker = self._roll.open.get(incident.fleet)
        if not told_as and speaker is not None and speaker.kind == GROUP:
            told_as = speaker.owner
        self._opened[incident.id] = (incident.opened_at, told_as or incident.id)

    def collect(self, now: int) -> Iterator[Incident]:
        """Mute what belongs to a group or opened too fast, and yield the incidents that speak for them."""
        roll = self._roll
        grouped = self._grouped()
        for incident in roll.fresh.values():
            found = grouped.get(incident.id)
            self.remember(incident, found.key if found is not None else "")
        self._opened = {n: seen for n, seen in self._opened.items() if seen[0] > now - self._window}
        new = [n for n, found in grouped.items() if not self._joins(roll.open[n], found, now)]
        if len({told_as for _, told_as in self._opened.values()}) > self._storm:
            stray = [i for n in self._opened if (i := roll.open.get(n)) is not None and not i.fleet]
            if stray:
                self._mute(stray, now)
        for number in new:
            if not roll.open[number].fleet:
                self._open_group(roll.open[number], grouped[number], now)
        standing = {i.fleet for i in roll.out.changed.values() if i.fleet}
        yield from [roll.open[number] for number in standing if number in roll.open]

    def _grouped(self) -> dict[str, Grouping]:
        """Return the groups of incidents that are about to be told for the first time, or anew."""
        if self._groups is None:
            return {}
        found = {}
        for number in self._roll.touched:
            incident = self._roll.open.get(number)
            if incident is None or incident.kind in SPEAKING_FOR_ITSELF or incident.fleet or incident.level:
                continue
            grouping = self._groups(incident)
            if grouping is not None:
                found[number] = grouping
        return found

    def _joins(self, incident: Incident, grouping: Grouping, now: int) -> bool:
        """Put an incident into its group, where that is open."""
        latest = self._roll.latest.get(("", grouping.key))
        if latest is None or not latest.is_open:
            return False
        self._add(incident, latest, now)
        self._roll.joined.setdefault(latest.id, []).append(incident.id)
        if not latest.level or RANK[incident.severity] < RANK["page"]:
            return True
        if latest.acknowledgement is not None:  # it was given for those of then: the ladder starts again
            self._roll.news.setdefault(latest.id, []).append(f"incident {incident.id} joins")
        else:
            latest.again_at = latest.again_at or max(now, latest.told_at + grouping.interval)
        return True

    def _open_group(self, incident: Incident, grouping: Grouping, now: int) -> None:
        if self._joins(incident, grouping, now):
            return
        reason = f"incidents of one group: {grouping.says}"
        group = self._roll.create(("", grouping.key), GROUP, now, reason, severity=incident.severity)
        group.not_before = now + grouping.wait
        self._add(incident, group, now)

    def _mute(self, stray: list[Incident], now: int) -> None:
        roll = self._roll
        latest = roll.latest.get(("", FLEET))
        if latest is not None and latest.is_open:
            fleet = latest
            roll.joined.setdefault(fleet.id, []).append(f"{len(stray)} more incidents")
        else:
            reason = f"more than {self._storm} incidents opened within one window; they are told as one"
            fleet = roll.create(("", FLEET), FLEET, now, reason, severity=stray[0].severity)
        for incident in stray:
            self._add(incident, fleet, now)

    def _add(self, incident: Incident, to: Incident, now: int) -> None:
        incident.fleet, incident.deferral = to.id, None
        to.parts.append(incident.id)
        self._roll.say(incident, now, "muted", f"collected under {to.kind} incident {to.id}")
        self._roll.changed(to)
