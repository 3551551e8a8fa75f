"""Turns one record of a replay file in its short form into a Record: the keys beside the attributes they stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from . import fields, wire
from .digest import normalised_digest
from .fields import LineError
from .moment import moment_ns, moment_text
from .record import AttributeValue, Record

DESCRIPTION_LIMIT = 200
SERVICE = "replay"
"""Short-form records name no service."""

_Read = Callable[[object, str], AttributeValue]


def _word(words: frozenset[str]) -> _Read:
    return partial(fields.one_of, words=words)


def _milliseconds(value: object, key: str) -> int:
    return fields.seconds_ns(value, key) // 1_000_000


def _moment(value: object, key: str) -> str:
    found = fields.text(value, key)
    try:
        moment_ns(found)
    except ValueError as error:
        raise LineError(f"{key!r}: {error}") from None
    return found


_PLAIN: dict[str, tuple[str, _Read]] = {
    "alias": (wire.ALIAS, fields.texts),
    "attended": (wire.ATTENDED, fields.flag),
    "owner": (wire.OWNER, fields.text),
    "parent": (wire.PARENT_RUN, fields.text),
    "child": (wire.CHILD_SESSION, fields.text),
    "agent": (wire.AGENT, fields.text),
    "mode": (wire.MODE, _word(wire.MODES)),
    "description_digest": (wire.DESCRIPTION_DIGEST, fields.text),
    "prompt_digest": (wire.PROMPT_DIGEST, fields.text),
    "replica": (wire.REPLICA, fields.text),
    "supersedes": (wire.SUPERSEDES, fields.texts),
    "expected_by": (wire.EXPECTED_BY, _moment),
    "max_runtime_s": (wire.MAX_RUNTIME_MS, _milliseconds),
    "channel": (wire.CHANNEL, _word(wire.CHANNELS)),
    "can_send": (wire.CAN_SEND, fields.flag),
    "model": (wire.REQUEST_MODEL, fields.text),
    "resolved_model": (wire.RESPONSE_MODEL, fields.text),
    "state": (wire.LAUNCH_STATE, _word(wire.LAUNCH_STATES)),
    "cap": (wire.LAUNCH_CAP, fields.count),
    "attempt": (wire.ATTEMPT, partial(fields.count, at_least=1)),
    "stream": (wire.STREAM, fields.flag),
    "trigger": (wire.TRIGGER, _word(wire.TRIGGERS)),
    "turn": (wire.TURN, fields.text),
    "tool": (wire.TOOL, fields.text),
    "call": (wire.CALL, fields.text),
    "tokens": (wire.OUTPUT_TOKENS, fields.count),
    "wait": (wire.WAIT_ID, fields.text),
    "waker": (wire.WAIT_WAKER, fields.text),
    "has_summary": (wire.HAS_SUMMARY, fields.flag),
    "turn_ended": (wire.TURN_ENDED, fields.flag),
    "from": (wire.MESSAGE_FROM, _word(wire.SENDERS)),
    "outcome": (wire.OUTCOME, _word(wire.OUTCOMES)),
    "size": (wire.RESULT_SIZE, fields.count),
    "digest": (wire.RESULT_DIGEST, fields.text),
    "form": (wire.RESULT_FORM, _word(wire.FORMS)),
    "location": (wire.RESULT_LOCATION, fields.text),
    "partial": (wire.RESULT_PARTIAL, fields.flag),
    "source": (wire.RESULT_SOURCE, _word(wire.SOURCES)),
    "receiver": (wire.RECEIVER, fields.text),
    "receiver_session": (wire.RECEIVER_SESSION, fields.text),
    "forwarded": (wire.FORWARDED, fields.flag),
    "actor": (wire.KILL_ACTOR, fields.text),
    "rule": (wire.KILL_RULE, fields.text),
    "limit_s": (wire.KILL_LIMIT_MS, _milliseconds),
    "owed": (wire.OWED, fields.texts),
    "handed_to": (wire.HANDED_TO, fields.text),
    "class": (wire.DISMISS_CLASS, fields.text),
    "producer": (wire.PRODUCER, fields.text),
    "seq": (wire.SEQ, partial(fields.count, at_least=1)),
    "keepalive_s": (wire.KEEPALIVE_MS, _milliseconds),
    "export_interval_s": (wire.EXPORT_INTERVAL_MS, _milliseconds),
}
"""Keys that stand for one attribute each."""

_REASONS: dict[str, tuple[str, _Read]] = {
    "wait": (wire.WAIT_REASON, _word(wire.WAIT_REASONS)),
    "owner_gone": (wire.GONE_REASON, fields.text),
    "dismiss": (wire.DISMISS_REASON, fields.text),
}
"""What `reason` stands for, by event."""

_FINALS = {"owner_final": wire.FINAL, "completion_forwarded": wire.FORWARD_FINAL}
"""What `final` stands for, by event."""

_COMPOSED = frozenset(
    {"at", "event", "run", "session", "time", "phase", "dur_s", "description", "prompt", "expected_s"}
    | {"reason", "error", "final"}
)
KEYS = frozenset(_PLAIN) | _COMPOSED

_REQUIRED = {"launch": "state", "child_done": "outcome", "completion_forwarded": "forwarded"} | dict.fromkeys(
    wire.PHASED_EVENTS, "phase"
)

_MATCHERS = frozenset({"session", "owner", "agent", "child", "class"})
"""By one of these a `dismiss` without run says what it concerns."""


@dataclass(frozen=True, slots=True)
class _Line:
    event: str
    time_ns: int
    values: Mapping[str, object]
    capture_content: bool


def record_of(line: Mapping[str, object], t0_ns: int, *, capture_content: bool = False) -> Record:
    """Return the Record of a short-form line; times count from `t0_ns`.

    Prompts and descriptions are digested; a description travels only with `capture_content`. Raises LineError.
    """
    values = {key: value for key, value in line.items() if value is not None}
    fields.only(values, KEYS, "in a record")
    event = fields.one_of(values["event"], "event", wire.EVENTS)
    offset_ns = fields.seconds_ns(values.get("time", values["at"]), "time", negative=True)
    read = _Line(event, t0_ns + offset_ns, values, capture_content)
    _require(read)
    phase = fields.one_of(values["phase"], "phase", wire.PHASES) if "phase" in values else None
    start_ns = read.time_ns - fields.seconds_ns(values["dur_s"], "dur_s") if "dur_s" in values else None
    if start_ns is not None and phase == wire.PENDING:
        raise LineError("'dur_s' is the length of a span that ended; a pending one has none: leave it out")
    return Record(
        event=event,
        at_ns=read.time_ns,
        run=fields.text(values["run"], "run") if "run" in values else None,
        session=fields.text(values["session"], "session") if "session" in values else None,
        attributes=_attributes(read),
        start_ns=start_ns,
        phase=phase,
        service=SERVICE,
    )


def _require(line: _Line) -> None:
    needed = [_REQUIRED[line.event]] if line.event in _REQUIRED else []
    if line.event in wire.OWNER_EVENTS:
        if "run" in line.values:
            raise LineError(f"{line.event!r} concerns an owner: leave 'run' out, name the 'owner'")
        needed.append("session")
    elif line.event == "dismiss" and "run" not in line.values:
        if not _MATCHERS & set(line.values):
            raise LineError(f"'dismiss' needs 'run' or a matcher: {', '.join(sorted(_MATCHERS))}")
    elif line.event == "child_gone" and "run" not in line.values:
        needed.append("child")
    else:
        needed += ["run", "session"]
    for key in needed:
        if key not in line.values:
            raise LineError(f"{line.event!r} needs the key {key!r}")
    if line.values.get("run") == "":
        raise LineError("'run' is empty; a run has an id")


def _attributes(line: _Line) -> dict[str, AttributeValue]:
    found: dict[str, AttributeValue] = {}
    for key, value in line.values.items():
        if key in _PLAIN:
            attribute, read = _PLAIN[key]
            found[attribute] = read(value, key)
    for key in (wire.OWNER, wire.PARENT_RUN):
        if found.get(key) == "":
            del found[key]
    _add_digests(line, found)
    _add_deadline(line, found)
    _add_by_event(line, found)
    return found


def _add_digests(line: _Line, found: dict[str, AttributeValue]) -> None:
    for key, attribute in (("description", wire.DESCRIPTION_DIGEST), ("prompt", wire.PROMPT_DIGEST)):
        if key in line.values:
            found.setdefault(attribute, normalised_digest(fields.text(line.values[key], key)))
    if line.capture_content and "description" in line.values:
        found[wire.DESCRIPTION] = fields.text(line.values["description"], "description")[:DESCRIPTION_LIMIT]


def _add_deadline(line: _Line, found: dict[str, AttributeValue]) -> None:
    if "expected_s" in line.values:
        expected_ns = fields.seconds_ns(line.values["expected_s"], "expected_s")
        found.setdefault(wire.EXPECTED_BY, moment_text(line.time_ns + expected_ns))


def _add_by_event(line: _Line, found: dict[str, AttributeValue]) -> None:
    """Add the keys that stand for another attribute on each event."""
    if "reason" in line.values:
        if line.event not in _REASONS:
            raise LineError(
                f"'reason' means nothing on {line.event!r}, only on {', '.join(sorted(_REASONS))}"
            )
        attribute, read = _REASONS[line.event]
        found[attribute] = read(line.values["reason"], "reason")
    if "final" in line.values:
        if line.event not in _FINALS:
            raise LineError(f"'final' means nothing on {line.event!r}, only on {', '.join(sorted(_FINALS))}")
        found[_FINALS[line.event]] = fields.flag(line.values["final"], "final")
    if "error" in line.values:
        found[wire.ERROR] = error = fields.text(line.values["error"], "error")
        if line.event == "tool_call":
            found[wire.ERROR_DIGEST] = normalised_digest(error)
