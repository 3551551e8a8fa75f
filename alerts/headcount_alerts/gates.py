"""What keeps a message of an incident back: silences, an observer that is blind, and gates from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from headcount_alerts.incident import GATE, Deferral, Incident
from headcount_alerts.silence import Silence, labels_of
from headcount_collector.judge.words import clock

Gate = Callable[[Incident, int], "tuple[str, int] | None"]
"""Why a message of an incident may not leave now, and until when (0: nobody knows); None where it may."""


class Gates:
    """Asked in this order: silences, the observer, then the named gates."""

    def __init__(self, incidents: Mapping[str, Incident], named: Mapping[str, Gate]) -> None:
        self._open = incidents
        self._named = dict(named)
        self.silences: dict[str, Silence] = {}
        self.degraded = False
        """Whether the observer does not trust what it does not see."""

    def held(self, incident: Incident, now: int) -> Deferral | None:
        """Return the gate that keeps a message back, or None."""
        until = self._silenced_until(incident, now)
        if until:
            return Deferral("silence", f"silenced until {clock(until)}", now, until)
        wrong = list(incident.wrong())
        if self.degraded and wrong and all(condition.absence for _, condition in wrong):
            return Deferral("observer", "the observer does not trust silence now", now)
        for name, gate in self._named.items():
            shut = gate(incident, now) if incident.kind != GATE else None
            if shut is not None:
                return Deferral(name, shut[0], now, shut[1])
        return None

    def still_shut(self, incident: Incident, held: Deferral, now: int) -> bool:
        """Tell whether what held an incident back, of which nothing is wrong any more, still would."""
        if now < held.until or (held.gate == "observer" and self.degraded):
            return True
        gate = self._named.get(held.gate)
        return gate is not None and gate(incident, now) is not None

    def _silenced_until(self, incident: Incident, now: int) -> int:
        """Return until when everything that is wrong is silenced; 0 where it is not."""
        active = [silence for silence in self.silences.values() if silence.active(now)]
        if not active:
            return 0
        until = 0
        for labels in self._labelled(incident):
            ends = [silence.until for silence in active if silence.covers(labels)]
            if not ends:
                return 0
            until = min(until, max(ends)) if until else max(ends)
        return until

    def _labelled(self, incident: Incident) -> Iterator[Mapping[str, Iterable[str]]]:
        """Yield the labels of everything that is wrong; a fleet incident is what its parts are."""
        parts = [self._open[number] for number in incident.parts if number in self._open]
        wrong = False
        for one in parts or [incident]:
            for member, condition in one.wrong():
                wrong = True
                yield labels_of(one, member, condition)
        if not wrong:
            yield labels_of(incident, None, None)
