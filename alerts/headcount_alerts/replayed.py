"""Incidents of a replayed world: the same ladder as live, without store, routing or channel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headcount_alerts.decision import Decision, Outcome, Step
from headcount_alerts.errors import UnknownIncident
from headcount_alerts.incident import Incident
from headcount_alerts.ladder import Ladder
from headcount_alerts.silence import Matcher, new_silence
from headcount_alerts.state import document_of
from headcount_alerts.views import incident_view
from headcount_collector.judge.policy import Policy
from headcount_collector.store.client import Store
from headcount_collector.watch.documents import rfc3339
from headcount_collector.watch.tick import TickReport
from headcount_collector.watch.verdicts import VerdictStore


class ReplayedAlerts:
    """A listener for `headcount replay`."""

    def __init__(self, store: Store, policy: Policy) -> None:
        self._ladder = Ladder(policy, VerdictStore(store).members_of)
        self._decisions: list[Decision] = []
        self._steps: list[Step] = []
        self._incidents: dict[str, Incident] = {}

    @property
    def next_due(self) -> int | None:
        """Return when the ladder wants a tick."""
        return self._ladder.next_due

    def after_tick(self, report: TickReport) -> None:
        """Let the ladder see one tick."""
        self._note(
            self._ladder.tick(
                report.evaluation.at,
                report.verdicts,
                degraded=report.evaluation.observer != "ok",
                sleeps=report.sleeps,
                forgotten=report.forgotten,
            )
        )

    def _note(self, outcome: Outcome) -> None:
        self._decisions += outcome.decisions
        self._steps += outcome.steps
        self._incidents |= outcome.changed

    def control(self, kind: str, body: Mapping[str, object], at_ns: int) -> None:
        """Take an acknowledgement or a silence. Raises UnknownIncident where nothing is to be acknowledged."""
        if kind == "silence":
            length = body["length_ns"]
            assert isinstance(length, int)
            matchers = [Matcher(k, "=", str(value)) for k, value in body.items() if k != "length_ns"]
            self._ladder.silence(new_silence(matchers, at_ns, at_ns + length))
            return
        session, owner = str(body.get("session", "")), str(body.get("owner", ""))
        incident = self._ladder.find(session, owner)
        if incident is None:
            raise UnknownIncident(
                f"there is nothing to acknowledge: {owner or 'the root owner'} of session {session!r} has no incident by now"
            )
        self._note(self._ladder.acknowledge(incident, str(body.get("by", "")), at_ns))

    def incident(self, session: str, owner: str) -> Mapping[str, Any] | None:
        """Return an owner's latest incident as expectations name it."""
        incident = self._ladder.find(session, owner)
        if incident is None:
            return None
        return {
            "state": "open" if incident.is_open else "closed",
            "level": incident.shown_level,
            "severity": incident.severity,
            "runs": tuple(sorted({run for _, run in incident.members})),
            "unmet": incident.unmet,
        }

    def incidents(self) -> list[dict[str, Any]]:
        """Return every incident in the order of opening, with its decisions and the steps that were due."""
        decisions: dict[str, list[dict[str, Any]]] = {number: [] for number in self._incidents}
        steps: dict[str, list[dict[str, Any]]] = {number: [] for number in self._incidents}
        for d in self._decisions:
            said = {"at": rfc3339(d.at), "decision": d.what, "reason": d.reason, "runs": list(d.runs)}
            decisions[d.incident].append(said)
        for s in self._steps:
            step = {"at": rfc3339(s.at), "step": s.what, "number": s.number, "reason": s.reason}
            steps[s.incident].append(step)
        return [
            {**incident_view(document_of(i)), "decisions": decisions[i.id], "steps": steps[i.id]}
            for i in sorted(self._incidents.values(), key=lambda i: (i.opened_at, i.id))
        ]


def replay_listener(store: Store, policy: Policy) -> ReplayedAlerts:
    """Return the listener of a replay; named by the entry point `replay`."""
    return ReplayedAlerts(store, policy)
