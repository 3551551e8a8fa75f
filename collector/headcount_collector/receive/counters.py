"""What intake has done since it started, for /metrics and for whoever asks why something is missing."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Counters:
    """Totals since the start; every change goes through a method, from any thread."""

    accepted_spans: int = 0
    """Spans that were committed."""
    rejected_spans: Counter[str] = field(default_factory=Counter)
    """Spans refused out of a request that was otherwise taken, by reason."""
    requests: Counter[str] = field(default_factory=Counter)
    """Requests answered with success, by signal."""
    refused_requests: Counter[str] = field(default_factory=Counter)
    """Requests refused as a whole, by reason."""
    ignored_items: Counter[str] = field(default_factory=Counter)
    """Metric data points and log records: accepted, counted, not stored."""
    accepted_logs: int = 0
    """Log records that were committed."""
    commits: int = 0
    commit_s: float = 0.0
    """Seconds that commits took, summed."""
    failed_commits: int = 0
    last_commit_ns: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def committed(self, signal: str, items: int, received_ns: int, took_s: float) -> None:
        """Count one commit of spans or logs."""
        with self._lock:
            if signal == "logs":
                self.accepted_logs += items
                return
            self.commits += 1
            self.commit_s += took_s
            self.accepted_spans += items
            self.last_commit_ns = received_ns

    def commit_failed(self) -> None:
        """Count an insert that the store refused, whether or not a later try succeeded."""
        with self._lock:
            self.failed_commits += 1

    def rejected(self, reasons: Counter[str]) -> None:
        """Count spans left out of a request."""
        with self._lock:
            self.rejected_spans.update(reasons)

    def answered(self, signal: str) -> None:
        """Count a request that was taken."""
        with self._lock:
            self.requests[signal] += 1

    def refused(self, reason: str) -> None:
        """Count a request that was not taken."""
        with self._lock:
            self.refused_requests[reason] += 1

    def ignored(self, signal: str, items: int) -> None:
        """Count what was accepted without being stored."""
        with self._lock:
            self.ignored_items[signal] += items
