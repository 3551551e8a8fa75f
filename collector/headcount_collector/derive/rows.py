"""The questions that the facts ask the store, each a file in `queries/`, and the shape of its answers."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import md5
from importlib.resources import files
from typing import Any, NamedTuple

from headcount_collector.store.client import Store


class RunKey(NamedTuple):
    """The identity of a run: names count within their session."""

    session: str
    run: str


class EvidenceRow(NamedTuple):
    session: str
    event: str
    run: str
    identity: str
    phase: str
    event_ns: int
    start_ns: int
    received_ns: int
    producer: str
    span_id: str
    parent_span_id: str
    foreign: bool
    owner: str
    service: str
    agent: str
    parent: str
    child: str
    tokens: int
    attributes: dict[str, str]
    aliases: Sequence[str] = ()
    """Read in the directory only."""


class ActivityRow(NamedTuple):
    """`pulse` are milliseconds * 4 + what it was (TOOL_SUCCEEDED, FIRST_TOKEN or other); `outputs` sixteenths of a second
    * 2^28 + cumulative tokens; `home` the place of the run in what was asked, from 1; `last_model` the event time of the
    last answer in twenty digits, a blank, and its model."""

    home: int
    producer: str
    turn: str
    pulse: list[int]
    outputs: list[int]
    children: list[str]
    models: list[str]
    first_ns: int
    last_model: str


TOOL_SUCCEEDED, FIRST_TOKEN = 1, 2


def pulse_ns(value: int) -> int:
    """Return the event time, to the millisecond, of a value of `pulse`."""
    return (value >> 2) * 1_000_000


def output_ns(value: int) -> int:
    """Return the event time, to a sixteenth of a second, of a value of `outputs`."""
    return (value >> 28) * 62_500_000


def output_value(event_ns: int) -> int:
    """Return what `outputs` keeps of a moment, without tokens."""
    return event_ns // 62_500_000 << 28


def output_tokens(value: int) -> int:
    return value & 0xFFFFFFF


class OpenCall(NamedTuple):
    began: int
    tool: str
    call: str
    keyed: int
    turn: str
    trigger: str
    stream: int
    producer: str


class CallRow(NamedTuple):
    """`open` as OpenCall; `unclaimed` (came back, tool, call, producer); `failures` (failed, succeeded, tool, error,
    turn, producer); `triggered` (began, came back, turn, trigger, stream, producer,
    long); `lasting` (began, came back, tool, call, producer); `added` (came back, tokens,
    turn, producer); `awaited` (call, came back, producer); `requests` (began, producer);
    `shared` (began, producer) of all that came back, under a name that several runs claim."""

    home: int
    event: str
    came_back: int
    open: list[tuple[int, str, str, int, str, str, int, str]]
    unclaimed: list[tuple[int, str, str, str]]
    failures: list[tuple[int, int, str, str, str, str]]
    triggered: list[tuple[int, int, str, str, int, str, bool]]
    lasting: list[tuple[int, int, str, str, str]]
    nudged: bool
    added: list[tuple[int, int, str, str]]
    awaited: list[tuple[str, int, str]]
    requests: list[tuple[int, str]]
    shared: list[tuple[int, str]]


class ProducerRow(NamedTuple):
    """`blocks` are (block, how many of its 64 numbers came, the highest); `latest_lag_ns` is of the latest with three records,
    that of all where none has so many."""

    producer: str
    lag_ns: int
    latest_lag_ns: int
    records: int
    last_ns: int
    keepalive_ms: int
    export_interval_ms: int
    blocks: list[tuple[int, int, int]]


class TouchedRow(NamedTuple):
    session: str
    run: str
    owner: str
    child: str
    gone: bool
    directory: bool
    rare: bool


def run_key(name: RunKey) -> int:
    """Return the hash under which the tables keep a name: `halfMD5` of session, NUL and run."""
    return _half_md5(f"{name.session}\0{name.run}")


def session_keys(sessions: Iterable[str]) -> list[int]:
    """Return the hashes under which the tables keep these sessions."""
    return [_half_md5(session) for session in sessions]


def _half_md5(text: str) -> int:
    digest = md5(text.encode("utf-8", "surrogateescape"), usedforsecurity=False).digest()
    return int.from_bytes(digest[:8], "big")


def strays(store: Store, runs: Iterable[str]) -> list[str]:
    """Return which of these run ids occur in records that name no session."""
    by_key = {run_key(RunKey("", run)): run for run in runs}
    if not by_key:
        return []
    (without_session,) = session_keys([""])
    found = ask(store, "strays", session_key=without_session, run_keys=list(by_key))
    return [by_key[key] for (key,) in found]


@cache
def question(name: str) -> str:
    """Return the text of `queries/<name>.sql`."""
    return files(__package__).joinpath("queries", f"{name}.sql").read_text()


def ask(store: Store, name: str, **parameters: object) -> list[tuple[Any, ...]]:
    """Return the rows that `queries/<name>.sql` gives with these parameters."""
    return store.query(question(name), _written(parameters))


def _written(parameters: Mapping[str, object]) -> dict[str, object]:
    return {key: _array(value) for key, value in parameters.items()}


class _Literal:
    """A value as the engine reads it, which the client passes on as it is."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text


