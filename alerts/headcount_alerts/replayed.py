"""Incidents of a replayed world: the same ladder as live, without store, routing or channel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headcount_alerts.decision import Decision
from headcount_alerts.errors import UnknownIncident
from headcount_alerts.ladder import Ladder
from headcount_alerts.silence import Matcher, new_silence
from headcount_collector.judge.policy import Policy
from headcount_collector.store.client import Store
from headcount_collector.watch.tick import TickReport
from headcount_collector.watch.verdicts import VerdictStore


class ReplayedAlerts:
    """A listener for `headcount replay`."""

    def __init__(self, store: Store, policy: Policy) -> None:
        self._ladder = Ladder(policy, VerdictStore(store).members_of)
        self.decisions: list[Decision] = []

    @property
    def next_due(self) -> int | None:
        """Return when the ladder wants a tick."""
        return self._ladder.next_due

    def after_tick(self, report: TickReport) -> None:
        """Let the ladder see one tick."""
        outcome = self._ladder.tick(
            report.evaluation.at,
            report.verdicts,
            degraded=report.evaluation.observer != "ok",
            sleeps=report.sleeps,
            forgotten=report.forgotten,
        )
        self.decisions += outcome.decisions

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
                f"an ack at {at_ns}: {owner or 'the root owner'} of {session!r} has no incident"
            )
        self.decisions += self._ladder.acknowledge(incident, str(body.get("by", "")), at_ns).decisions

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


def replay_listener(store: Store, policy: Policy) -> ReplayedAlerts:
    """Return the listener of a replay; named by the entry point `replay`."""
    return ReplayedAlerts(store, policy)
