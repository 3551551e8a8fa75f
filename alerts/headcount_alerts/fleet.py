"""The storm guard: more incidents within one window than people can take in are told as one."""

from __future__ import annotations

from collections.abc import Iterator

from headcount_alerts.incident import FLEET, GATE, OBSERVER, Incident
from headcount_alerts.roll import Roll
from headcount_collector.judge.policy import Times


class Fleet:
    """Counts what opens, and mutes what is collected."""

    def __init__(self, roll: Roll, times: Times) -> None:
        self._roll = roll
        self._storm = times.storm
        self._window = times.window
        self._opened: list[tuple[int, str]] = []

    def remember(self, incident: Incident) -> None:
        """Count an incident of an earlier process."""
        if incident.kind not in (FLEET, OBSERVER, GATE):
            self._opened.append((incident.opened_at, incident.id))

    def collect(self, now: int) -> Iterator[Incident]:
        """Mute what opened too fast, and yield the fleet incidents that have to be weighed."""
        roll = self._roll
        for incident in roll.fresh.values():
            self.remember(incident)
        self._opened = [(at, number) for at, number in self._opened if at > now - self._window]
        standing = {i.fleet for i in roll.out.changed.values() if i.fleet}
        if len(self._opened) > self._storm:
            stray = [i for _, n in self._opened if (i := roll.open.get(n)) is not None and not i.fleet]
            if stray:
                standing.add(self._mute(stray, now).id)
        yield from [roll.open[number] for number in standing if number in roll.open]

    def _mute(self, stray: list[Incident], now: int) -> Incident:
        roll = self._roll
        latest = roll.latest.get(("", FLEET))
        if latest is not None and latest.is_open:
            fleet = latest
            roll.joined.setdefault(fleet.id, []).append(f"{len(stray)} more incidents")
        else:
            reason = f"more than {self._storm} incidents opened within one window; they are told as one"
            fleet = roll.create(("", FLEET), FLEET, now, reason, severity=stray[0].severity)
        for incident in stray:
            incident.fleet, incident.deferral = fleet.id, None
            fleet.parts.append(incident.id)
            roll.say(incident, now, "muted", f"collected under fleet incident {fleet.id}")
        return fleet
