"""What a tick comes to: decisions about incidents, each with its reason, and the messages that are due."""

from __future__ import annotations

from dataclasses import dataclass, field

from headcount_alerts.incident import Incident


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision, only ever appended to the log.

    `what` is opened, joined, raised, notified, reminded, escalated, updated, paused, resumed, deferred, muted,
    handed_over, acknowledged, send_failed, gave_up or closed; `at` is the tick in nanoseconds.
    """

    incident: str
    at: int
    what: str
    reason: str
    runs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """A message that is due: `what` is notified, reminded, escalated, updated or closed.

    `number` counts the messages of its incident, so that one step is one message whatever happens to the process.
    """

    incident: str
    at: int
    what: str
    number: int
    reason: str = ""


@dataclass(slots=True)
class Outcome:
    """Everything that one tick, or one word of a person, came to."""

    decisions: list[Decision] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    changed: dict[str, Incident] = field(default_factory=dict)
    """Incidents to be stored, by id."""
