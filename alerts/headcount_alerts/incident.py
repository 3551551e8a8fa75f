"""An incident: who is owed what, what is wrong with it, and how far the ladder has climbed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from headcount_alerts.conditions import BY_WORD_OF_A_PERSON, RANK, Condition
from headcount_collector.judge.verdict import Verdict

Key = tuple[str, str]
"""(session, owner) of an incident, or (session, run) of a run."""

OWNER = "owner"
FLEET = "fleet"
GROUP = "group"
OBSERVER = "observer"
GATE = "gate"

COLLECTED = (FLEET, GROUP)
"""Kinds of incidents that speak for others."""
SPEAKING_FOR_ITSELF = (*COLLECTED, OBSERVER, GATE)
"""Kinds that nothing collects."""

LEVELS = ("", "notified", "reminded", "escalated")
"""In the order in which the ladder climbs."""


@dataclass(slots=True)
class Member:
    """One run of an incident, as of its last verdict; moments are nanoseconds since the epoch."""

    session: str
    run: str
    conditions: tuple[Condition, ...] = ()
    settled: bool = False
    """Whether the obligation is met: delivered, and consumed where that is judged, or void."""
    traffic_at: int = 0
    facts: dict[str, Any] = field(default_factory=dict)
    """What the text of a message says about the run."""
    seen: dict[str, str] = field(default_factory=dict)
    """Every condition it ever had in this incident, with its highest severity."""
    confirmed: set[str] = field(default_factory=set)
    """Conditions that a person has put an end to."""

    @property
    def key(self) -> Key:
        """Return (session, run)."""
        return self.session, self.run

    @property
    def wrong(self) -> tuple[Condition, ...]:
        """Return the conditions that alert now."""
        return tuple(c for c in self.conditions if c.alerts and c.key not in self.confirmed)

    @property
    def met(self) -> bool:
        """Whether nothing of it keeps the incident open."""
        return self.settled and not self.wrong

    def take(self, verdict: Verdict, conditions: tuple[Condition, ...]) -> None:
        """Note what is now known of the run."""
        self.conditions = conditions
        # Records without a dispatch owe nothing to anybody: what is wrong with them is all there is to meet.
        self.settled = not verdict.open or not verdict.dispatched
        self.traffic_at = verdict.last_traffic_at or 0
        origin = self.facts.get("origin")
        self.facts = facts_of(verdict) | ({} if origin is None else {"origin": origin})
        self.remember()

    def remember(self) -> None:
        """Add the present conditions to those that it ever had."""
        for condition in self.conditions:
            if RANK[condition.severity] >= RANK[self.seen.get(condition.key)]:
                self.seen[condition.key] = condition.severity

    def confirm(self) -> None:
        """Let a person's word close what nothing else closes."""
        self.confirmed |= {c.key for c in self.conditions if c.name in BY_WORD_OF_A_PERSON}


@dataclass(slots=True)
class Acknowledgement:
    """Somebody is on it: the ladder rests for what it was given for, until it ends."""

    by: str
    at: int
    until: int
    covers: dict[str, str] = field(default_factory=dict)
    """Conditions (by run) with the severity that they had."""


@dataclass(slots=True)
class Deferral:
    """A step that is due and held back by a gate."""

    gate: str
    reason: str
    since: int
    until: int = 0
    """When it ends, where it declares that."""


@dataclass(slots=True)
class Incident:
    """One incident and its ladder. `id` is stable over restarts."""

    id: str
    session: str
    owner: str
    opened_at: int
    kind: str = "owner"
    """owner, uninstrumented, group, fleet, observer or gate."""
    is_open: bool = True
    closed_at: int = 0
    severity: str = "warn"
    """The highest it has reached: a fall is no news, and so its return is none."""
    level: str = ""
    next_step_at: int = 0
    """When the ladder moves; 0 where it has nowhere to go."""
    paused: bool = False
    heir_of: str = ""
    """The id of the incident whose runs it took over: who was told of that one hears of this one."""
    fleet: str = ""
    """The id of the fleet or group incident that speaks for it."""
    not_before: int = 0
    """When a group's first message may leave."""
    again_at: int = 0
    """When a group's next message tells of incidents that joined it; 0 where none did."""
    told: int = 0
    """How many messages were decided."""
    told_at: int = 0
    last_step: str = ""
    members: dict[Key, Member] = field(default_factory=dict)
    paged: set[str] = field(default_factory=set)
    """Conditions (by run) that the ladder was started for."""
    acknowledgement: Acknowledgement | None = None
    deferral: Deferral | None = None
    reason: str = ""
    """For incidents without runs: what is wrong."""
    parts: list[str] = field(default_factory=list)
    """For a fleet or a group: the ids of those that were collected."""

    @property
    def key(self) -> Key:
        """Return (session, owner)."""
        return self.session, self.owner

    @property
    def shown_level(self) -> str:
        """Return the level as people and expectations name it."""
        if not self.is_open:
            return self.level
        if self.fleet:
            return "muted"
        if self.paused:
            return "paused"
        return "deferred" if self.deferral is not None else self.level

    @property
    def unmet(self) -> int:
        """Return how many of its runs are still owed, or still have something wrong."""
        return sum(not member.met for member in self.members.values())

    def wrong(self) -> Iterator[tuple[Member, Condition]]:
        """Yield what alerts now."""
        for member in self.members.values():
            for condition in member.wrong:
                yield member, condition

    @property
    def present_severity(self) -> str:
        """Return the highest severity of what is wrong now; the worst so far where nothing is, or runs are not its matter."""
        return max((c.severity for _, c in self.wrong()), key=RANK.__getitem__, default=self.severity)


def incident_id(session: str, owner: str, opened_at: int) -> str:
    """Return the id of the incident that opened for an owner at a moment."""
    return hashlib.sha256(f"{session}\0{owner}\0{opened_at}".encode()).hexdigest()[:12]


def condition_id(member: Member, condition: Condition) -> str:
    """Return what tells a condition apart within an incident."""
    return f"{member.session}\0{member.run}\0{condition.key}"


def facts_of(verdict: Verdict) -> dict[str, Any]:
    """Return what messages say about a run; moments are nanoseconds."""
    return {
        "agent": verdict.agent,
        "service": verdict.service,
        "owner": verdict.owner,
        "mode": verdict.mode,
        "attended": verdict.attended,
        "description": verdict.description,
        "children": list(verdict.child_sessions),
        "names": list(verdict.names),
        "status": verdict.status,
        "class": verdict.failure_class,
        "leaning": verdict.leaning,
        "severity": verdict.severity,
        "outcome": verdict.outcome,
        "dispatched_at": verdict.receipts.dispatch_at,
        "deadline": verdict.deadline,
        "abnormal_since": verdict.abnormal_since,
        "ended_at": verdict.ended_at,
        "delivered_at": verdict.delivered_at,
        "last_progress_at": verdict.last_progress_at,
        "last_activity_at": verdict.last_activity_at,
        "in_flight": list(verdict.in_flight),
        "result_location": verdict.result_location,
        "evidence": list(verdict.evidence),
        "would_change": list(verdict.would_change),
        "owner_gone": verdict.owner_gone,
    }
