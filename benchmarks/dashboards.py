"""Every query of every panel and rule over a million runs, on the embedded engine. Prints a table, slowest first."""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from collections.abc import Iterator

from benchmarks.machine import describe_machine
from tests.dashboards import many
from tests.dashboards.asked import all_panels, all_rules, rule_queries
from tests.dashboards.macros import ALL, Scene, expand, expand_macros

from headcount_collector.store.client import Store
from headcount_collector.store.migrate import migrate

RUNS = 1_000_000
_DAYS = 3650
_LIMIT_MS = 1000
_TRIES = 3


def main(runs: int = RUNS) -> None:
    """Fill a database and ask everything, each query three times; the best counts."""
    print(f"Queries of dashboards and rules over {runs:,} runs: {describe_machine()}")
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Store.open(folder)) as store:
        migrate(store, retention_days=_DAYS)
        many.fill(store, runs)
        found = sorted(((_measure(store, sql), name) for name, sql in _queries()), reverse=True)
    print(f"{'query':<75}{'ms':>6}")
    for took_ms, name in found:
        print(f"{name:<75}{took_ms:>6.0f}")
    over = [name for took_ms, name in found if took_ms > _LIMIT_MS]
    print(f"{len(found)} queries, {len(over)} of them over {_LIMIT_MS} ms")


def _queries() -> Iterator[tuple[str, str]]:
    now = int(time.time())
    variables = {
        "environment": ["production"],
        "service": [ALL],
        "agent": [ALL],
        "owner": [ALL],
        "session": "session-50",
        "run": "run-1002",
    }
    for name, panel in all_panels():
        days = 7 if panel["targets"][0]["rawSql"].count("transition") else 1
        scene = Scene(now - days * 86400, now, 600, variables)
        for target in panel["targets"]:
            yield f"{name} {target['refId']}", expand(target["rawSql"], scene)
    for rule in all_rules():
        for query in rule_queries(rule):
            sql = expand_macros(query["model"]["rawSql"], Scene(now - 600, now))
            yield f"rule {rule['title']} {query['refId']}", sql


def _measure(store: Store, sql: str) -> float:
    best = float("inf")
    for _ in range(_TRIES):
        began = time.perf_counter()
        store.query(sql)
        best = min(best, (time.perf_counter() - began) * 1000)
    return best


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
