"""What of a verdict concerns an incident: its failure class and its signals, each as one condition."""

from __future__ import annotations

from dataclasses import dataclass

from headcount_collector.judge.verdict import Verdict
from headcount_collector.watch.observer import ABSENCE_RULES

RANK = {None: -1, "": -1, "info": 0, "warn": 1, "page": 2}
"""Severities in rising order; none is below all."""

BY_WORD_OF_A_PERSON = frozenset(
    {"unattributed_kill", "model_changed", "contradicted_outcome", "identity_collision"}
)
"""Signals that nothing, or only an operator, closes: an acknowledgement is that word."""

_FROM_ABSENCE = frozenset(
    "not_started zero_progress first_token_timeout idle_stall limit_overrun queue_wait hidden_wait"
    " delivered_not_consumed orphaned output_discarded unmatched".split()
)

UNINSTRUMENTED = "uninstrumented"


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that is wrong with one run: `kind` is "class" or "signal", `name` which one."""

    kind: str
    name: str
    severity: str
    since: int
    absence: bool = False
    """Whether it rests on what was not seen."""
    leaning: str | None = None
    evidence: str = ""

    @property
    def key(self) -> str:
        """Return what tells it apart from the other conditions of its run."""
        return f"{self.kind}:{self.name}"

    @property
    def alerts(self) -> bool:
        """Whether it is more than a remark."""
        return RANK[self.severity] >= RANK["warn"]


def conditions_of(verdict: Verdict) -> tuple[Condition, ...]:
    """Return every condition of a verdict, remarks included; the class first."""
    found = []
    if verdict.abnormal and verdict.failure_class is not None:
        found.append(
            Condition(
                "class",
                verdict.failure_class,
                verdict.severity or "info",
                verdict.abnormal_since or verdict.since,
                verdict.rule in ABSENCE_RULES,
                verdict.leaning,
                verdict.evidence[0] if verdict.evidence else "",
            )
        )
    for signal in verdict.signals:
        absence = signal.name in _FROM_ABSENCE
        found.append(
            Condition("signal", signal.name, signal.severity, signal.since, absence, None, signal.evidence)
        )
    return tuple(found)
