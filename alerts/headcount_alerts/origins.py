"""Where runs come from: the environment and the attributes of their sessions, as their dispatch spans tell them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from headcount_collector.judge.policy import SECOND
from headcount_collector.judge.verdict import Verdict
from headcount_collector.store.client import Store

Key = tuple[str, str]
"""(session, run)."""


@dataclass(frozen=True, slots=True)
class Dispatch:
    """What finds the span of a dispatch; `at` is its moment in nanoseconds."""

    session: str
    run: str
    service: str
    at: int


Origins = Callable[[Iterable[Dispatch]], "Mapping[Key, Mapping[str, str]]"]
"""The labels of runs by what their dispatches say; of runs that are not found, nothing."""

ENVIRONMENT = "environment"
SESSION = "session."
"""Begins the labels that are attributes of a session, as `session.attended`."""

_AROUND = (600 * SECOND, 26 * 3600 * SECOND)
"""How far from the dispatch its span is looked for: first where it should be, then as far as clocks go wrong."""

# The order of the table finds them: service, name, moment.
_DISPATCHES = """
SELECT
    SpanAttributes['session.id'], SpanAttributes['subagent.run.id'],
    if(
        ResourceAttributes['deployment.environment.name'] != '',
        ResourceAttributes['deployment.environment.name'], ResourceAttributes['deployment.environment']
    ),
    mapFilter((name, value) -> startsWith(name, 'session.'), ResourceAttributes),
    mapFilter((name, value) -> startsWith(name, 'session.') AND name != 'session.id', SpanAttributes),
    SpanAttributes['subagent.session.attended']
FROM otel_traces
WHERE ServiceName IN {services:Array(String)} AND SpanName = 'subagent.dispatch'
    AND toDateTime(Timestamp) BETWEEN toDateTime({begin:Int64}) AND toDateTime({end:Int64})
    AND SpanAttributes['session.id'] IN {sessions:Array(String)}
"""


class StoredOrigins:
    """Asks the store, once for all runs of a tick."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __call__(self, dispatches: Iterable[Dispatch]) -> dict[Key, dict[str, str]]:
        """Return the labels of these runs. Raises StoreError."""
        wanted = {(d.session, d.run): d for d in dispatches}
        found: dict[Key, dict[str, str]] = {}
        for around in _AROUND:
            missing = [dispatch for key, dispatch in wanted.items() if key not in found]
            if missing:
                found |= {key: labels for key, labels in self._read(missing, around).items() if key in wanted}
        return found

    def _read(self, dispatches: list[Dispatch], around: int) -> dict[Key, dict[str, str]]:
        moments = [d.at for d in dispatches]
        rows = self._store.query(
            _DISPATCHES,
            {
                "services": sorted({d.service for d in dispatches}),
                "sessions": sorted({d.session for d in dispatches}),
                "begin": max(0, min(moments) - around) // SECOND,
                "end": (max(moments) + around) // SECOND,
            },
        )
        found: dict[Key, dict[str, str]] = {}
        for session, run, environment, resource, span, attended in rows:
            labels = {**resource, **span, f"{SESSION}attended": attended, ENVIRONMENT: environment}
            found[str(session), str(run)] = {str(k): str(v) for k, v in labels.items() if v}
        return found


def dispatches_of(verdicts: Iterable[Verdict]) -> list[Dispatch]:
    """Return the dispatches of those runs that have one."""
    return [
        Dispatch(v.session, v.run, v.service, v.receipts.dispatch_at)
        for v in verdicts
        if v.receipts.dispatch_at
    ]


def nowhere(dispatches: Iterable[Dispatch]) -> dict[Key, dict[str, str]]:
    """Know nothing of where runs come from."""
    return {}
