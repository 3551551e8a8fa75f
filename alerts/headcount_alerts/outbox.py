"""The outbox: messages that were decided, tried until they are taken or dead, each attempt recorded."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from headcount_alerts.channels.build import Line
from headcount_alerts.channels.channel import Document, Parcel
from headcount_alerts.errors import ChannelError
from headcount_alerts.postbook import Attempt, Entry, Postbook
from headcount_collector.judge.policy import SECOND

log = logging.getLogger(__name__)

_FIRST_WAIT_S = 1.0
_LONGEST_WAIT_S = 300.0

Told = Callable[[Entry, str, str], None]
"""Called with an entry, "send_failed" or "gave_up", and why."""


@dataclass(slots=True)
class _Waiting:
    entry: Entry
    due: int
    tries: int = 0
    repeat: bool = False
    first_failure: int = 0
    sending: bool = False


@dataclass(slots=True)
class Lane:
    """The messages of one channel, in order; an incident's later message never overtakes its earlier one."""

    line: Line
    waiting: list[_Waiting] = field(default_factory=list)
    references: dict[str, str] = field(default_factory=dict)
    """By incident: what the channel called its last message."""
    allowance: float = 0.0
    counted_at: int = 0

    def next_due(self) -> int | None:
        """Return when something may be sent."""
        return min((waiting.due for waiting in self._heads() if not waiting.sending), default=None)

    def take(self, now: int) -> _Waiting | None:
        """Return the next message that may leave now."""
        ready = [waiting for waiting in self._heads() if waiting.due <= now and not waiting.sending]
        if not ready:
            return None
        if not self._allowed(now):
            wait = round((1 - self.allowance) * 60 * SECOND / self.line.rate_per_minute)
            for waiting in ready:
                waiting.due = max(waiting.due, now + wait)
            return None
        return min(ready, key=lambda waiting: waiting.due)

    def _heads(self) -> list[_Waiting]:
        seen: set[str] = set()
        heads = []
        for waiting in self.waiting:
            if waiting.entry.incident not in seen:
                seen.add(waiting.entry.incident)
                heads.append(waiting)
        return heads

    def _allowed(self, now: int) -> bool:
        most = max(1.0, self.line.rate_per_minute / 6)
        if self.counted_at == 0:
            self.allowance = most
        gained = max(0, now - self.counted_at) / SECOND * self.line.rate_per_minute / 60
        self.allowance = min(most, self.allowance + gained)
        self.counted_at = now
        return self.allowance >= 1

    def spend(self) -> None:
        """Count a message that is sent."""
        self.allowance -= 1


