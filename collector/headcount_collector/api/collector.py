"""A running collector: store, intake, watch and hooks, opened in the order of the data and closed against it."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from typing import Any

from headcount_collector.api.guard import Gate
from headcount_collector.api.hooks import HookIntake
from headcount_collector.api.housekeeping import Housekeeping
from headcount_collector.api.spool import Spool
from headcount_collector.evidence.claude_code_disk import TranscriptFolder
from headcount_collector.judge.verdict import ACTIVE, BLOCKED, SUSPECT, UNFORWARDED
from headcount_collector.metrics import Metric, counter, gauge
from headcount_collector.receive.errors import Malformed
from headcount_collector.receive.intake import Intake, create_intake
from headcount_collector.receive.rate import RateLimit
from headcount_collector.settings import Settings
from headcount_collector.store import Store, StoreError, migrate
from headcount_collector.store.content import CONTENT_ATTRIBUTES
from headcount_collector.store.lock import FolderLock
from headcount_collector.watch.lease import Lease, StoredLease
from headcount_collector.watch.listener import Host, ServingListener, serving_factories
from headcount_collector.watch.service import Watch
from headcount_collector.watch.tick import Tick
from headcount_collector.watch.verdicts import VerdictStore

log = logging.getLogger(__name__)

_OPEN_STATUSES = (ACTIVE, SUSPECT, UNFORWARDED, BLOCKED)
_OVERLAP_S = 60.0
"""What others wrote may become visible so late."""
_STALE_TICKS = 10
"""So many ticks without an evaluation, and 10 s at least, and the collector does not call itself ready."""


class ListenersDuty:
    """Lets the listeners begin and rest with the judging of this process."""

    def __init__(self, listeners: Sequence[ServingListener]) -> None:
        self._listeners = listeners

    def begin(self, watched: Tick) -> None:
        """Let each take up where the last judge stopped."""
        for listener in self._listeners:
            listener.start(watched)

    def rest(self) -> None:
        """Let each stop until this process judges again."""
        for listener in self._listeners:
            listener.rest()

    def failed(self, at: int) -> None:
        """Tell each that an evaluation failed."""
        for listener in self._listeners:
            listener.failed(at)


class Collector:
    """The parts of one collector process."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self.settings = settings
        self.store = store
        self.verdicts = VerdictStore(store)
        host = Host(store, settings, self._submit, self._own_numbers)
        self.listeners = [make(host) for make in serving_factories()]
        # A server may have several collectors, and a Collector that writes by itself; a folder has only this one.
        self.lease = Lease(StoredLease(store)) if settings.shared_store else None
        self.watch = Watch(
            store,
            settings.judged_by,
            tick_s=settings.tick_s,
            listeners=self.listeners,
            leads=self.lease.hold if self.lease else lambda: True,
            overlap_s=_OVERLAP_S if self.lease else 0.0,
            duty=ListenersDuty(self.listeners),
        )
        self.housekeeping = Housekeeping(store, settings)
        self.intake = create_intake(
            store,
            on_commit=self.watch.notice,
            retention_days=settings.retention_days,
            drop_attributes=_dropped(settings),
            queue_bytes=settings.queue_mib * 1024 * 1024,
            queue_requests=settings.queue_requests,
        )
        self.sql = store.dashboard_sql() if settings.sql else None
        self.gate = Gate(settings.tokens, RateLimit(settings.requests_per_s))
        # The harness's notes lie on this machine only where the harness does.
        disk = TranscriptFolder() if settings.address.loopback else None
        self.hooks = HookIntake(
            Spool(settings.data / "hooks", self._submit), disk, capture_content=settings.capture_content
        )

    @classmethod
    @contextlib.contextmanager
    def open(cls, settings: Settings) -> Iterator[Collector]:
        """Open the store, bring it to this program's schema, and begin to judge; leaving closes in reverse."""
        with contextlib.ExitStack() as closing:
            if settings.store is not None:
                # Hooks wait in the data folder whatever the store is; an embedded store locks it itself.
                settings.data.mkdir(parents=True, exist_ok=True, mode=0o700)
                closing.enter_context(FolderLock(settings.data))
            store = Store.open(settings.store_location)
            closing.callback(store.close)
            migrate(store, settings.retention_days, _dropped(settings), settings.cluster)
            collector = cls(settings, store)
            closing.callback(collector.intake.close)
            for listener in collector.listeners:
                closing.callback(listener.close)
            if collector.lease is not None:
                closing.callback(collector.lease.release)
            closing.callback(collector.watch.close)
            collector.watch.start()
            closing.callback(collector.housekeeping.close)
            collector.housekeeping.start()
            closing.callback(collector.hooks.spool.close)
            collector.hooks.spool.start()
            yield collector

    def unready(self) -> list[str]:
        """Return why evidence is not taken or not judged; empty if it is."""
        reasons = []
        try:
            self.store.query("SELECT 1")
        except StoreError as error:
            reasons.append(f"the store does not answer: {error}")
        health = self.watch.health
        if health["failure"]:
            reasons.append(f"the last evaluation failed: {health['failure']}")
        elif self.lease is not None and not health["judges"] and self.lease.other:
            pass  # another collector judges; this one takes evidence
        elif health["last_evaluation_at"] is None:
            reasons.append("nothing was evaluated yet")
        elif (age := _age_s(health["last_evaluation_at"])) > max(10.0, _STALE_TICKS * self.settings.tick_s):
            reasons.append(f"the last evaluation is {age:.0f} s old")
        if why := self.housekeeping.unready():
            reasons.append(why)
        committer = self.intake.committer
        if committer.queued_requests >= self.settings.queue_requests or committer.queued_bytes >= (
            self.settings.queue_mib * 1024 * 1024
        ):
            reasons.append(
                f"{committer.queued_requests} requests wait for the store: senders are told to retry"
            )
        if self.hooks.spool.failure:
            reasons.append(f"{self.hooks.spool.waiting} hooks wait for the store: {self.hooks.spool.failure}")
        return reasons

    def metrics(self) -> list[Metric]:
        """Return the collector's own numbers."""
        open_runs = {
            status: self.verdicts.count({"status": status, "open": "true"}) for status in _OPEN_STATUSES
        }
        return [
            Metric("headcount_open_runs", "gauge", "Runs that are still owed.", open_runs, "status"),
            *self._own_numbers(),
            *self.housekeeping.metrics(),
            *(metric for listener in self.listeners for metric in listener.metrics()),
        ]

    def _own_numbers(self) -> list[Metric]:
        """Return what costs no question to the store."""
        return [
            *_watch_metrics(self.watch.health),
            *_intake_metrics(self.intake),
            *_hook_metrics(self.hooks),
        ]

    def _submit(self, message: bytes) -> Future[int]:
        """Take evidence of hooks the way that everybody's evidence goes. Raises Refused."""
        admitted = self.intake.admission.admit(message)
        if admitted.rejected:
            log.error("evidence of a hook was rejected: %s", admitted.message)
        if not admitted.spans:
            raise Malformed(admitted.message)
        return self.intake.committer.submit(admitted.body, admitted.spans)


