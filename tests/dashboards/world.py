"""Worlds for the dashboards to show: recorded cases played through the real path, and one run of every kind there is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from headcount_alerts.journal import Journal
from headcount_alerts.ladder import Ladder
from headcount_alerts.wording import CLASSES, SIGNALS
from headcount_collector.evidence.record import Record, export_request
from headcount_collector.evidence.replay_file import Arrival, read_replay_file
from headcount_collector.judge.policy import SECOND, Policy
from headcount_collector.judge.verdict import STATUSES, Receipts, Signal, Verdict
from headcount_collector.store.client import Store
from headcount_collector.watch.tick import Tick
from headcount_collector.watch.verdicts import Transition, VerdictStore

CASES = Path(__file__).parents[1] / "cases"
PLAYED: dict[str, int] = {
    "04-teammate-with-summary": 580,
    "05-first-of-three-done": 310,
    "07-nudge-loop": 1300,
    "09-runbook-failure-classes": 905,
    "10-lost-notice": 1200,
    "15-late-push-after-pull": 850,
    "16-delivered-not-consumed": 480,
    "22-long-tools": 1860,
    "33-owner-gone": 240,
    "43-duplicate-dispatch": 120,
    "45-contradicted-outcome": 210,
    "47-kills": 245,
    "64-hole-in-the-numbering": 325,
    "70-waiting-for-approval": 800,
    "140-lost-without-any-concurrency": 905,
    "174-burnt-output-found-later": 200,
    "188-a-quarter-of-an-hour-in-the-queue": 1200,
    "234-an-answer-that-knows-what-is-owed": 605,
}
"""Case → seconds of it that have passed at the end."""
SESSION, RUN = "09-runbook-failure-classes/s1", "finished"
"""A run with evidence of most kinds."""
EVERY_KIND = "every kind"
"""The session of the runs of every kind."""
ABNORMAL = ("suspect_delivery_failure", "done_but_not_forwarded", "blocked")
_MINUTE = 60 * SECOND
_MODELS = ("opus-4", "sonnet-4", "haiku-4")


def play(store: Store, end_ns: int, folder: Path, tick_ns: int = 30 * SECOND) -> None:
    """Play every case so that it stands at its moment at `end_ns`; verdicts, incidents and spans stay in the store."""
    arrivals = sorted(_arrivals(end_ns, folder), key=lambda arrival: arrival.at_ns)
    policy = Policy.from_mapping({})
    tick = Tick(store, policy)
    ladder = Ladder(policy, VerdictStore(store).members_of)
    journal = Journal(store)
    moment = arrivals[0].at_ns
    read_until = 0
    while moment < end_ns + tick_ns:
        moment += tick_ns
        now = [arrival for arrival in arrivals if arrival.at_ns <= moment]
        arrivals = arrivals[len(now) :]
        if now:
            read_until = max(now[-1].at_ns, read_until + 1)
            records = [arrival.evidence for arrival in now if isinstance(arrival.evidence, Record)]
            store.commit([export_request(records).SerializeToString()], read_until)
        elif (tick.next_due is None or tick.next_due > moment) and not _minute(moment, tick_ns):
            continue
        report = tick.evaluate(moment, read_until)
        outcome = ladder.tick(moment, report.verdicts)
        journal.write(outcome.decisions, outcome.changed.values(), moment)


def _minute(moment: int, tick_ns: int) -> bool:
    """Tell whether a minute began since the tick before: then a watch writes that it is there, whatever there is to judge."""
    return moment // _MINUTE != (moment - tick_ns) // _MINUTE


def _arrivals(end_ns: int, folder: Path) -> Iterator[Arrival]:
    for case, passed_s in PLAYED.items():
        path = _moved(CASES / f"{case}.jsonl", end_ns - passed_s * SECOND, folder)
        for item in read_replay_file(path).items:
            if isinstance(item, Arrival) and item.at_ns <= end_ns:
                yield item


def name_environments(store: Store, end_ns: int, environments: Mapping[str, str]) -> None:
    """Store a span for each session that names its environment, as the resource of its process does."""
    request = ExportTraceServiceRequest()
    for session, environment in environments.items():
        named = request.resource_spans.add()
        named.resource.attributes.append(_text("deployment.environment.name", environment))
        span = named.scope_spans.add().spans.add(
            trace_id=session.encode()[:16].ljust(16), span_id=session.encode()[-8:].rjust(8), name="turn",
            start_time_unix_nano=end_ns - _MINUTE, end_time_unix_nano=end_ns,
        )  # fmt: skip
        span.attributes.append(_text("session.id", session))
    store.commit([request.SerializeToString()], end_ns)


def _text(key: str, value: str) -> KeyValue:
    return KeyValue(key=key, value=AnyValue(string_value=value))


def _moved(path: Path, t0_ns: int, folder: Path) -> Path:
    """Write the case again with another beginning, and sessions and services of its own."""
    lines = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        document = json.loads(line)
        if number == 0:
            seconds, rest = divmod(t0_ns, SECOND)
            document["t0"] = f"{_iso(seconds)}.{rest // 1_000_000:03d}Z"
        elif "event" not in document:
            continue
        else:
            document["session"] = f"{path.stem}/{document.get('session', 's1')}"
            if document["event"] == "dispatch":
                document.setdefault("model", _MODELS[len(path.stem) % len(_MODELS)])
        lines.append(json.dumps(document))
    moved = folder / path.name
    moved.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return moved


def _iso(seconds: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def every_kind(end_ns: int) -> list[Verdict]:
    """Return a run of every status, of every class in every abnormal status and severity, and of every signal."""
    found = [_verdict(f"status-{status}", status, end_ns) for status in STATUSES]
    for name, status, severity in product(CLASSES, ABNORMAL, ("warn", "page")):
        run = f"class-{name}-{status}-{severity}"
        found.append(_verdict(run, status, end_ns, failure_class=name, severity=severity))
    found.append(
        _verdict(
            "uninstrumented",
            "suspect_delivery_failure",
            end_ns,
            failure_class="unclear_slow_or_lost",
            leaning="uninstrumented",
            severity="warn",
        )
    )
    for name, severity in product(SIGNALS, ("info", "warn", "page")):
        signal = Signal(name, end_ns - 5 * _MINUTE, severity, f"what was seen of {name}")
        found.append(_verdict(f"signal-{name}-{severity}", "active", end_ns, signals=(signal,)))
    return found


def _verdict(run: str, status: str, end_ns: int, **other: object) -> Verdict:
    began, wrong = end_ns - 60 * _MINUTE, end_ns - 20 * _MINUTE
    closed = status in ("completed", "recovered")
    made = Verdict(
        session=EVERY_KIND,
        run=run,
        at=end_ns,
        status=status,
        rule="8",
        since=wrong,
        owner="lead" if len(run) % 2 else "",
        agent="reviewer",
        service="shop's \\ service",
        names=(run,),
        counts=True,
        remaining=not closed,
        abnormal_since=wrong if status in ABNORMAL else None,
        first_abnormal_at=wrong if status in ABNORMAL else None,
        failure_class="no_completion_event" if status in ABNORMAL else None,
        severity="page" if status in ABNORMAL else None,
        outcome="ok" if closed else None,
        ended_at=wrong if closed else None,
        delivered_at=wrong + _MINUTE if closed else None,
        last_progress_at=began + 10 * _MINUTE,
        receipts=Receipts(run, dispatch_at=began),
        evidence=("rule 8: the deadline passed",),
    )
    return replace(made, **other)  # type: ignore[arg-type]  # fields of Verdict, by name


def write_every_kind(store: Store, end_ns: int, version: int = 1 << 40) -> list[Verdict]:
    """Store a run of every kind with the transitions that led there, and the messages of an incident."""
    verdicts = every_kind(end_ns)
    transitions = [
        move
        for verdict in verdicts
        for move in (
            Transition(None, replace(verdict, status="active", failure_class=None, severity=None), end_ns - 60 * _MINUTE, False),
            *([Transition("active", verdict, verdict.since + SECOND, False)] if verdict.status != "active" else []),
        )
    ]  # fmt: skip
    VerdictStore(store).write(verdicts, transitions, version)
    write_messages(store, end_ns)
    name_environments(store, end_ns, {SESSION: "production", EVERY_KIND: "staging"})
    return verdicts


def write_messages(store: Store, end_ns: int) -> None:
    """Store messages that were sent, failed and given up, and the collector's own numbers."""
    numbers = [
        ((end_ns - ago * _MINUTE) // 1_000_000, name, label, value)
        for ago in range(15, 0, -1)
        for name, label, value in (
            ("queued_requests", "", float(ago % 4)),
            ("refused_requests_total", "queue_full", float(max(0, 9 - ago))),
            ("hooks_waiting", "", 0.0),
        )
    ]
    store.insert("collector_number", numbers, ["at", "name", "label", "value"])
    decided = end_ns - 10 * _MINUTE
    channels: Sequence[tuple[str, str, str]] = (
        ("slack", "sent", ""),
        ("mail", "dead", "connection refused"),
        ("pager", "", ""),
    )
    for number, (channel, outcome, error) in enumerate(channels):
        store.insert(
            "alert_message",
            [(f"m{number}", "i1", number, "notified", channel, decided, "{}")],
            ["message_id", "incident_id", "number", "step", "channel", "decided_at", "document"],
        )
        if outcome:
            store.insert(
                "alert_attempt",
                [(f"m{number}", "i1", channel, decided + SECOND, outcome, error, 0, "")],
                ["message_id", "incident_id", "channel", "at", "outcome", "error", "retry_at", "reference"],
            )
