"""The alerts of a running collector: each tick goes through the ladder into the store, and from there to channels."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headcount_alerts.addressing import Addressing, entry_of
from headcount_alerts.channels.build import build_channels
from headcount_alerts.channels.channel import Parcel
from headcount_alerts.deadman import DeadMan
from headcount_alerts.decision import Decision, Outcome, Step
from headcount_alerts.errors import AlertsConfigError, ChannelError, Resting, UnknownIncident
from headcount_alerts.incident import Incident, Key
from headcount_alerts.journal import Journal
from headcount_alerts.ladder import Ladder
from headcount_alerts.lanes import Lanes
from headcount_alerts.message import document_of as message_of
from headcount_alerts.origins import Dispatch, StoredOrigins
from headcount_alerts.outbox import Outbox, as_refresh, lines_of
from headcount_alerts.postbook import Entry, Postbook
from headcount_alerts.routing import Routing
from headcount_alerts.settings import AlertSettings, secret_of
from headcount_alerts.silence import Silence
from headcount_alerts.text import Texts
from headcount_collector.evidence.moment import moment_ns
from headcount_collector.judge.policy import SECOND, Policy
from headcount_collector.judge.words import clock
from headcount_collector.store.client import Store
from headcount_collector.watch.tick import TickReport
from headcount_collector.watch.verdicts import VerdictStore

log = logging.getLogger(__name__)

_REMEMBERED = 24 * 3600 * SECOND
"""How long closed incidents and ended silences are kept in memory."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """How the alerts stand; counters since the start of the process."""

    open_incidents: Mapping[str, int]
    """By severity."""
    waiting: int
    sent: int
    failures: int
    dead: int


class Alerts:
    """A listener of the watch. Its methods may be called from any thread."""

    def __init__(
        self,
        store: Store,
        policy: Policy,
        settings: AlertSettings,
        *,
        clock: Callable[[], int] = time.time_ns,
        nudged: Callable[[Parcel], None] | None = None,
        grafana: str = "",
    ) -> None:
        """`nudged` is told of every nudge that was sent; `grafana` is where links to dashboards lead."""
        self._grafana = grafana
        self.settings = settings
        self._policy = policy
        self._verdicts = VerdictStore(store)
        self._clock = clock
        self.texts = Texts(settings.templates)
        self.routing = Routing(settings, self._parts)
        self.receivers = build_channels(settings, self.texts, nudged)
        self.journal = Journal(store)
        self.postbook = Postbook(store)
        self.origins = StoredOrigins(store)
        deadman = secret_of(settings, "deadman")
        self._deadman = None if deadman is None else DeadMan(deadman, settings.deadman_every)
        self._lock = threading.RLock()
        self._version = 0
        self._lanes: Lanes | None = None
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Forget everything that the store knows better."""
        gates = {"routing": self._off_duty, "maintenance": self._maintained}
        self.ladder = Ladder(
            self._policy,
            self._verdicts.members_of,
            gates,
            self.routing.window_ns,
            self.origins,
            self.routing.groups,
        )
        self.addressing = Addressing(self.routing, self.receivers, self.settings.url, self._grafana)
        self.outbox = Outbox(self.postbook, lines_of(self.receivers), self._told)
        self._unwritten = Outcome()
        self._entries: list[Entry] = []
        self._refreshed: dict[str, int] = {}
        self._forgot_at = 0
        self._restored = False

    def start(self) -> None:
        """Take up where the last judge stopped, and begin to send; may be called again after `rest`."""
        self.rest()
        with self._lock:
            self.restore(self._clock())
        self._lanes = Lanes(self.outbox)
        self._lanes.start()
        if self._deadman is not None:
            self._deadman.start()

    def rest(self) -> None:
        """Decide and send nothing until the next start: what waits stays in the store, for whoever judges now."""
        lanes, self._lanes = self._lanes, None
        if lanes is not None:
            lanes.close()
        with self._lock:
            self._begin_anew()

    def close(self) -> None:
        """Stop sending; what waits stays in the store."""
        if self._lanes is not None:
            self._lanes.close()
        if self._deadman is not None:
            self._deadman.close()

    def failed(self, now: int) -> None:
        """Let the dead-man ping tell that an evaluation failed."""
        self._beat(now, failed=True)

    def restore(self, now: int) -> None:
        """Read incidents, silences and the outbox; write the messages that a crash kept out of it."""
        incidents = self.journal.incidents(now - _REMEMBERED)
        self.ladder.restore(incidents, self.journal.silences(now))
        numbers = [incident.id for incident in incidents if incident.told]
        self.addressing.told = self.postbook.told(numbers)
        stored = self.postbook.last_numbers(numbers)
        for incident in incidents:
            if incident.told > stored.get(incident.id, 0) and incident.last_step:
                step = Step(
                    incident.id, incident.told_at, incident.last_step, incident.told, "after a restart"
                )
                self._entries += self.addressing.entries(incident, step, self._parts(incident))
        self.outbox.restore(now)
        self._restored = True
        self._write()

    @property
    def next_due(self) -> int | None:
        """Return when the ladder wants a tick."""
        with self._lock:
            return self.ladder.next_due

    def open_runs(self) -> Collection[Key]:
        """Return the runs that must be judged anew after a start: those of open incidents."""
        with self._lock:
            return {key for incident in self.ladder.open.values() for key in incident.members}

    def after_tick(self, report: TickReport) -> None:
        """Take in one tick. Raises StoreError where it cannot be kept; it is then kept with the next one."""
        now = report.evaluation.at
        try:
            with self._lock:
                outcome = self.ladder.tick(
                    now,
                    report.verdicts,
                    degraded=report.evaluation.observer != "ok",
                    sleeps=report.sleeps,
                    forgotten=report.forgotten,
                )
                self._keep(outcome)
                self._refresh(now)
                if now - self._forgot_at > 60 * SECOND:
                    self._forgot_at = now
                    self.ladder.forget(now - _REMEMBERED)
        except Exception:
            self._beat(now, failed=True)
            raise
        self._beat(now)

    def numbers(self) -> Numbers:
        """Return how the alerts stand."""
        with self._lock:
            severities = Counter(incident.severity for incident in self.ladder.open.values())
        outbox = self.outbox
        return Numbers(
            {"page": severities["page"], "warn": severities["warn"]},
            outbox.waiting,
            outbox.sent,
            outbox.failures,
            outbox.dead,
        )

    def acknowledge(self, number: str, by: str, now: int | None = None) -> Incident:
        """Acknowledge an open incident. Raises UnknownIncident, Resting."""
        with self._lock:
            self._must_judge()
            incident = self.ladder.open.get(number)
            if incident is None:
                raise UnknownIncident(
                    f"no open incident has the id {number!r}; `headcount incidents` lists them"
                )
            self._keep(self.ladder.acknowledge(incident, by, now or self._clock()))
            return incident

    def silence(self, silence: Silence) -> None:
        """Add or change a silence. Raises Resting."""
        with self._lock:
            self._must_judge()
            self.ladder.silence(silence)
            self._version = max(self._version + 1, self._clock())
            self.journal.write_silence(silence, self._version)

    def end_silence(self, number: str) -> Silence:
        """End a silence now. Raises UnknownIncident where there is none of that id."""
        with self._lock:
            self._must_judge()
            silence = self.ladder.silences.get(number)
            if silence is None:
                raise UnknownIncident(
                    f"no silence has the id {number!r}; `headcount alerts silences` lists them"
                )
            ended = silence.ended(self._clock())
            self.silence(ended)
            return ended

    def test(self, receiver: str) -> dict[str, str]:
        """Send a test message over every channel of a receiver, past the outbox; return what became of each."""
        if receiver not in self.receivers:
            raise AlertsConfigError(
                f"there is no receiver {receiver!r}; there are {', '.join(sorted(self.receivers))}"
            )
        document = test_message(self._clock(), self.settings.url)
        found = {}
        for line in self.receivers[receiver]:
            try:
                line.channel.send(Parcel(document["id"], document))
                found[line.name] = "sent"
            except ChannelError as error:
                found[line.name] = str(error)
        return found

    def origin_of(self, document: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the labels of a run, from its verdict document, by what its dispatch says."""
        dispatched = document["receipts"]["dispatchAt"]
        if dispatched is None:
            return {}
        key = document["session"], document["run"]
        return self.origins([Dispatch(*key, document["service"], moment_ns(dispatched))]).get(key, {})

    def _must_judge(self) -> None:
        if not self._restored:
            raise Resting(
                "this collector does not judge now; ask the one that does (headcount_judging in its /metrics is 1)"
            )

    def _beat(self, now: int, *, failed: bool = False) -> None:
        if self._deadman is not None:
            self._deadman.beat(now, failed=failed)

    def _parts(self, incident: Incident) -> list[Incident]:
        return [self.ladder.open[n] for n in incident.parts if n in self.ladder.open]

    def _keep(self, outcome: Outcome) -> None:
        """Store what a tick came to, then hand its messages to the channels. What fails is kept for the next time."""
        self._unwritten.decisions += outcome.decisions
        self._unwritten.changed |= outcome.changed
        for step in outcome.steps:
            incident = outcome.changed[step.incident]
            self._entries += self.addressing.entries(incident, step, self._parts(incident))
        self._write()

    def _write(self) -> None:
        if self._unwritten.decisions or self._unwritten.changed:
            self._version = max(self._version + 1, self._clock())
            self.journal.write(self._unwritten.decisions, self._unwritten.changed.values(), self._version)
            self._unwritten = Outcome()
        if self._entries:
            self.postbook.write(self._entries)
            entries, self._entries = self._entries, []
            self._post(entries)

    def _post(self, entries: Iterable[Entry]) -> None:
        self.outbox.put(entries)
        if self._lanes is not None:
            self._lanes.wake()

    def _refresh(self, now: int) -> None:
        """Send open incidents again where a peer forgets what it is not told again."""
        for lines in self.receivers.values():
            for line in lines:
                every_s = getattr(line.channel, "refresh_s", None)
                if every_s is None or now - self._refreshed.get(line.name, 0) < every_s * SECOND:
                    continue
                self._refreshed[line.name] = now
                for number, told in self.addressing.told.items():
                    incident = self.ladder.open.get(number)
                    if incident is not None and line.name in told:
                        step = Step(number, now, "updated", incident.told)
                        document = self.addressing.document(incident, step, self._parts(incident))
                        entry = entry_of(incident, incident.told, "updated", line.name, document, now)
                        self._post([as_refresh(entry, document, now)])

    def _off_duty(self, incident: Incident, now: int) -> tuple[str, int] | None:
        until = self.routing.off_duty_until(incident, now)
        return (f"outside of the active hours until {clock(until)}", until) if until else None

    def _maintained(self, incident: Incident, now: int) -> tuple[str, int] | None:
        until = self.routing.maintained_until(incident, now)
        return (f"maintenance until {clock(until)}", until) if until else None

    def _told(self, entry: Entry, what: str, why: str) -> None:
        """Record a failure to send; a message that is given up on pages through the fallback receiver."""
        log.warning("incident %s: %s", entry.incident, why)
        now = self._clock()
        self.journal.write([Decision(entry.incident, now, what, why)], [], 0)
        fallback = self.settings.fallback
        if what != "gave_up" or fallback is None:
            return
        lines = [line for line in self.receivers[fallback] if line.name != entry.channel]
        if entry.document.get("fallback_for"):
            return
        document = {**entry.document, "fallback_for": entry.channel, "reason": why}
        entries = [
            Entry(
                f"{entry.id}>{line.name}", entry.incident, entry.number, "fallback", line.name, now, document
            )
            for line in lines
        ]
        self.postbook.write(entries)
        self._post(entries)


def test_message(now: int, url: str | None) -> dict[str, Any]:
    """Return a message that says it is a test."""
    incident = Incident(
        f"test-{now // SECOND:x}", "test", "", now, "test", severity="info", reason="a test of this channel"
    )
    return message_of(incident, Step(incident.id, now, "notified", 1, incident.reason), url=url)


def receivers_of(alerts: Alerts) -> Mapping[str, list[str]]:
    """Return the names of the channels of each receiver."""
    return {name: [line.name for line in lines] for name, lines in alerts.receivers.items()}