_ESCAPES = str.maketrans({char: f"\\{char}" for char in "\\'`\t\n"})


def _array(value: object) -> object:
    """Write a list of numbers or texts as a literal: value by value the client takes longer than the engine."""
    if not isinstance(value, list) or not value:
        return value
    if all(type(item) is int for item in value):
        return _Literal(f"[{','.join(map(str, value))}]")
    if all(type(item) is str for item in value):
        inside = "','".join([item.translate(_ESCAPES) for item in value])
        return _Literal(f"['{inside}']")
    return value


def directory(store: Store, sessions: Collection[str]) -> list[EvidenceRow]:
    """Return the records of these sessions that say who is who, or what owners did."""
    return first_arrivals(ask(store, "directory", session_keys=session_keys(sessions)))


@dataclass(frozen=True, slots=True)
class Places:
    """Under which names to look, and the run (or shared name) that each stands for."""

    homes: Mapping[RunKey, RunKey]
    order: tuple[RunKey, ...]
    """The distinct homes; the answers name them by their place here, from 1."""
    parameters: Mapping[str, object]

    @classmethod
    def of(cls, homes: Mapping[RunKey, RunKey]) -> Places:
        order = tuple(dict.fromkeys(homes.values()))
        place = {run: number for number, run in enumerate(order, 1)}
        keys, numbers = [run_key(name) for name in homes], [place[run] for run in homes.values()]
        return cls(homes, order, {"run_keys": _array(keys), "homes": _array(numbers)})

    def __getitem__(self, home: int) -> RunKey:
        return self.order[home - 1]

    def numbers_of(self, homes: Collection[RunKey]) -> list[int]:
        """Return the places of some homes."""
        return [number for number, home in enumerate(self.order, 1) if home in homes]


def evidence(store: Store, places: Places) -> list[EvidenceRow]:
    keys = places.parameters["run_keys"]
    sessions = session_keys({name.session for name in places.homes})
    return first_arrivals(ask(store, "evidence", session_keys=sessions, run_keys=keys))


def activity(store: Store, places: Places, *, beside: bool = False) -> list[ActivityRow]:
    found = store.query(question("activity"), places.parameters, beside=beside)
    return list(map(ActivityRow._make, found))


Asked = tuple[tuple[str, ...], bool]
"""Whose ends a run waits for, and whether its own model requests matter to runs of its own."""
LASTING_NS = 20 * 1_000_000_000
"""A call in flight for this long is told one by one, since it explains a silence of the past."""


def calls(
    store: Store,
    places: Places,
    wakers: Sequence[str],
    *,
    owners: Collection[RunKey],
    several: Collection[RunKey],
) -> list[CallRow]:
    """Return the calls of these places; `owners` are runs with runs of their own, `several` names with several runs."""
    asked = {
        **places.parameters,
        "wakers": wakers,
        "owners": places.numbers_of(owners),
        "several": places.numbers_of(several),
        "lasting_ns": LASTING_NS,
    }
    found = store.query(question("calls"), _written(asked), beside=True)
    return [CallRow._make((*row[:3], *map(_unpacked, row[3:]))) for row in found]


def _unpacked(value: Any) -> Any:
    """Read a list that travels as JSON, or pass on another of our own values; never for text that others wrote."""
    if isinstance(value, str) and value.startswith("["):
        return json.loads(value) if value != "[]" else ()
    return value


def producers(store: Store, ids: Sequence[str]) -> list[ProducerRow]:
    found = ask(store, "producers", producers=ids)
    return [ProducerRow._make((*row[:-1], _unpacked(row[-1]))) for row in found]


def first_arrivals(found: list[tuple[Any, ...]]) -> list[EvidenceRow]:
    """Keep of each record its first arrival: what comes again changes nothing."""
    kept: dict[tuple[str, str, str, str], EvidenceRow] = {}
    for values in found:
        row = EvidenceRow(*values)
        key = row[:4]
        other = kept.get(key)
        if other is None or row.received_ns < other.received_ns:
            kept[key] = row
    return list(kept.values())
