"""The recordings of a real harness, posted to a real collector, come out as judged runs."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.processes import PATIENCE_S, Served, headcount, serving

CAPTURES = Path(__file__).parents[1] / "captures/claude-code"
POLICY = {"HEADCOUNT_POLICY__DELIVERY_GRACE": "1s", "HEADCOUNT_POLICY__SKEW": "1s", "HEADCOUNT_TICK_S": "0.2"}

Judged = list[tuple[str, str]]
EXPECTED: dict[str, Judged] = {
    "plain": [("completed", "foreground")],
    "background": [("completed", "background")],
    "parallel": [("completed", "foreground"), ("completed", "foreground")],
    "background-two": [("completed", "background"), ("completed", "background")],
    "child-error": [("completed", "foreground")],
    "teammate-mute": [("completed", "foreground"), ("done_but_not_forwarded", "teammate")],
}
"""Status and mode of the runs of each recording, as its description says it happened."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("e2e") / "data", variables=POLICY) as found:
        yield found


@pytest.mark.parametrize("case", sorted(EXPECTED))
def test_a_recording_is_judged_as_it_happened(case: str, served: Served) -> None:
    bodies = hooks(case)
    for export in sorted((CAPTURES / case).glob("otlp-*-traces.json")):
        assert served.post("/v1/traces", shifted(export)) == 200
    for body in bodies:
        assert served.post("/hooks/claude-code", body) == 204
    sessions = {json.loads(body)["session_id"] for body in bodies}
    assert judged(served, sessions, EXPECTED[case]) == EXPECTED[case]


def test_runs_prints_them_all(served: Served) -> None:
    page = json.loads(headcount("runs", "--url", served.url, "--json").stdout)
    assert page["total"] == len(page["runs"])
    assert page["runs"][0]["status"] == "done_but_not_forwarded"
    table = headcount("runs", "--url", served.url).stdout
    assert all(run["run"] in table for run in page["runs"])


def judged(served: Served, sessions: set[str], wanted: Judged) -> Judged:
    """Ask until the runs of these sessions are as wanted; return what they are."""
    ends, pause = time.monotonic() + PATIENCE_S, threading.Event()
    while True:
        runs = served.get("/api/v1/runs")["runs"]
        found = sorted((run["status"], run["mode"]) for run in runs if run["session"] in sessions)
        if found == wanted or time.monotonic() > ends:
            return found
        pause.wait(0.1)


def hooks(case: str) -> list[bytes]:
    """Return the bodies of a recording. The mute teammate's owner stays: it left after twenty seconds of waiting."""
    lines = (CAPTURES / case / "hooks.jsonl").read_text().splitlines()
    bodies = [json.dumps(json.loads(line)["body"]).encode() for line in lines]
    return bodies[:-1] if case == "teammate-mute" else bodies


def shifted(path: Path) -> bytes:
    """Return a recorded export with its times moved so that the last span ended just now."""
    document = json.loads(path.read_text())
    shift = time.time_ns() - max(int(span["endTimeUnixNano"]) for span in _spans(document))
    for span in _spans(document):
        for part in (span, *span.get("events", ())):
            for key in ("startTimeUnixNano", "endTimeUnixNano", "timeUnixNano"):
                if key in part:
                    part[key] = str(int(part[key]) + shift)
    return json.dumps(document).encode()


def _spans(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        span
        for resource in document["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]
