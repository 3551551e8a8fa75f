"""Reads replay files: a header, evidence in order of arrival, controls of the replayed world, and expectations."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from headcount_collector.errors import HeadcountError

from . import fields
from .expectation import CLASSES, expectation_of
from .fields import LineError
from .moment import moment_ns
from .record import Record
from .short_form import record_of

HARNESSES = frozenset({"claude-code", "qwen-code"})
_EARLIEST_NS = moment_ns("1971-01-01T00:00:00Z")
_LATEST_NS = moment_ns("2200-01-01T00:00:00Z")
"""Nanoseconds since the epoch leave their 64 bits in 2262; a replay's times reach thirty years beyond t0."""


class ReplayFileError(HeadcountError):
    """A replay file that cannot be read; the text names file and line, what is wrong, and the way out."""

    def __init__(self, file: str, line: int, reason: str) -> None:
        super().__init__(f"{file}:{line}: {reason}")
        self.file = file
        self.line = line
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Header:
    """The first line. `tick_ns` is a length; `t0_ns` and `until_ns` are moments, nanoseconds since the epoch."""

    title: str
    t0_ns: int
    tick_ns: int
    until_ns: int
    policy: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OtlpBody:
    """An ExportTraceServiceRequest in OTLP/JSON, as it stands in the file."""

    body: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class HookBody:
    """A harness's hook call, as it was posted."""

    harness: str
    body: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Arrival:
    """One piece of evidence that reaches the collector at `at_ns`."""

    line: int
    at_ns: int
    evidence: Record | OtlpBody | HookBody


@dataclass(frozen=True, slots=True)
class Control:
    """What happens to the replayed world at `at_ns`.

    `kind` and `body`: `collector` {"state": down or up}, `sleep` {"length_ns"}, `ack` {"session", "owner", "by"},
    `silence` {"length_ns", matchers session, owner, agent, run, child, class}.
    """

    line: int
    at_ns: int
    kind: str
    body: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Expectation:
    """What must hold at the first tick at or after `at_ns`; kind and body as `expectation_of` gives them."""

    line: int
    at_ns: int
    kind: str
    body: Mapping[str, object]


Item = Arrival | Control | Expectation


@dataclass(frozen=True, slots=True)
class ReplayFile:
    """A replay file as read: `items` in the order of the file, so of arrival."""

    name: str
    header: Header
    items: tuple[Item, ...]


def read_replay_file(path: Path, *, capture_content: bool = False) -> ReplayFile:
    """Return a replay file. Raises ReplayFileError for the first thing wrong in it, also where it is no UTF-8."""
    data = path.read_bytes()
    try:
        content = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ReplayFileError(str(path), line, "is not UTF-8; store the file as UTF-8") from None
    return parse_replay(content.split("\n"), str(path), capture_content=capture_content)


def parse_replay(lines: Iterable[str], name: str, *, capture_content: bool = False) -> ReplayFile:
    """Return a replay file from its lines; `name` stands for it in errors. Empty lines are passed over."""
    header: Header | None = None
    items: list[Item] = []
    last_ns, number = 0, 0
    down_since: int | None = None
    for number, content in enumerate(lines, start=1):
        if not content.strip():
            continue
        try:
            values = _json(content)
            if header is None:
                header = _header(values)
                last_ns = header.t0_ns
                continue
            item = _item(values, number, header.t0_ns, capture_content)
            if item.at_ns < last_ns:
                raise LineError(
                    f"'at' is {values['at']!r}, earlier than the line before; sort the lines by 'at', "
                    "and give what happened earlier a 'time'"
                )
            if isinstance(item, Control) and item.kind == "collector":
                down_since = _down_since(item, down_since)
        except LineError as error:
            raise ReplayFileError(name, number, str(error)) from None
        last_ns = item.at_ns
        items.append(item)
    if header is None:
        raise ReplayFileError(name, number, 'is empty; the first line must be the header, {"replay": 1, …}')
    return ReplayFile(name, header, tuple(items))


def _down_since(control: Control, down_since: int | None) -> int | None:
    """Return the line from which on the collector is down, None while it is up."""
    if control.body["state"] == "up":
        if down_since is None:
            raise LineError("the collector is up already; a line with 'down' comes before one with 'up'")
        return None
    if down_since is not None:
        raise LineError(f"the collector is down already, since line {down_since}")
    return control.line


