"""From a deadline that passes to the call of a channel, over loopback, with the ticking collector in between."""

from __future__ import annotations

import json
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from benchmarks.machine import describe_machine

from headcount_alerts.decision import Outcome
from headcount_alerts.ladder import Ladder
from headcount_alerts.serving import ServedAlerts
from headcount_collector.api.collector import Collector
from headcount_collector.evidence.record import Record, export_request
from headcount_collector.judge.policy import Policy
from headcount_collector.judge.verdict import Verdict
from headcount_collector.settings import load_settings

RUNS = 60
STORM = 10_000
_TICK_S = 1.0
_EXPECTED_S = 3.0
_GATHERING_S = 40
"""In which so many dispatches must have been taken."""


class Channel:
    """A webhook that notes when each session was told."""

    def __init__(self) -> None:
        self.came: dict[str, float] = {}
        self.at: list[float] = []
        self.spent: list[float] = []
        """Seconds from the beginning of the tick that decided to the call."""
        self.news = threading.Condition()

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Serve on a free port of loopback."""
        channel = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                at = time.time()
                body = self.rfile.read(int(self.headers["Content-Length"]))
                message = json.loads(body)
                with channel.news:
                    channel.came.setdefault(message["session"], at)
                    channel.at.append(at)
                    channel.spent.append(at - message["at"] / 1e9)
                    channel.news.notify_all()
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


def deadline_to_channel() -> tuple[list[float], list[float]]:
    """Return for each run the seconds from its deadline to the call, and from the tick to it; a run each 0.1 s."""
    channel = Channel()
    with tempfile.TemporaryDirectory() as folder, channel.serving() as url:
        policy = {"expected": f"{_EXPECTED_S}s", "storm": 10_000}
        settings = load_settings(data=Path(folder), tick_s=_TICK_S, policy=policy, alerts=_alerts(url))
        with Collector.open(settings) as collector:
            heard = [Record("start", time.time_ns(), "known", "known", {}, service="svc")]
            _commit(collector, [_dispatch("known", time.time_ns()), *heard])
            deadlines: dict[str, float] = {}
            pause = threading.Event()
            for number in range(RUNS):
                at = time.time_ns()
                session = f"s{number}"
                _commit(collector, [_dispatch(session, at)])
                deadlines[session] = at / 1e9 + _EXPECTED_S
                pause.wait(0.1)
            with channel.news:
                channel.news.wait_for(lambda: deadlines.keys() <= channel.came.keys(), timeout=60)
            return [channel.came[session] - at for session, at in deadlines.items()], channel.spent


@dataclass(frozen=True, slots=True)
class Outage:
    """What became of so many runs that are overdue at one moment."""

    first_call_s: float
    """From the deadline to the first call of the channel."""
    tick_s: float
    """How long the tick took that judged them."""
    calls: int
    found: int
    """How many incidents of single runs can be found from the message."""


def outage() -> Outage:
    """Let the deadline of so many runs, each in a session of its own, pass at one moment in a whole collector."""
    channel = Channel()
    with tempfile.TemporaryDirectory() as folder, channel.serving() as url:
        settings = load_settings(
            data=Path(folder), tick_s=_TICK_S, policy={"expected": "1h"}, alerts=_alerts(url)
        )
        with Collector.open(settings) as collector:
            now = time.time_ns()
            _commit(
                collector,
                [_dispatch("known", now), Record("start", now, "known", "known", {}, service="svc")],
            )
            deadline = time.time_ns() + _GATHERING_S * 10**9
            by = datetime.fromtimestamp(deadline / 1e9, UTC).isoformat()
            for first in range(0, STORM, 1000):
                some = [_dispatch(f"s{n}", time.time_ns(), by) for n in range(first, first + 1000)]
                _commit(collector, some)
            assert time.time_ns() < deadline, (
                "the machine is too slow to dispatch so many before their deadline"
            )
            with channel.news:
                channel.news.wait_for(lambda: bool(channel.at), timeout=120)
            threading.Event().wait(5)  # whoever calls once more does so by then
            (alerts,) = (one.alerts for one in collector.listeners if isinstance(one, ServedAlerts))
            fleet = alerts.ladder.find("", "fleet")
            assert fleet is not None
            return Outage(
                channel.at[0] - deadline / 1e9,
                max(
                    float(took)
                    for (took,) in collector.store.query("SELECT max(took_ns) / 1e9 FROM evaluation")
                ),
                len(channel.at),
                alerts.journal.count({"fleet": fleet.id}),
            )


def storm() -> tuple[float, Outcome]:
    """Return how long the ladder takes for so many sessions that turn in one tick, and what it came to."""
    at = 1_796_040_000 * 10**9
    condition: dict[str, Any] = {
        "status": "blocked",
        "rule": "8",
        "failure_class": "no_completion_event",
        "severity": "page",
    }
    verdicts = {
        (f"s{n}", f"r{n}"): Verdict(session=f"s{n}", run=f"r{n}", at=at, since=at, **condition)
        for n in range(STORM)
    }
    ladder = Ladder(Policy(), lambda sessions: {})
    began = time.perf_counter()
    outcome = ladder.tick(at, verdicts)
    return time.perf_counter() - began, outcome


def _alerts(url: str) -> dict[str, Any]:
    hook = {"type": "webhook", "url": url, "rate_per_minute": 6000}
    return {"receivers": {"hook": {"channels": [hook]}}, "route": {"receiver": "hook"}}


def _dispatch(session: str, at: int, by: str = "") -> Record:
    said = {"gen_ai.agent.name": "worker"} | ({"subagent.expected_by": by} if by else {})
    return Record("dispatch", at, session, session, said, service="svc")


def _commit(collector: Collector, records: list[Record]) -> None:
    body = export_request(records).SerializeToString()
    collector.intake.committer.submit(body, len(records)).result(timeout=30)


def _spread(values: list[float]) -> str:
    worst = sorted(values)[min(len(values) - 1, round(0.99 * len(values)))]
    return f"median {statistics.median(values):.2f} s, 99th percentile {worst:.2f} s"


def main() -> None:
    """Print the figures."""
    print(describe_machine())
    waits, spent = deadline_to_channel()
    print(f"\ndeadline to channel call, tick {_TICK_S:g} s, {RUNS} runs:")
    print(f"  {_spread(waits)} (aim: 99 % within {_TICK_S + 1:g} s)")
    print(f"  of that from the beginning of the tick: {_spread(spent)}")
    found = outage()
    print(f"\n{STORM} sessions are overdue at one moment, in a whole collector:")
    print(f"  first call {found.first_call_s:.2f} s after the deadline, tick {found.tick_s:.2f} s")
    print(f"  {found.calls} calls, {found.found} incidents found from the message")
    took, outcome = storm()
    print("\nof that the ladder alone:")
    print(f"  {took * 1000:.0f} ms, {len(outcome.steps)} messages, {len(outcome.decisions)} decisions")


if __name__ == "__main__":
    main()
