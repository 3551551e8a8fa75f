"""Intake as one part: admission, group commit and the routes, made together and closed together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fastapi import APIRouter

from headcount_collector.receive.admission import Admission
from headcount_collector.receive.body import BODY_LIMIT
from headcount_collector.receive.commit import Commits, GroupCommitter
from headcount_collector.receive.counters import Counters
from headcount_collector.receive.otlp import otlp_router


@dataclass(frozen=True, slots=True)
class Intake:
    """Everything between a sender and the store; `committer.submit` is also the way in for hooks."""

    router: APIRouter
    admission: Admission
    committer: GroupCommitter
    counters: Counters

    def close(self) -> None:
        """Commit what waits and end; call it when the HTTP server has stopped, before the store is closed."""
        self.committer.close()


def create_intake(
    store: Commits,
    *,
    on_commit: Callable[[int], None] = lambda received_ns: None,
    retention_days: int = 30,
    body_limit: int = BODY_LIMIT,
    queue_bytes: int = 128 * 1024 * 1024,
    queue_requests: int = 1024,
) -> Intake:
    """Start intake into a migrated `store`. `on_commit` is called in the committing thread with the receiver's time."""
    counters = Counters()
    admission = Admission(retention_days)
    committer = GroupCommitter(
        store, counters, on_commit, queue_bytes=queue_bytes, queue_requests=queue_requests
    )
    router = otlp_router(admission, committer, counters, body_limit=body_limit)
    return Intake(router, admission, committer, counters)