def _json(content: str) -> Mapping[str, object]:
    try:
        values = json.loads(content, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise LineError(f"is not JSON ({error}); each line is one JSON object") from None
    return fields.table(values, "line")


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Refuse a key that stands twice: one of its values would be lost."""
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise LineError(f"the key {twice!r} stands twice; keep one")
    return found


def _header(values: Mapping[str, object]) -> Header:
    if "replay" not in values:
        raise LineError(
            'the first line must be the header, {"replay": 1, "t0": …, "tick_s": …, "until_s": …}'
        )
    fields.only(values, ("replay", "t0", "title", "policy", "tick_s", "until_s"), "in the header")
    for key in ("t0", "tick_s", "until_s"):
        if values.get(key) is None:
            raise LineError(f"the header needs the key {key!r}")
    if values["replay"] != 1 or isinstance(values["replay"], bool):
        raise LineError(f"'replay' is {values['replay']!r}; this program reads version 1")
    try:
        t0_ns = moment_ns(fields.text(values["t0"], "t0"))
    except ValueError as error:
        raise LineError(f"'t0': {error}") from None
    if not _EARLIEST_NS <= t0_ns < _LATEST_NS:
        raise LineError(f"'t0' is {values['t0']!r}; take a moment from 1971 to 2199")
    tick_ns = fields.seconds_ns(values["tick_s"], "tick_s")
    if tick_ns <= 0:
        raise LineError(f"'tick_s' is {values['tick_s']!r}; a tick has a length")
    policy = values.get("policy")
    return Header(
        title=fields.text(values.get("title") or "", "title"),
        t0_ns=t0_ns,
        tick_ns=tick_ns,
        until_ns=t0_ns + fields.seconds_ns(values["until_s"], "until_s"),
        policy=fields.table(policy, "policy") if policy is not None else {},
    )


def _item(values: Mapping[str, object], line: int, t0_ns: int, capture_content: bool) -> Item:
    if values.get("at") is None:
        raise LineError("the key 'at' is missing: seconds after t0 at which this reaches the collector")
    at_ns = t0_ns + fields.seconds_ns(values["at"], "at")
    kinds = [kind for kind in _KINDS if kind in values and not (kind != "event" and "event" in values)]
    if not kinds:
        raise LineError(f"says nothing that is known; a line has one of {', '.join(_KINDS)}")
    if len(kinds) > 1:
        raise LineError(f"has both {kinds[0]!r} and {kinds[1]!r}; make it two lines")
    kind = kinds[0]
    if kind == "event":
        return Arrival(line, at_ns, record_of(values, t0_ns, capture_content=capture_content))
    if kind == "expect":
        fields.only(values, ("at", "expect"), "beside 'expect'")
        return Expectation(line, at_ns, *expectation_of(values["expect"]))
    if kind == "otlp":
        fields.only(values, ("at", "otlp"), "beside 'otlp'")
        return Arrival(line, at_ns, OtlpBody(fields.table(values["otlp"], "otlp")))
    if kind == "hook":
        return Arrival(line, at_ns, _hook(values))
    return Control(line, at_ns, *_CONTROLS[kind](values))


def _hook(values: Mapping[str, object]) -> HookBody:
    fields.only(values, ("at", "hook", "body"), "beside 'hook'")
    harness = fields.one_of(values["hook"], "hook", HARNESSES)
    if "body" not in values:
        raise LineError("a hook needs the key 'body': the JSON that the harness posted")
    return HookBody(harness, fields.table(values["body"], "body"))


def _collector(values: Mapping[str, object]) -> tuple[str, Mapping[str, object]]:
    fields.only(values, ("at", "collector"), "beside 'collector'")
    return "collector", {"state": fields.one_of(values["collector"], "collector", ("down", "up"))}


def _sleep(values: Mapping[str, object]) -> tuple[str, Mapping[str, object]]:
    fields.only(values, ("at", "sleep_s"), "beside 'sleep_s'")
    return "sleep", {"length_ns": fields.seconds_ns(values["sleep_s"], "sleep_s")}


def _ack(values: Mapping[str, object]) -> tuple[str, Mapping[str, object]]:
    fields.only(values, ("at", "ack"), "beside 'ack'")
    given = fields.table(values["ack"], "ack")
    fields.only(given, ("session", "owner", "by"), "in 'ack'")
    found = {key: fields.text(value, key) for key, value in given.items() if value is not None}
    return "ack", {"owner": "", **found}


_SILENCE_MATCHERS = ("session", "owner", "agent", "run", "child")


def _silence(values: Mapping[str, object]) -> tuple[str, Mapping[str, object]]:
    fields.only(values, ("at", "silence"), "beside 'silence'")
    given = fields.table(values["silence"], "silence")
    fields.only(given, (*_SILENCE_MATCHERS, "class", "for_s"), "in 'silence'")
    found: dict[str, object] = {
        key: fields.text(given[key], key) for key in _SILENCE_MATCHERS if given.get(key) is not None
    }
    if given.get("class") is not None:
        found["class"] = fields.one_of(given["class"], "class", CLASSES)
    if not found:
        raise LineError("a silence of everything hides everything; give it a matcher such as 'agent'")
    if given.get("for_s") is None:
        raise LineError("a silence needs the key 'for_s': how long it lasts")
    return "silence", {**found, "length_ns": fields.seconds_ns(given["for_s"], "for_s")}


_CONTROLS: dict[str, Callable[[Mapping[str, object]], tuple[str, Mapping[str, object]]]] = {
    "collector": _collector,
    "sleep_s": _sleep,
    "ack": _ack,
    "silence": _silence,
}
_KINDS = ("event", "expect", "otlp", "hook", *_CONTROLS)
