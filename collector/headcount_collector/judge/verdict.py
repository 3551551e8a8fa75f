"""What the judgement says of one run: the only place from which page, API, CLI, replay and alerts take their answer."""

from __future__ import annotations

from dataclasses import field

from headcount_collector.values import value

from .accounts import Account

ACTIVE = "active"
SUSPECT = "suspect_delivery_failure"
UNFORWARDED = "done_but_not_forwarded"
COMPLETED = "completed"
RECOVERED = "recovered"
BLOCKED = "blocked"
STATUSES = (ACTIVE, SUSPECT, UNFORWARDED, COMPLETED, RECOVERED, BLOCKED)

_OF_NEIGHBOURS = frozenset({"premature_owner_final"})
"""Signals of a closed run that the news of others may close."""

SEVERITIES = ("info", "warn", "page")
"""In rising order."""


@value(frozen=True, slots=True)
class Receipts:
    """The dispatch and completion receipts, by the runbook's names; moments in nanoseconds since the epoch."""

    run_id: str
    child_session_key: str | None = None
    dispatch_at: int | None = None
    expected_by: int | None = None
    completion_received_at: int | None = None
    forwarded_to_main: bool | None = None
    result_source: str | None = None


@value(frozen=True, slots=True)
class Signal:
    """An early or orthogonal finding, open since `since` (domain contract, section 7)."""

    name: str
    since: int
    severity: str
    evidence: str


@value(frozen=True, slots=True)
class Verdict:
    """The judgement of one run at one moment. Moments are nanoseconds since the epoch."""

    session: str
    run: str
    at: int
    status: str
    rule: str
    since: int
    """When the rule that decides first held."""
    failure_class: str | None = None
    leaning: str | None = None
    severity: str | None = None
    outcome: str | None = None
    quality: str | None = None
    owner: str = ""
    parent: str | None = None
    agent: str | None = None
    service: str = ""
    mode: str = "background"
    attended: bool = False
    """Whether a person sits at the session."""
    description: str | None = None
    names: tuple[str, ...] = ()
    child_sessions: tuple[str, ...] = ()
    dispatched: bool = True
    deadline: int | None = None
    abnormal_since: int | None = None
    first_abnormal_at: int | None = None
    ended_at: int | None = None
    delivered_at: int | None = None
    void_at: int | None = None
    receipts: Receipts = field(default_factory=lambda: Receipts(""))
    last_traffic_at: int | None = None
    last_activity_at: int | None = None
    last_progress_at: int | None = None
    model: str | None = None
    """The model that answered last, else the one that was asked for."""
    tool_calls: int = 0
    output_tokens: int = 0
    result_location: str | None = None
    in_flight: tuple[str, ...] = ()
    owner_gone: bool = False
    counts: bool = False
    """Whether the run counts in its owner's group (dispatched and not foreground)."""
    remaining: bool = False
    undelivered: bool = False
    evidence: tuple[str, ...] = ()
    would_change: tuple[str, ...] = ()
    signals: tuple[Signal, ...] = ()
    next_due: int | None = None
    """When the verdict may change without new evidence; None: never."""
    account: Account = field(default_factory=Account)
    unconsumed: bool = False
    """Delivered to an owner whose consumption can be seen, and not consumed yet."""
    held: bool = False

    @property
    def abnormal(self) -> bool:
        """Whether one of rules 2b to 8 decides."""
        return self.status in (SUSPECT, UNFORWARDED, BLOCKED)

    @property
    def open(self) -> bool:
        """Whether the obligation is neither met nor void."""
        return self.status not in (COMPLETED, RECOVERED)

    @property
    def watched(self) -> bool:
        """Whether anything but new evidence of its own may still turn it."""
        if self.open or self.unconsumed or self.next_due is not None:
            return True
        return any(s.name in _OF_NEIGHBOURS for s in self.signals)
