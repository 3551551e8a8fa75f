"""Verdicts to feed a ladder with."""

from __future__ import annotations

from typing import Any

from headcount_alerts.ladder import Ladder
from headcount_collector.judge.groups import Member
from headcount_collector.judge.policy import Policy
from headcount_collector.judge.verdict import Signal, Verdict

S = 1_000_000_000
T0 = 1_796_040_000 * S
WINDOW = 600


def verdict(run: str = "r1", at_s: float = 0, **values: Any) -> Verdict:
    """Return a verdict of session s1: done and not forwarded, unless told otherwise."""
    at = T0 + round(at_s * S)
    given: dict[str, Any] = {
        "session": "s1",
        "run": run,
        "at": at,
        "status": "done_but_not_forwarded",
        "rule": "3",
        "since": at,
        "failure_class": "done_but_not_forwarded",
        "severity": "page",
        "agent": "worker",
        "service": "svc",
        "abnormal_since": at,
        "last_traffic_at": at,
        "undelivered": True,
        "counts": True,
    }
    return Verdict(**{**given, **values})


def fine(run: str = "r1", at_s: float = 0, **values: Any) -> Verdict:
    """Return a verdict of a run at work."""
    healthy = {
        "status": "active",
        "failure_class": None,
        "severity": None,
        "abnormal_since": None,
        "rule": "9",
    }
    return verdict(run, at_s, **{**healthy, "undelivered": False, "remaining": True, **values})


def delivered(run: str = "r1", at_s: float = 0, **values: Any) -> Verdict:
    """Return a verdict of a run whose result came."""
    return fine(run, at_s, **{"status": "recovered", "remaining": False, "rule": "2", **values})


def signal(name: str, severity: str = "warn", since_s: float = 0) -> Signal:
    return Signal(name, T0 + round(since_s * S), severity, "")


class World:
    """A ladder with the verdicts of a small world."""

    def __init__(self, policy: Policy | None = None, **options: Any) -> None:
        self.verdicts: dict[tuple[str, str], Verdict] = {}
        self.ladder = Ladder(policy or Policy(), self.kin, **options)
        self.log: list[tuple[float, str, str]] = []
        self.steps: list[tuple[float, str]] = []

    def kin(self, sessions: Any) -> dict[str, list[Member]]:
        return {
            session: [
                Member(
                    v.run,
                    v.owner,
                    v.child_sessions,
                    v.counts,
                    v.remaining,
                    v.undelivered,
                    v.open,
                    v.owner_gone,
                )
                for v in self.verdicts.values()
                if v.session == session
            ]
            for session in sessions
        }

    def at(self, second: float, *verdicts: Verdict, **options: Any) -> list[str]:
        """Tick; return what was decided, in order."""
        found = {(v.session, v.run): v for v in verdicts}
        self.verdicts |= found
        outcome = self.ladder.tick(T0 + round(second * S), found, **options)
        return self.note(outcome)

    def note(self, outcome: Any) -> list[str]:
        self.log += [((d.at - T0) / S, d.what, d.reason) for d in outcome.decisions]
        self.steps += [((s.at - T0) / S, s.what) for s in outcome.steps if s.what != "updated"]
        return [d.what for d in outcome.decisions]

    def level(self, owner: str = "", session: str = "s1") -> str | None:
        incident = self.ladder.find(session, owner)
        if incident is None:
            return None
        return incident.shown_level if incident.is_open else "closed"

    def run_out(self, until_s: float) -> None:
        """Tick whenever the ladder is due, until a moment."""
        while (due := self.ladder.next_due) is not None and due <= T0 + until_s * S:
            before = due
            self.at((due - T0) / S)
            assert self.ladder.next_due is None or self.ladder.next_due > before, "a tick moved nothing"
