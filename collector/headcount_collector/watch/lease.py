"""Exactly one judge: collectors that share a store take turns by a lease in it, and the next notices when one is lost."""

from __future__ import annotations

import logging
import os
import socket
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from headcount_collector.judge.policy import SECOND
from headcount_collector.store import Store, StoreError

log = logging.getLogger(__name__)

_COLUMNS = ("resource", "term", "holder", "state", "since_ns", "written_ns")


@dataclass(frozen=True, slots=True)
class Term:
    """How one bid for the lease stands."""

    term: str
    holder: str
    state: str
    """bid, held or released."""
    since_ns: int
    written_ns: int


class LeaseTable(Protocol):
    """The rows that all collectors see, and the clock that all go by."""

    def now_ns(self) -> int:
        """Return the store's time."""

    def terms(self, after_ns: int) -> list[Term]:
        """Return the latest row of each term that was written after a moment."""

    def write(self, term: Term) -> None:
        """Add a row."""


class StoredLease:
    """The table `lease`. Every method raises StoreError."""

    def __init__(self, store: Store, resource: str = "judge") -> None:
        self._store = store
        self._resource = resource

    def now_ns(self) -> int:
        """Return the store's time."""
        ((now,),) = self._store.query("SELECT toUnixTimestamp64Nano(now64(9))")
        return int(now)

    def terms(self, after_ns: int) -> list[Term]:
        """Return the latest row of each term that was written after a moment."""
        rows = self._store.query(
            "SELECT term, any(holder), argMax(state, written_ns), min(since_ns), max(written_ns) FROM lease"
            " WHERE resource = {resource:String} AND written_ns > {after:Int64} GROUP BY term",
            {"resource": self._resource, "after": after_ns},
        )
        return [Term(str(t), str(h), str(s), int(since), int(at)) for t, h, s, since, at in rows]

    def write(self, term: Term) -> None:
        """Add a row."""
        row = (self._resource, term.term, term.holder, term.state, term.since_ns, term.written_ns)
        self._store.insert("lease", [row], _COLUMNS)


class Lease:
    """One collector's part in it. `hold` is called again and again, from one thread.

    A bid waits until every other bid that could have come before it must be visible; of those that are, the earliest
    becomes the holder. The holder renews after a third of `ttl_s` and trusts its lease for two thirds, by its own
    steady clock from before the renewal was written; others take over when nothing was written for all of it.
    """

    def __init__(
        self,
        table: LeaseTable,
        *,
        ttl_s: float = 15.0,
        settle_s: float = 2.0,
        holder: str | None = None,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._table = table
        self._ttl_ns = round(ttl_s * SECOND)
        self._settle_ns = round(settle_s * SECOND)
        self._holder = holder or f"{socket.gethostname()}:{os.getpid()}"
        self._clock_ns = clock_ns
        self._mine: Term | None = None
        self._settled_at = 0
        self._renew_at = 0
        self._trusted_until = 0
        self._look_at = 0
        self.other: str | None = None
        """Who holds the lease, where it is somebody else."""

    @property
    def held(self) -> bool:
        """Whether this collector may judge now."""
        return (
            self._mine is not None and self._mine.state == "held" and self._clock_ns() < self._trusted_until
        )

    def hold(self) -> bool:
        """Do what is due and tell whether this collector may judge. A store that fails costs the lease in time."""
        had = self._mine is not None and self._mine.state == "held"
        try:
            self._step()
        except StoreError as error:
            log.warning("the lease could not be renewed: %s", error)
        if had and not self.held:
            log.warning("this collector judges no longer: its lease is lost")
            self._mine = None
        return self.held

    def release(self) -> None:
        """Let the next one judge at once."""
        if self._mine is not None:
            try:
                self._write("released", self._table.now_ns())
            except StoreError as error:
                log.warning("the lease is left to expire: %s", error)
            self._mine = None

    def _step(self) -> None:
        now = self._clock_ns()
        if self._mine is None:
            if now >= self._look_at:
                self._bid(now)
        elif self._mine.state == "bid":
            if now >= self._settled_at:
                self._settle()
        elif now >= self._renew_at:
            self._renew(now)

    def _bid(self, now: int) -> None:
        self._look_at = now + self._ttl_ns // 6
        at = self._table.now_ns()
        others = self._live(at)
        self.other = next((term.holder for term in others if term.state == "held"), None)
        if others:
            return
        self._mine = Term(uuid.uuid4().hex, self._holder, "bid", at, at)
        try:
            self._table.write(self._mine)
        except StoreError:
            self._mine = None
            raise
        self._settled_at = self._clock_ns() + self._settle_ns

    def _settle(self) -> None:
        assert self._mine is not None
        began = self._clock_ns()
        at = self._table.now_ns()
        others = self._live(at)
        first = all((self._mine.since_ns, self._mine.term) < (term.since_ns, term.term) for term in others)
        if (
            not first
            or any(term.state == "held" for term in others)
            or at - self._mine.written_ns > self._ttl_ns
        ):
            self.release()
            return
        self._write("held", at)
        if self._clock_ns() - began > self._settle_ns:
            self.release()  # the others may have decided before they could see this
            return
        self._trust(began)
        self.other = None
        log.info("this collector judges: it holds the lease")

    def _renew(self, now: int) -> None:
        assert self._mine is not None
        at = self._table.now_ns()
        if at - self._mine.written_ns > self._ttl_ns or any(term.state == "held" for term in self._live(at)):
            self.release()
            return
        self._write("held", at)
        self._trust(now)

    def _trust(self, began: int) -> None:
        self._renew_at = began + self._ttl_ns // 3
        self._trusted_until = began + self._ttl_ns * 2 // 3

    def _write(self, state: str, at: int) -> None:
        assert self._mine is not None
        term = Term(self._mine.term, self._holder, state, self._mine.since_ns, at)
        self._table.write(term)
        self._mine = term

    def _live(self, at: int) -> list[Term]:
        return [
            term
            for term in self._table.terms(at - self._ttl_ns)
            if term.state != "released" and (self._mine is None or term.term != self._mine.term)
        ]
