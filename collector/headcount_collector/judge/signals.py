"""Signals: early or orthogonal findings, each opening and closing by itself (domain contract, section 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from . import handovers, identities, silences
from .rules import Finding
from .scene import Scene
from .timeline import Timeline
from .verdict import Signal
from .waits import Moments


def signals_of(line: Timeline, moments: Moments, finding: Finding) -> tuple[Signal, ...]:
    """Return the open signals of a run; notes in `moments` when one would open by time alone."""
    scene = Scene(line, moments, finding)
    if line.facts.dispatch is None:
        return tuple(identities.unmatched(scene))
    facts = line.facts
    told = facts.ends or facts.receipts or facts.forwards or facts.consumptions
    return tuple([signal for rule in (SIGNALS if told else _AT_WORK) for signal in rule(scene)])


Rule = Callable[[Scene], Iterable[Signal]]
_BEFORE: tuple[Rule, ...] = (
    silences.not_started,
    silences.zero_progress,
    silences.first_token_timeout,
    silences.idle_stall,
    silences.activity_without_progress,
    silences.limit_overrun,
    silences.waiting,
    identities.duplicate_dispatch,
    identities.redispatch_after_background,
    identities.structurally_mute,
    identities.identity_collision,
    handovers.premature_owner_final,
)
_OF_RESULTS: tuple[Rule, ...] = (
    handovers.premature_end_of_its_own,
    handovers.premature_completion,
    handovers.contradicted_outcome,
    handovers.misdelivered,
    handovers.delivered_not_consumed,
    handovers.duplicate_completion,
    handovers.empty_or_cut_result,
    handovers.output_discarded,
    handovers.unattributed_kill,
)
"""Those of ends and of what became of results: none opens where nothing of the kind was ever told."""
_AFTER: tuple[Rule, ...] = (
    handovers.orphaned,
    silences.model_changed,
    silences.telemetry,
)
SIGNALS: tuple[Rule, ...] = (*_BEFORE, *_OF_RESULTS, *_AFTER)
"""One function a signal, in the order of the contract's table."""
_AT_WORK: tuple[Rule, ...] = (*_BEFORE, *_AFTER)
