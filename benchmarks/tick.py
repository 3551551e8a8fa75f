"""The tick: many closed runs in the store, 10,000 open, 1,000 of them changed. Prints what each part takes."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.history import PER_SESSION, add_closed, add_open
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


def main() -> None:
    """Fill a store, tick, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--closed", type=int, default=1_000_000, help="closed runs in the store (default 1,000,000)"
    )
    parser.add_argument(
        "--keep", type=Path, help="folder for the filled store: kept, and taken again if it is there"
    )
    parser.add_argument("--ticks", type=int, default=TICKS, help=f"how many ticks (default {TICKS})")
    asked = parser.parse_args()
    print(f"Tick, embedded store: {describe_machine()}")
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(asked.keep or Path(folder))
        try:
            migrate(store)
            _run(store, asked.closed, asked.ticks)
        finally:
            store.close()


def _run(store: Store, closed: int, ticks: int) -> None:
    prefix = _fill(store, closed)
    now = time.time_ns()
    add_open(store, prefix, OPEN, now - 120 * SECOND)
    _settle(store)
    tick = Tick(store, Policy())
    tick.resume(now)
    received = now
    _judge_open(tick, prefix, now, received)
    took, judged = [], []
    for number in range(ticks):
        at = now + (number + 1) * SECOND
        store.commit([_news(prefix, number, at)], at)
        report = tick.evaluate(at, at)
        took.append(report.evaluation.took_ns / 1e6)
        judged.append(report.evaluation.judged)
    _line(
        f"tick, {OPEN:,} open, {CHANGED:,} changed, {closed:,} closed",
        took[1:],
        "ms",
        f"{judged[-1]:,} judged",
    )
    _one(store, prefix)


def _fill(store: Store, closed: int) -> str:
    """Add the closed runs that are missing; return under which prefix the open ones may be added."""
    stored = int(store.query("SELECT count() FROM verdict WHERE startsWith(session_id, 'c')")[0][0])
    began = time.perf_counter()
    if stored < closed:
        add_closed(store, "c", closed - stored, time.time_ns() - 3600 * SECOND, first=stored)
        print(f"{closed - stored:,} closed runs stored in {time.perf_counter() - began:.0f} s")
    elif stored > closed:
        raise SystemExit(f"the store has {stored:,} closed runs already")
    # What an earlier use of the folder left open is of no concern to this one.
    store.command("DELETE FROM verdict WHERE startsWith(session_id, 'o')")
    for table in ("evaluation", "transition", "signal", "touched"):
        store.command(f"TRUNCATE TABLE {table}")
    return f"o{time.time_ns()}-"


def _settle(store: Store) -> None:
    """Wait until the engine has merged what was stored at once, as it would have done over the days."""
    until = time.monotonic() + 120
    while time.monotonic() < until and store.query("SELECT count() FROM system.merges")[0][0]:
        time.sleep(0.5)


def _judge_open(tick: Tick, prefix: str, now: int, received: int) -> None:
    """Judge all open runs once, as a collector does that was just started."""
    began = time.perf_counter()
    tick._read_until = received - 1
    keys = {(f"{prefix}s{number // PER_SESSION}", f"{prefix}{number}") for number in range(OPEN)}
    facts = tick._load(keys)
    verdicts = tick._judge(keys, facts, now)
    for key, verdict in verdicts.items():
        tick.index.put(key, facts[key], verdict)
    tick._read_until = received
    print(f"{'all open runs, loaded and judged once':<64}{(time.perf_counter() - began) * 1000:10.0f} ms")


def _one(store: Store, prefix: str) -> None:
    loader = FactsLoader(store)
    loads = []
    facts = None
    for number in range(20):
        key = RunKey(f"{prefix}s{number}", f"{prefix}{number * PER_SESSION}")
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


def _news(prefix: str, number: int, at: int) -> bytes:
    """One tool call ended in each of CHANGED open runs, spread over all sessions."""
    step = OPEN // CHANGED
    records = [
        Record(
            "tool_call",
            at,
            run=f"{prefix}{run}",
            session=f"{prefix}s{run // PER_SESSION}",
            attributes={
                "gen_ai.tool.name": "Edit",
                "subagent.producer.id": f"{prefix}s{run // PER_SESSION}",
                "subagent.producer.seq": 9 * PER_SESSION + 1 + number,
            },
            phase="ended",
            service="bench",
        )
        for run in range(number % step, OPEN, step)
    ]
    return export_request(records).SerializeToString()


if __name__ == "__main__":
    main()
