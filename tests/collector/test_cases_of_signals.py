"""Each signal of the contract has cases that show it open, closed again, and not opened by what only looks like it."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

from headcount_collector.evidence.expectation import SIGNALS

CASES = Path(__file__).parent.parent / "cases"
OPEN, CLOSED, NEAR = "open", "closed", "near miss"
CLOSES_BY_NOTHING = frozenset({"unattributed_kill", "model_changed", "duplicate_completion"})
"""What was done stays done."""


def shown(file: Path) -> set[tuple[str, str]]:
    """Return (signal, what a case expects of it)."""
    ever: dict[tuple[str, str], set[str]] = defaultdict(set)
    never: dict[tuple[str, str], set[str]] = defaultdict(set)
    found: set[tuple[str, str]] = set()
    for line in file.read_text().splitlines():
        expected = json.loads(line).get("expect", {}) if line.strip() else {}
        if "run" not in expected:
            continue
        key = (expected.get("session", ""), expected["run"])
        for signal in expected.get("signals", ()):
            ever[key].add(signal)
            found.add((signal, OPEN))
        for signal in expected.get("no_signals", ()):
            if signal in ever[key]:
                found.add((signal, CLOSED))
            else:
                never[key].add(signal)
    return found | {(signal, NEAR) for key, signals in never.items() for signal in signals - ever[key]}


@pytest.fixture(scope="module")
def all_shown() -> set[tuple[str, str]]:
    index = json.loads((CASES / "index.json").read_text())
    return {one for case in index for one in shown(CASES / case["file"])}


def test_the_index_names_every_case_and_no_other() -> None:
    index = json.loads((CASES / "index.json").read_text())
    assert sorted(case["file"] for case in index) == sorted(file.name for file in CASES.glob("*.jsonl"))


@pytest.mark.parametrize("signal", sorted(SIGNALS))
def test_a_signal_has_cases_for_opening_closing_and_a_near_miss(
    signal: str, all_shown: set[tuple[str, str]]
) -> None:
    wanted = {OPEN, NEAR} if signal in CLOSES_BY_NOTHING else {OPEN, CLOSED, NEAR}
    assert {what for name, what in all_shown if name == signal} >= wanted
