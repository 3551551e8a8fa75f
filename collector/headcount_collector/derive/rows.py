"""The questions that the facts ask the store, each a file in `queries/`, and the shape of its answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from headcount_collector.store.client import Store

SEPARATOR = "\x1f"
"""Stands between session and run where the queries want one text for both."""


class RunKey(NamedTuple):
    """The identity of a run: names count within their session."""

    session: str
    run: str

    @property
    def text(self) -> str:
        return f"{self.session}{SEPARATOR}{self.run}"

    @classmethod
    def of_text(cls, text: str) -> RunKey:
        session, _, run = text.partition(SEPARATOR)
        return cls(session, run)


class DispatchRow(NamedTuple):
    session: str
    run: str
    event_ns: int
    received_ns: int
    producer: str
    identity: str
    span_id: str
    owner: str
    parent: str
    child: str
    agent: str
    service: str
    prompt_digest: str
    description: str
    replica: bool
    supersedes: list[str]


class NameRow(NamedTuple):
    """`kind` is alias, child or waker."""

    session: str
    run: str
    kind: str
    name: str
    producer: str
    event_ns: int
    received_ns: int


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


class ActivityRow(NamedTuple):
    """Moments are milliseconds; `outputs` are (moments, tokens), `children` (keys, nanoseconds)."""

    run: str
    producer: str
    turn: str
    moments: list[int]
    tools: list[int]
    first_tokens: list[int]
    outputs: tuple[list[int], list[int]]
    children: tuple[list[str], list[int]]
    models: list[str]


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
    turn, producer); `triggered` (began, came back, turn, trigger, stream, producer); `added` (came back, tokens,
    turn, producer); `awaited` (call, came back, producer); `requests` (began, producer)."""

    run: str
    event: str
    came_back: int
    open: list[tuple[int, str, str, int, str, str, int, str]]
    unclaimed: list[tuple[int, str, str, str]]
    failures: list[tuple[int, int, str, str, str, str]]
    triggered: list[tuple[int, int, str, str, int, str]]
    added: list[tuple[int, int, str, str]]
    awaited: list[tuple[str, int, str]]
    requests: list[tuple[int, str]]


class ProducerRow(NamedTuple):
    """`blocks` are (block, how many of its 1024 numbers came, the highest)."""

    producer: str
    lag_ns: int
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


@cache
def question(name: str) -> str:
    """Return the text of `queries/<name>.sql`."""
    return files(__package__).joinpath("queries", f"{name}.sql").read_text()


def ask(store: Store, name: str, **parameters: object) -> list[tuple[Any, ...]]:
    """Return the rows that `queries/<name>.sql` gives with these parameters."""
    return store.query(question(name), parameters)


def dispatches(store: Store, sessions: Sequence[str]) -> list[DispatchRow]:
    return [DispatchRow._make(row) for row in ask(store, "dispatches", sessions=sessions)]


def names(store: Store, sessions: Sequence[str]) -> list[NameRow]:
    return [NameRow._make(row) for row in ask(store, "names", sessions=sessions)]


def owner_evidence(store: Store, sessions: Sequence[str]) -> list[EvidenceRow]:
    return first_arrivals(ask(store, "owners", sessions=sessions))


def evidence(store: Store, runs_of_names: Mapping[RunKey, RunKey]) -> list[EvidenceRow]:
    return first_arrivals(ask(store, "evidence", **_keys(runs_of_names)))


def activity(store: Store, runs_of_names: Mapping[RunKey, RunKey]) -> list[ActivityRow]:
    keys = _keys(runs_of_names)
    found = ask(store, "activity", **keys, runs_of_names=[run.text for run in runs_of_names.values()])
    return [ActivityRow._make(row) for row in found]


def calls(
    store: Store, runs_of_names: Mapping[RunKey, RunKey], wakers: Sequence[str], owners: Sequence[RunKey]
) -> list[CallRow]:
    found = ask(
        store,
        "calls",
        **_keys(runs_of_names),
        runs_of_names=[run.text for run in runs_of_names.values()],
        wakers=wakers,
        owners=[owner.text for owner in owners],
    )
    return [CallRow._make(row) for row in found]


def producers(store: Store, ids: Sequence[str]) -> list[ProducerRow]:
    return [ProducerRow._make(row) for row in ask(store, "producers", producers=ids)]


def first_arrivals(found: list[tuple[Any, ...]]) -> list[EvidenceRow]:
    """Keep of each record its first arrival: what comes again changes nothing."""
    kept: dict[tuple[str, str, str, str], EvidenceRow] = {}
    for values in found:
        row = EvidenceRow._make(values)
        key = row[:4]
        other = kept.get(key)
        if other is None or row.received_ns < other.received_ns:
            kept[key] = row
    return list(kept.values())


def _keys(runs_of_names: Mapping[RunKey, RunKey]) -> dict[str, object]:
    return {
        "sessions": list({name.session for name in runs_of_names}),
        "runs": list({name.run for name in runs_of_names}),
        "names": [name.text for name in runs_of_names],
    }