def _dropped(settings: Settings) -> tuple[str, ...]:
    """Return the names of the attributes that are not stored."""
    if settings.capture_content:
        return ()
    return CONTENT_ATTRIBUTES if settings.content_attributes is None else settings.content_attributes


def _age_s(moment: str) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()


def _watch_metrics(health: Mapping[str, Any]) -> Iterator[Metric]:
    yield gauge("headcount_judging", "1 while this collector judges, 0 while another does.", health["judges"])
    yield gauge("headcount_observer_degraded", "1 while silence is not trusted.", health["observer"] != "ok")
    yield counter("headcount_evaluation_failures_total", "Evaluations that failed.", health["failures"])
    yield gauge("headcount_evaluation_judged", "Runs judged by the last evaluation.", health["judged"])
    if health["last_evaluation_at"] is not None:
        at = datetime.fromisoformat(health["last_evaluation_at"]).timestamp()
        took = health["last_evaluation_took_ms"] / 1000
        late = health["last_evaluation_late_ms"] / 1000
        yield gauge("headcount_last_evaluation_timestamp_seconds", "When runs were last judged.", at)
        yield gauge("headcount_last_evaluation_seconds", "How long the last evaluation took.", took)
        yield gauge("headcount_last_evaluation_late_seconds", "How late it began.", late)


def _intake_metrics(intake: Intake) -> Iterator[Metric]:
    counters, committer = intake.counters, intake.committer
    for name, says, values, label in (
        (
            "rejected_spans",
            "Spans refused out of a request that was taken.",
            counters.rejected_spans,
            "reason",
        ),
        ("requests", "Export requests that were taken.", counters.requests, "signal"),
        ("refused_requests", "Export requests that were refused.", counters.refused_requests, "reason"),
        (
            "ignored_items",
            "Metrics, and log records without evidence: accepted, not stored.",
            counters.ignored_items,
            "signal",
        ),
    ):
        yield Metric(f"headcount_{name}_total", "counter", says, dict(values), label)
    yield counter("headcount_accepted_spans_total", "Spans that are stored.", counters.accepted_spans)
    yield counter("headcount_accepted_logs_total", "Log records that are stored.", counters.accepted_logs)
    yield counter("headcount_commit_seconds_total", "Time that inserts took.", counters.commit_s)
    yield gauge("headcount_queued_senders", "Senders with requests that wait.", committer.senders)
    yield counter("headcount_commits_total", "Inserts of evidence.", counters.commits)
    yield counter("headcount_failed_commits_total", "Inserts that failed.", counters.failed_commits)
    yield gauge("headcount_queued_requests", "Requests that wait for the store.", committer.queued_requests)
    yield gauge("headcount_queued_bytes", "Their size.", committer.queued_bytes)
    if counters.last_commit_ns:
        at = counters.last_commit_ns / 1e9
        yield gauge("headcount_last_commit_timestamp_seconds", "When evidence was last stored.", at)


def _hook_metrics(hooks: HookIntake) -> Iterator[Metric]:
    spool = hooks.spool
    yield counter("headcount_hooks_received_total", "Hook bodies taken.", hooks.received)
    yield counter("headcount_hooks_unusable_total", "Hook bodies that were of no use.", hooks.unusable)
    yield counter("headcount_hooks_committed_total", "Hooks whose evidence is stored.", spool.committed)
    yield counter("headcount_hooks_dropped_total", "Hooks whose evidence was not kept.", spool.dropped)
    yield counter("headcount_hooks_refused_total", "Hooks that the store refused.", spool.refused)
    yield gauge("headcount_hooks_waiting", "Hooks on their way into the store.", spool.waiting)
