"""The fault suite in figures: which faults are found, how late, and what was called a fault and was none."""

from __future__ import annotations

import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headcount_collector.evidence.replay_file import read_replay_file
from headcount_collector.judge.policy import SECOND
from headcount_collector.judge.verdict import Verdict
from headcount_collector.replay.run import Replayer, ReplayReport

CASES = Path(__file__).parent.parent / "tests" / "cases"


@dataclass(slots=True)
class Row:
    """One kind of fault."""

    cases: int = 0
    faults: int = 0
    detected: int = 0
    missed: int = 0
    false: int = 0
    delays_s: list[float] | None = None


def main(argv: Sequence[str] = sys.argv[1:]) -> int:
    """Replay every case of the index and print the table; a word restricts it to files that contain it."""
    index = json.loads((CASES / "index.json").read_text())
    chosen = [case for case in index if all(word in case["file"] for word in argv)]
    rows: dict[str, Row] = defaultdict(Row)
    notes: list[str] = []
    replayer = Replayer.open()
    try:
        for number, case in enumerate(chosen, 1):
            if sys.stderr.isatty():
                print(f"\r{number}/{len(chosen)} {case['file']:<70}", end="", file=sys.stderr)
            report = replayer.replay(read_replay_file(CASES / case["file"]))
            _count(rows[case["kind"]], case, report, notes)
    finally:
        replayer.close()
    _print(rows, notes)
    return 0


def _count(row: Row, case: dict[str, Any], report: ReplayReport, notes: list[str]) -> None:
    row.cases += 1
    well = case.get("well", ())
    loud = [(at, verdict) for at, verdict in report.beliefs if verdict.run in well and _loud(verdict)]
    if loud:
        row.false += 1
        at, verdict = loud[0]
        notes.append(f"false: {case['file']} at {_seconds(at, report):g} s: {verdict.run} {_said(verdict)}")
    if not case["fault"]:
        return
    row.faults += 1
    wanted = case["detect"]
    found = [
        at
        for at, verdict in report.beliefs
        if verdict.run == wanted["run"]
        and _seconds(at, report) >= wanted["from"]
        and _matches(verdict, wanted["by"])
    ]
    if not found:
        row.missed += 1
        notes.append(f"missed: {case['file']}: {wanted['run']} by {wanted['by']}")
        return
    row.detected += 1
    row.delays_s = [*(row.delays_s or []), _seconds(min(found), report) - wanted["from"]]


def _loud(verdict: Verdict) -> bool:
    severities = {verdict.severity, *(signal.severity for signal in verdict.signals)}
    return bool(severities & {"warn", "page"})


def _said(verdict: Verdict) -> str:
    signals = ", ".join(signal.name for signal in verdict.signals)
    return f"{verdict.status} {verdict.failure_class or ''} {signals}".strip()


def _matches(verdict: Verdict, by: Mapping[str, Sequence[str]]) -> bool:
    said = {
        "statuses": {verdict.status},
        "classes": {verdict.failure_class},
        "leanings": {verdict.leaning},
        "signals": {signal.name for signal in verdict.signals},
    }
    return any(said[what] & set(names) for what, names in by.items())


def _seconds(at: int, report: ReplayReport) -> float:
    return (at - report.t0_ns) / SECOND


def _print(rows: dict[str, Row], notes: Sequence[str]) -> None:
    print("\n| kind | cases | faults | detected | missed | false | delay, median | delay, worst |")
    print("|---|---|---|---|---|---|---|---|")
    total = Row(delays_s=[])
    for kind, row in sorted(rows.items()):
        print(_line(kind, row))
        total.cases += row.cases
        total.faults += row.faults
        total.detected += row.detected
        total.missed += row.missed
        total.false += row.false
        total.delays_s = [*(total.delays_s or []), *(row.delays_s or [])]
    print(_line("all", total))
    recall = total.detected / total.faults if total.faults else 1.0
    named = total.detected + total.false
    precision = total.detected / named if named else 1.0
    print(f"\nprecision {precision:.3f}, recall {recall:.3f}")
    for note in notes:
        print(note)


def _line(kind: str, row: Row) -> str:
    delays = row.delays_s or []
    median = f"{statistics.median(delays):.0f} s" if delays else "-"
    worst = f"{max(delays):.0f} s" if delays else "-"
    return f"| {kind} | {row.cases} | {row.faults} | {row.detected} | {row.missed} | {row.false} | {median} | {worst} |"


if __name__ == "__main__":
    raise SystemExit(main())
