"""From a step of the ladder to the messages for channels: whom the routes name, and who was told before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headcount_alerts.channels.build import Line
from headcount_alerts.decision import Step
from headcount_alerts.incident import Incident
from headcount_alerts.message import document_of
from headcount_alerts.postbook import Entry
from headcount_alerts.routing import Routing

_LADDER = ("notified", "reminded", "escalated")


class Addressing:
    """Knows which channels each incident was told on."""

    def __init__(
        self, routing: Routing, receivers: Mapping[str, list[Line]], url: str | None, grafana: str = ""
    ) -> None:
        self._routing = routing
        self._receivers = receivers
        self._lines = {line.name: line for lines in receivers.values() for line in lines}
        self._url = url
        self._grafana = grafana
        self.told: dict[str, set[str]] = {}
        """By incident, the channels that a message was decided for."""

    def entries(self, incident: Incident, step: Step, parts: Iterable[Incident] = ()) -> list[Entry]:
        """Return the messages of one step, one for each channel at most."""
        document = self.document(incident, step, parts)
        told = self.told.setdefault(incident.id, set())
        told |= self.told.get(incident.heir_of, set())
        steps: dict[str, str] = {}
        if step.what in _LADDER:
            steps = dict.fromkeys(self.channels(incident, step.what), step.what)
        for channel in told:
            line = self._lines.get(channel)
            if line is not None and (step.what == "closed" or line.channel.updates):
                steps.setdefault(channel, "closed" if step.what == "closed" else "updated")
        told |= set(steps)
        if not incident.is_open:
            self.told.pop(incident.id, None)
        return [
            entry_of(incident, step.number, what, channel, document | {"step": what}, step.at)
            for channel, what in steps.items()
        ]

    def document(self, incident: Incident, step: Step, parts: Iterable[Incident] = ()) -> dict[str, Any]:
        """Return the message of a step, with its links."""
        return document_of(incident, step, url=self._url, grafana=self._grafana, parts=tuple(parts))

    def channels(self, incident: Incident, what: str) -> list[str]:
        """Return the names of the channels that are told at a step of the ladder."""
        names = [path.receiver_of(what) for path in self._routing.paths(incident)]
        return list(dict.fromkeys(line.name for name in names for line in self._receivers[name]))


def entry_of(
    incident: Incident, number: int, what: str, channel: str, document: dict[str, object], at: int
) -> Entry:
    """Return a message for one channel; the same step for the same channel has the same id."""
    return Entry(
        f"{incident.id}-{number}-{channel}",
        incident.id,
        number,
        what,
        channel,
        at,
        {**document, "number": number},
    )
