"""Intake as one part: admission, group commit, the signals and their HTTP routes, made and closed together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from fastapi import APIRouter

from headcount_collector.receive.admission import Admission
from headcount_collector.receive.body import BODY_LIMIT
from headcount_collector.receive.commit import GroupCommitter
from headcount_collector.receive.counters import Counters
from headcount_collector.receive.logs import LogAdmission, LogStore
from headcount_collector.receive.otlp import otlp_router
from headcount_collector.receive.signals import Signals
from headcount_collector.store.content import CONTENT_ATTRIBUTES

WRITERS = min(2, os.cpu_count() or 1)
"""Inserts of traces at once: one keeps one core busy."""
_LOG_SHARE = 8
"""Logs get this part of the queue: few carry evidence."""


class Stores(Protocol):
    """What intake needs of a store."""

    def commit(self, bodies: Sequence[bytes], received_ns: int) -> None:
        """Write trace messages in one insert; raises StoreError."""

    def insert(self, table: str, rows: Sequence[Sequence[object]], columns: Sequence[str]) -> None:
        """Insert rows; raises StoreError."""


@dataclass(frozen=True, slots=True)
class Intake:
    """Everything between a sender and the store; `committer.submit` is also the way in for hooks."""

    router: APIRouter
    signals: Signals

    @property
    def admission(self) -> Admission:
        """What is taken of traces."""
        return self.signals.admission

    @property
    def committer(self) -> GroupCommitter:
        """The way of traces into the store."""
        return self.signals.committer

    @property
    def counters(self) -> Counters:
        """What was done since the start."""
        return self.signals.counters

    def close(self) -> None:
        """Commit what waits and end; call it when the edges have stopped, before the store is closed."""
        self.signals.committer.close()
        self.signals.log_committer.close()


def create_intake(
    store: Stores,
    *,
    on_commit: Callable[[int], None] = lambda received_ns: None,
    retention_days: int = 30,
    body_limit: int = BODY_LIMIT,
    queue_bytes: int = 128 * 1024 * 1024,
    queue_requests: int = 1024,
    writers: int = WRITERS,
    drop_attributes: Iterable[str] = CONTENT_ATTRIBUTES,
) -> Intake:
    """Start intake into a migrated `store`. `on_commit` gets the moment up to which all is committed."""
    counters = Counters()
    signals = Signals(
        Admission(retention_days),
        GroupCommitter(
            store,
            counters,
            on_commit,
            queue_bytes=queue_bytes,
            queue_requests=queue_requests,
            writers=writers,
        ),
        LogAdmission(drop_attributes, retention_days),
        GroupCommitter(
            LogStore(store),
            counters,
            signal="logs",
            queue_bytes=max(1, queue_bytes // _LOG_SHARE),
            queue_requests=queue_requests,
        ),
        counters,
    )
    return Intake(otlp_router(signals, body_limit=body_limit), signals)
