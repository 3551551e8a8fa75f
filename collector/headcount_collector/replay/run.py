"""Replays recorded evidence through the real path, store and judge, at the speed of the machine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from headcount_collector.errors import HeadcountError
from headcount_collector.evidence.claude_code import records_from_hook
from headcount_collector.evidence.qwen_code import records_from_qwen_hook
from headcount_collector.evidence.record import Record, export_request
from headcount_collector.evidence.replay_file import (
    Arrival,
    Control,
    Expectation,
    HookBody,
    OtlpBody,
    ReplayFile,
    read_replay_file,
)
from headcount_collector.judge.policy import Policy
from headcount_collector.judge.verdict import Verdict
from headcount_collector.receive.errors import Malformed
from headcount_collector.receive.otlp_json import request_from_json
from headcount_collector.replay.check import Miss, World, misses_of
from headcount_collector.replay.dismissal import matched_runs
from headcount_collector.replay.errors import ReplayError
from headcount_collector.store.client import Store
from headcount_collector.store.migrate import migrate
from headcount_collector.watch.listener import replay_factory
from headcount_collector.watch.observer import ASLEEP
from headcount_collector.watch.tick import Tick
from headcount_collector.watch.verdicts import Transition

_READ_HOOK = {"claude-code": records_from_hook, "qwen-code": records_from_qwen_hook}
_KEEP_DAYS = 60 * 365
"""Recorded evidence is as old as it is: nothing of it may fall to the retention of the throw-away store.
A century would reach beyond 2106, where the engine's DateTime begins anew and everything is long expired."""


@dataclass(slots=True)
class ReplayReport:
    """What a replay found."""

    file: str
    title: str
    t0_ns: int
    verdicts: dict[tuple[str, str], Verdict] = field(default_factory=dict)
    transitions: list[Transition] = field(default_factory=list)
    beliefs: list[tuple[int, Verdict]] = field(default_factory=list)
    """Every verdict as it was written, with the moment of its tick."""
    incidents: list[dict[str, Any]] = field(default_factory=list)
    """Every incident with its decisions and steps, as the API shows them; none where no alerts are installed."""
    misses: list[Miss] = field(default_factory=list)
    checked: int = 0
    unjudged: dict[str, int] = field(default_factory=dict)
    """Expectations of a kind that this version does not judge, by kind."""

    @property
    def passed(self) -> bool:
        return not self.misses


def _policy_of(file: ReplayFile) -> Policy:
    try:
        return Policy.from_mapping(file.header.policy)
    except HeadcountError as error:
        raise ReplayError(f"{file.name}: the header's policy: {error}") from None


class Replayer:
    """Replays files one after the other through one throw-away store, emptied after each."""

    def __init__(self, store: Store) -> None:
        self._store = store
        migrate(store, retention_days=_KEEP_DAYS)
        self._tables = [
            str(name)
            for (name,) in store.query(
                "SELECT name FROM system.tables WHERE database = {database:String}"
                " AND engine LIKE '%MergeTree' AND name != 'schema_migrations'",
                {"database": store.database},
            )
        ]

    @classmethod
    def open(cls) -> Replayer:
        """Open a throw-away embedded store in memory; close it when done."""
        return cls(Store.open(":memory:"))

    def close(self) -> None:
        """Close the throw-away store."""
        self._store.close()

    def replay(self, file: ReplayFile, policy: Policy | None = None) -> ReplayReport:
        """Replay a file under its own policy, or another, and check what it expects. Raises ReplayError."""
        try:
            return _Run(self._store, file, policy or _policy_of(file)).report()
        finally:
            for table in self._tables:
                self._store.command(f"TRUNCATE TABLE `{table}`")


def replay_file(path: Path, policy: Policy | None = None) -> ReplayReport:
    """Replay one file over a throw-away store of its own. Raises ReplayFileError, ReplayError."""
    file = read_replay_file(path)
    replayer = Replayer.open()
    try:
        return replayer.replay(file, policy)
    finally:
        replayer.close()


