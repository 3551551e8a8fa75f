"""The tick: many closed runs in the store, 10,000 open, 1,000 of them changed. Prints what each part takes."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.machine import describe_machine

from headcount_collector.derive.loader import FactsLoader, RunKey
from headcount_collector.evidence.record import Record, export_request
from headcount_collector.judge.judge import judge
from headcount_collector.judge.policy import SECOND, Policy
from headcount_collector.store.client import Store
from headcount_collector.store.migrate import migrate
from headcount_collector.watch.tick import Tick

OPEN = 10_000
CHANGED = 1_000
TICKS = 7
PER_SESSION = 10
_CHUNK = 50_000

_LIFE = """
INSERT INTO otel_traces (Timestamp, TraceId, SpanId, SpanName, SpanKind, ServiceName, ResourceAttributes, SpanAttributes, Duration)
SELECT
    fromUnixTimestamp64Nano({{t0:Int64}} + offset_s * 1000000000),
    lower(hex(cityHash64(run))) || lower(hex(cityHash64(session))),
    lower(hex(cityHash64(run, step))),
    'subagent.' || event, 'Internal', 'bench',
    map('service.name', 'bench', 'headcount.received_unix_nano', toString({{t0:Int64}} + offset_s * 1000000000)),
    mapConcat(
        map('subagent.event', event, 'subagent.run.id', run, 'session.id', session, 'subagent.producer.id', session),
        details
    ),
    0
FROM
(
    SELECT
        {{prefix:String}} || toString(number) AS run,
        {{prefix:String}} || 's' || toString(intDiv(number, {per_session})) AS session,
        arrayJoin({steps}) AS told, told.1 AS step, told.2 AS event, told.3 AS offset_s, told.4 AS details
    FROM numbers({{first:UInt64}}, {{count:UInt64}})
)
"""
_WORK = """[
    (0, 'dispatch', 0, map('gen_ai.agent.name', 'worker', 'subagent.mode', 'background')),
    (1, 'launch', 1, map('subagent.launch.state', 'registered')),
    (2, 'start', 2, map('subagent.attempt', '1')),
    (3, 'tool_call', 20, map('subagent.phase', 'ended', 'gen_ai.tool.name', 'Read', 'gen_ai.tool.call.id', run || 'a')),
    (4, 'tool_call', 60, map('subagent.phase', 'ended', 'gen_ai.tool.name', 'Edit', 'gen_ai.tool.call.id', run || 'b')),
    (5, 'output', 70, map('subagent.output_tokens', '400'))
    {end}
]"""
_END = """,
    (6, 'child_done', 100, map('subagent.outcome', 'ok', 'subagent.result.size', '900')),
    (7, 'completion_received', 101, map('subagent.result.source', 'completion_push')),
    (8, 'completion_forwarded', 102, map('subagent.forwarded_to_main', 'true'))
"""
_VERDICTS = """
INSERT INTO verdict (session_id, run_id, judged_at, status, owner_id, agent, service, mode, dispatched_at, since, document, version)
SELECT 'cs' || toString(intDiv(number, {per_session})), 'c' || toString(number), fromUnixTimestamp64Nano({{t0:Int64}}),
    'completed', '', 'worker', 'bench', 'background', fromUnixTimestamp64Nano({{t0:Int64}}), fromUnixTimestamp64Nano({{t0:Int64}}),
    repeat('x', 900), 1
FROM numbers({{first:UInt64}}, {{count:UInt64}})
"""


def main() -> None:
    """Fill a store, tick, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--closed", type=int, default=1_000_000, help="closed runs in the store (default 1,000,000)"
    )
    closed = parser.parse_args().closed
    print(f"Tick, embedded store: {describe_machine()}")
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(Path(folder))
        try:
            migrate(store)
            _run(store, closed)
        finally:
            store.close()


def _run(store: Store, closed: int) -> None:
    now = time.time_ns()
    began = time.perf_counter()
    for first in range(0, closed, _CHUNK):
        _fill(store, "c", now - 3600 * SECOND, first, min(_CHUNK, closed - first), _END)
    _fill(store, "o", now - 120 * SECOND, 0, OPEN, "")
    filled = time.perf_counter() - began
    print(f"{closed:,} closed and {OPEN:,} open runs stored in {filled:.0f} s")
    tick = Tick(store, Policy())
    tick.resume(now)
    received = now
    _judge_open(tick, now, received)
    took, judged = [], []
    for number in range(TICKS):
        at = now + (number + 1) * SECOND
        store.commit([_news(number, at)], at)
        report = tick.evaluate(at, at)
        took.append(report.evaluation.took_ns / 1e6)
        judged.append(report.evaluation.judged)
    _line(
        f"tick, {OPEN:,} open, {CHANGED:,} changed, {closed:,} closed",
        took[1:],
        "ms",
        f"{judged[-1]:,} judged",
    )
    _one(store)


def _judge_open(tick: Tick, now: int, received: int) -> None:
    """Judge all open runs once, as a collector does that was just started."""
    began = time.perf_counter()
    tick._read_until = received - 1
    keys = {(f"os{number // PER_SESSION}", f"o{number}") for number in range(OPEN)}
    facts = tick._load(keys)
    verdicts = tick._judge(keys, facts, now)
    for key, verdict in verdicts.items():
        tick.index.put(key, facts[key], verdict)
    tick._read_until = received
    print(f"{'all open runs, loaded and judged once':<64}{(time.perf_counter() - began) * 1000:10.0f} ms")


def _one(store: Store) -> None:
    loader = FactsLoader(store)
    loads = []
    facts = None
    for number in range(20):
        key = RunKey(f"os{number}", f"o{number * PER_SESSION}")
        began = time.perf_counter()
        facts = loader.load([key])[key]
        loads.append((time.perf_counter() - began) * 1000)
    _line("facts of one run", loads, "ms")
    assert facts is not None
    policy, now = Policy(), time.time_ns()
    times = []
    for _ in range(2000):
        began = time.perf_counter()
        judge(facts, policy, now)
        times.append((time.perf_counter() - began) * 1e6)
    _line("judge, one open run", times, "µs")


def _line(label: str, values: list[float], unit: str, more: str = "") -> None:
    print(
        f"{label:<64}{statistics.median(values):10.0f} {unit} median {max(values):8.0f} {unit} worst  {more}"
    )


def _fill(store: Store, prefix: str, t0: int, first: int, count: int, end: str) -> None:
    parameters = {"t0": t0, "first": first, "count": count, "prefix": prefix}
    store.command(_LIFE.format(steps=_WORK.format(end=end), per_session=PER_SESSION), parameters)
    if end:
        store.command(_VERDICTS.format(per_session=PER_SESSION), {"t0": t0, "first": first, "count": count})


def _news(number: int, at: int) -> bytes:
    """One tool call ended in each of CHANGED open runs, spread over all sessions."""
    step = OPEN // CHANGED
    records = [
        Record(
            "tool_call",
            at,
            run=f"o{run}",
            session=f"os{run // PER_SESSION}",
            attributes={"gen_ai.tool.name": "Edit", "subagent.producer.id": f"os{run // PER_SESSION}"},
            phase="ended",
            service="bench",
        )
        for run in range(number % step, OPEN, step)
    ]
    return export_request(records).SerializeToString()


if __name__ == "__main__":
    main()
