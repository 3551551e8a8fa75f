"""Every page over a million runs, ten thousand of them open: what the server takes, and when a browser first paints."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from benchmarks.machine import describe_machine
from tests.collector.browser import Browser, browsing
from tests.collector.page_evidence import commit, story
from tests.collector.running import Running, eventually, running_collector
from tests.dashboards import many

RUNS = 1_000_000
_TRIES = 3
_LIMIT_MS = 1000
_MODELS = {
    "active": "lead-1",
    "suspect_delivery_failure": "migrator-2",
    "done_but_not_forwarded": "reviewer-7",
    "blocked": "asker-1",
    "completed": "done-1",
    "recovered": "done-1",
}
"""The run of the story whose document stands for each status."""


def main(runs: int = RUNS) -> None:
    """Fill a store beneath a running collector and open every page, each three times; the best counts."""
    print(f"Pages over {runs:,} runs: {describe_machine()}")
    with (
        tempfile.TemporaryDirectory() as folder,
        running_collector(Path(folder), log_level="error", tick_s=1.0) as running,
        browsing(running.url) as browser,
    ):
        commit(running.collector, story())
        eventually(
            lambda: running.get("/api/v1/runs?session=s1").json["total"] == len(set(_MODELS.values())) + 1
        )
        judged = {run["run"]: run for run in running.get("/api/v1/runs?session=s1").json["runs"]}
        documents = {status: {**judged[run], "status": status} for status, run in _MODELS.items()}
        store = running.collector.store
        rows = eventually(lambda: store.query("SELECT document FROM incident FINAL WHERE session_id = 's1'"))
        many.fill(store, runs, documents=documents, incident=rows[0][0])
        browser.set()
        print(f"{'page':<60}{'server ms':>12}{'its cpu ms':>12}{'paint ms':>12}")
        worst = 0
        for path in _paths(runs):
            took, cpu, paint = map(
                min, zip(*(_measure(running, browser, path) for _ in range(_TRIES)), strict=True)
            )
            worst = max(worst, paint)
            print(f"{path:<60}{took:>12}{cpu:>12}{paint:>12}", flush=True)
        print(f"slowest first paint {worst} ms, limit {_LIMIT_MS} ms")


def _paths(runs: int) -> list[str]:
    last = runs - 1
    return [
        "/",
        "/?agent=agent-3",
        "/?section=open&order=oldest",
        "/?section=closed&offset=900",
        f"/sessions/session-{last // 20}",
        f"/runs/run-{last}?session=session-{last // 20}",
        f"/runs/run-{runs // 2}?session=session-{runs // 40}&evidence=true",
        f"/runs/run-{runs // 2}",
        f"/search?q=run-{last // 10}9",
        f"/search?q=session-{last // 20}",
        "/search?q=owner-3",
        "/search?q=Review",
        "/search?q=nowhere+at+all",
        "/incidents",
        "/policy?agent=agent-3",
        "/health",
    ]


def _measure(running: Running, browser: Browser, path: str) -> tuple[int, int, int]:
    """Return what the answer took by the clock, what the collector's process computed for it, and the first paint."""
    began, computed = time.perf_counter(), time.process_time()
    answer = running.get(path, Accept="text/html")
    took, cpu = ((time.perf_counter() - began) * 1000, (time.process_time() - computed) * 1000)
    assert answer.status == 200, answer.body[:300]
    browser.open(path)
    script = "return Math.round((performance.getEntriesByType('paint')[0] || {}).startTime)"
    return round(took), round(cpu), int(browser.until(lambda: browser.run(script)))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