class Outbox:
    """Lanes by channel. `put` may be called from any thread; `deliver` from one thread for each lane."""

    def __init__(
        self,
        postbook: Postbook,
        lines: Iterable[Line],
        told: Told,
        *,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._postbook = postbook
        self._told = told
        self._jitter = jitter
        self._lock = threading.Lock()
        self.sent = self.failures = self.dead = 0
        self.lanes = {line.name: Lane(line) for line in lines}

    def restore(self, now: int) -> None:
        """Take up what the last process left unsent; what it was sending may have arrived, and is marked as repeat."""
        for incident, channel, reference in self._postbook.references():
            if channel in self.lanes:
                self.lanes[channel].references[incident] = reference
        for entry, last in self._postbook.unsent():
            lane = self.lanes.get(entry.channel)
            if lane is None:
                self._record(entry, now, "dead", f"there is no channel {entry.channel} any more")
                continue
            repeat = last is not None and last.outcome == "sending"
            lane.waiting.append(_Waiting(entry, now, repeat=repeat))

    def put(self, entries: Iterable[Entry]) -> None:
        """Take messages on; an update that was not sent yet makes way for the next message of its incident."""
        superseded: list[tuple[Entry, Entry]] = []
        with self._lock:
            for entry in entries:
                lane = self.lanes[entry.channel]
                for former in [w for w in lane.waiting if w.entry.incident == entry.incident]:
                    if former.entry.step in ("updated", "refresh") and not (former.tries or former.sending):
                        lane.waiting.remove(former)
                        superseded.append((former.entry, entry))
                lane.waiting.append(_Waiting(entry, entry.decided_at))
        for former_entry, entry in superseded:
            if former_entry.step != "refresh":
                self._record(former_entry, entry.decided_at, "superseded", f"by {entry.id}")

    @property
    def waiting(self) -> int:
        """Return how many messages are on their way."""
        with self._lock:
            return sum(len(lane.waiting) for lane in self.lanes.values())

    def deliver(self, channel: str, now: Callable[[], int]) -> int | None:
        """Send what is due on one channel, and return when to come back; None where nothing waits."""
        lane = self.lanes[channel]
        while True:
            with self._lock:
                waiting = lane.take(now())
                if waiting is None:
                    return lane.next_due()
                waiting.sending = True
                lane.spend()
            try:
                self._send(lane, waiting, now)
            finally:
                waiting.sending = False

    def _gone(self, lane: Lane, waiting: _Waiting) -> None:
        with self._lock:
            lane.waiting.remove(waiting)

    def _send(self, lane: Lane, waiting: _Waiting, now: Callable[[], int]) -> None:
        entry = waiting.entry
        kept = entry.step != "refresh"
        reference = lane.references.get(entry.incident, "")
        if kept:
            self._record(entry, now(), "sending", "")
        try:
            got = lane.line.channel.send(Parcel(entry.id, entry.document, reference, waiting.repeat))
        except ChannelError as error:
            self._failed(lane, waiting, error, now())
            return
        except Exception as error:  # a library of a channel must not end the lane
            log.exception("channel %s failed", lane.line.name)
            self._failed(lane, waiting, ChannelError(f"{type(error).__name__}: {error}"), now())
            return
        self._gone(lane, waiting)
        if got:
            lane.references[entry.incident] = got
        self.sent += 1
        if kept:
            self._record(entry, now(), "sent", "", reference=got)
        if entry.document["state"] == "closed":
            lane.references.pop(entry.incident, None)

    def _failed(self, lane: Lane, waiting: _Waiting, error: ChannelError, now: int) -> None:
        entry = waiting.entry
        self.failures += 1
        waiting.tries += 1
        waiting.first_failure = waiting.first_failure or now
        if entry.step == "refresh":
            self._gone(lane, waiting)
            log.warning("channel %s: %s", lane.line.name, error)
            return
        spent = now - waiting.first_failure >= lane.line.give_up_after_s * SECOND
        if not error.retryable or spent:
            self._gone(lane, waiting)
            self.dead += 1
            self._record(entry, now, "dead", str(error))
            self._told(entry, "gave_up", f"{lane.line.name} did not take message {entry.number}: {error}")
            return
        wait_s = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2 ** (waiting.tries - 1)) * (0.5 + self._jitter() / 2)
        wait_s = max(wait_s, error.retry_after_s or 0.0)
        waiting.due = now + round(wait_s * SECOND)
        self._record(entry, now, "failed", str(error), retry_at=waiting.due)
        if waiting.tries == 1:
            self._told(entry, "send_failed", f"{lane.line.name} did not take message {entry.number}: {error}")

    def _record(
        self, entry: Entry, at: int, outcome: str, error: str, *, retry_at: int = 0, reference: str = ""
    ) -> None:
        self._postbook.attempt(
            Attempt(entry.id, entry.incident, entry.channel, at, outcome, error, retry_at, reference)
        )


def as_refresh(entry: Entry, document: Document, at: int) -> Entry:
    """Return an entry that only keeps alive what a channel was told before; it is not recorded."""
    return replace(entry, id=f"{entry.id}-refresh", step="refresh", decided_at=at, document=document)


def lines_of(receivers: Mapping[str, list[Line]]) -> list[Line]:
    """Return every channel once."""
    return [line for lines in receivers.values() for line in lines]