class _Run:
    """One file's way through the ticks: controls, then records, then judgement, then expectations."""

    def __init__(self, store: Store, file: ReplayFile, policy: Policy) -> None:
        self._store = store
        self._file = file
        self._header = file.header
        self._tick = Tick(store, policy)
        factory = replay_factory()
        self._listener = None if factory is None else factory(store, policy)
        self._report = ReplayReport(file.name, file.header.title, file.header.t0_ns)
        self._items: Mapping[int, list[Arrival | Control | Expectation]] = self._by_tick()
        self._received = 0
        self._blind_from: int | None = None
        self._asleep_until: int | None = None
        self._held_back: list[Arrival] = []

    def report(self) -> ReplayReport:
        for moment, items in self._moments():
            self._control(moment, [item for item in items if isinstance(item, Control)])
            self._held_back += [item for item in items if isinstance(item, Arrival)]
            expectations = [item for item in items if isinstance(item, Expectation)]
            if self._blind_from is not None or self._asleep(moment):
                self._fail_without_tick(expectations)
                continue
            self._commit(moment)
            outcome = self._tick.evaluate(moment, self._received)
            self._report.verdicts |= outcome.verdicts
            self._report.beliefs += [(moment, verdict) for verdict in outcome.verdicts.values()]
            if self._listener is not None:
                self._listener.after_tick(outcome)
            self._report.transitions += outcome.transitions
            self._expect(moment, expectations)
        if self._listener is not None:
            self._report.incidents = self._listener.incidents()
        return self._report

    def _by_tick(self) -> dict[int, list[Arrival | Control | Expectation]]:
        found: dict[int, list[Arrival | Control | Expectation]] = {}
        for item in self._file.items:
            number = -(-(item.at_ns - self._header.t0_ns) // self._header.tick_ns)
            found.setdefault(number, []).append(item)
        return found

    def _moments(self) -> Iterator[tuple[int, list[Arrival | Control | Expectation]]]:
        """Every tick at which something arrives, is expected or is due, to the first at or after the end."""
        t0, length = self._header.t0_ns, self._header.tick_ns
        last = -(-(self._header.until_ns - t0) // length)
        with_items = sorted(number for number in self._items if number <= last)
        position, number = 0, -1
        while True:
            due = self._due_number()
            upcoming = [with_items[position]] if position < len(with_items) else []
            if due is not None:
                upcoming.append(max(due, number + 1))
            number = min(upcoming, default=last + 1)
            if number > last:
                break
            items = self._items.get(number, [])
            position += bool(items)
            yield t0 + number * length, items
        for late in sorted(number for number in self._items if number > last):
            self._fail_without_tick([item for item in self._items[late] if isinstance(item, Expectation)])

    def _due_number(self) -> int | None:
        if self._blind_from is not None:
            return None
        due = self._asleep_until if self._asleep_until is not None else self._earliest_due()
        if due is None:
            return None
        return -(-(due - self._header.t0_ns) // self._header.tick_ns)

    def _earliest_due(self) -> int | None:
        listened = None if self._listener is None else self._listener.next_due
        return min((due for due in (self._tick.next_due, listened) if due is not None), default=None)

    def _control(self, moment: int, controls: list[Control]) -> None:
        for control in controls:
            if control.kind == "collector" and control.body["state"] == "down":
                self._blind_from = control.at_ns
            elif control.kind == "collector" and self._blind_from is not None:
                self._tick.observer.was_blind(self._blind_from, control.at_ns)
                self._blind_from = None
            elif control.kind == "sleep":
                length = control.body["length_ns"]
                assert isinstance(length, int)
                self._asleep_until = control.at_ns + length
                self._tick.observer.was_blind(control.at_ns, self._asleep_until, ASLEEP)
            elif self._listener is not None:
                try:
                    self._listener.control(control.kind, control.body, control.at_ns)
                except HeadcountError as error:
                    raise ReplayError(f"{self._file.name}:{control.line}: {error}") from None
            else:
                self._report.unjudged[control.kind] = self._report.unjudged.get(control.kind, 0) + 1

    def _asleep(self, moment: int) -> bool:
        if self._asleep_until is not None and moment >= self._asleep_until:
            self._asleep_until = None
        return self._asleep_until is not None

    def _commit(self, moment: int) -> None:
        if not self._held_back:
            return
        late = self._held_back[0].at_ns < moment - self._header.tick_ns
        received = moment if late else self._held_back[-1].at_ns
        self._received = max(received, self._received + 1)
        bodies = []
        for arrival in self._held_back:
            request = self._request(arrival, self._received if late else arrival.at_ns)
            if request.resource_spans:
                bodies.append(request.SerializeToString())
        self._held_back = []
        if bodies:
            self._store.commit(bodies, self._received)

    def _request(self, arrival: Arrival, received_ns: int) -> ExportTraceServiceRequest:
        evidence = arrival.evidence
        if isinstance(evidence, Record):
            found = matched_runs(evidence, self._report.verdicts.values())
            return export_request([evidence] if found is None else found)
        if isinstance(evidence, HookBody):
            return export_request(_READ_HOOK[evidence.harness](evidence.body, received_ns))
        assert isinstance(evidence, OtlpBody)
        try:
            return request_from_json(json.dumps(evidence.body).encode())
        except Malformed as error:
            raise ReplayError(f"{self._file.name}:{arrival.line}: {error}") from None

    def _expect(self, moment: int, expectations: list[Expectation]) -> None:
        incidents = None if self._listener is None else self._listener.incident
        world = World(self._report.verdicts, self._tick.observer.state(moment), incidents)
        for expectation in expectations:
            misses = misses_of(expectation, world, self._header.t0_ns)
            if misses is None:
                kind = expectation.kind
                self._report.unjudged[kind] = self._report.unjudged.get(kind, 0) + 1
                continue
            self._report.checked += 1
            self._report.misses += misses

    def _fail_without_tick(self, expectations: list[Expectation]) -> None:
        for expectation in expectations:
            at_s = (expectation.at_ns - self._header.t0_ns) / 1e9
            self._report.checked += 1
            self._report.misses.append(
                Miss(expectation.line, at_s, "the replay", "tick", "one at this time", "none")
            )
