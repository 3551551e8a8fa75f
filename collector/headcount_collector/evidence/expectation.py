"""Reads what a replay file expects to hold: of a run, a group, an incident or the observer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from . import fields, wire
from .fields import LineError

STATUSES = frozenset(
    {
        "active",
        "suspect_delivery_failure",
        "done_but_not_forwarded",
        "completed",
        "recovered",
        "blocked",
    }
)
CLASSES = frozenset(
    {
        "waiting_for_person",
        "waiting_on_resource",
        "waiting_for_nobody",
        "owner_gone",
        "delivered_not_consumed",
        "done_but_not_forwarded",
        "empty_result",
        "child_failed_unreported",
        "unclear_slow_or_lost",
        "no_completion_event",
        "session_exists_no_result_bounce",
    }
)
LEANINGS = frozenset({"telemetry_gap", "uninstrumented", "slow", "silent"})
SEVERITIES = frozenset({"info", "warn", "page"})
QUALITIES = frozenset({"full", "partial", "empty", "cut", "unknown"})
OUTCOMES = wire.OUTCOMES | {"dismissed", "rejected", "superseded"}
SIGNALS = frozenset(
    {
        "not_started",
        "zero_progress",
        "first_token_timeout",
        "idle_stall",
        "activity_without_progress",
        "limit_overrun",
        "queue_wait",
        "hidden_wait",
        "duplicate_dispatch",
        "redispatch_after_background",
        "structurally_mute",
        "identity_collision",
        "premature_owner_final",
        "premature_completion",
        "contradicted_outcome",
        "misdelivered",
        "delivered_not_consumed",
        "duplicate_completion",
        "empty_or_cut_result",
        "output_discarded",
        "unattributed_kill",
        "orphaned",
        "model_changed",
        "unmatched",
        "telemetry_gap",
        "clock_skew",
    }
)
STATES = frozenset({"open", "closed", "none"})
LEVELS = frozenset({"notified", "reminded", "escalated", "paused", "deferred", "muted"})
HEALTH = frozenset({"ok", "degraded"})

_Read = Callable[[object, str], object]


def _word(words: frozenset[str]) -> _Read:
    return partial(fields.one_of, words=words)


def _signals(value: object, key: str) -> tuple[str, ...]:
    return tuple(fields.one_of(name, key, SIGNALS) for name in fields.texts(value, key))


_RUN: dict[str, _Read] = {
    "run": fields.text,
    "session": fields.text,
    "status": _word(STATUSES),
    "class": _word(CLASSES),
    "leaning": _word(LEANINGS),
    "severity": _word(SEVERITIES),
    "outcome": _word(OUTCOMES),
    "quality": _word(QUALITIES),
    "signals": _signals,
    "no_signals": _signals,
}
_GROUP: dict[str, _Read] = {
    "session": fields.text,
    "owner": fields.text,
    "remaining": fields.count,
    "undelivered": fields.count,
    "all_terminal": fields.flag,
    "settled": fields.flag,
}
_INCIDENT: dict[str, _Read] = {
    "session": fields.text,
    "owner": fields.text,
    "state": _word(STATES),
    "level": _word(LEVELS),
    "severity": _word(SEVERITIES),
    "runs": fields.texts,
    "unmet": fields.count,
}


def expectation_of(value: object) -> tuple[str, Mapping[str, object]]:
    """Return (kind, body) of an `expect`; kind is run, group, incident or observer. Raises LineError.

    In the body of a run every key that the file gives is there; None says that there must be none ("class": null).
    A missing owner is the root owner, the empty string.
    """
    expected = fields.table(value, "expect")
    if "run" in expected:
        body = _read(expected, _RUN, "in the expectation of a run", keep_none=True)
        return "run", {"run": fields.text(expected["run"], "run"), **body}
    for kind, known, needed in (("group", _GROUP, ("session",)), ("incident", _INCIDENT, ("state",))):
        if kind in expected:
            fields.only(expected, (kind,), f"beside {kind!r}")
            body = _read(fields.table(expected[kind], kind), known, f"in the expectation of a {kind}")
            _require(body, needed, kind)
            return kind, {"owner": "", **body}
    if "observer" in expected:
        fields.only(expected, ("observer",), "beside 'observer'")
        return "observer", {"state": fields.one_of(expected["observer"], "observer", HEALTH)}
    raise LineError("'expect' needs 'run', 'group', 'incident' or 'observer'")


def _read(
    given: Mapping[str, object], known: Mapping[str, _Read], what: str, *, keep_none: bool = False
) -> dict[str, object]:
    fields.only(given, known, what)
    found: dict[str, object] = {}
    for key, value in given.items():
        if value is not None:
            found[key] = known[key](value, key)
        elif keep_none:
            found[key] = None
    return found


def _require(body: Mapping[str, object], needed: tuple[str, ...], kind: str) -> None:
    for key in needed:
        if key not in body:
            raise LineError(f"an expectation of kind {kind} needs the key {key!r}")
