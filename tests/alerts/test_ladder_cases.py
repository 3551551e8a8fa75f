"""Every rule of the ladder has a replay case, and the case sends exactly the messages that the rule asks for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headcount_collector.evidence.moment import moment_ns
from headcount_collector.evidence.replay_file import read_replay_file
from headcount_collector.replay.run import Replayer, ReplayReport

CASES = Path(__file__).parents[1] / "cases"
Steps = list[tuple[float, str]]

RULES: dict[str, tuple[str, str, Steps]] = {
    "notify, remind, escalate, each one window apart; then quiet; delivery closes": (
        "50-notify-remind-escalate",
        "",
        [(130, "notified"), (730, "reminded"), (1330, "escalated"), (2601, "closed")],
    ),
    "an acknowledgement covers a page though a warning joins": (
        "266-a-warning-does-not-undo-an-acknowledgement",
        "lead",
        [(10, "notified"), (40, "notified")],
    ),
    "again each re_escalate while nobody acknowledges": (
        "260-said-again-while-nobody-answers",
        "",
        [(130, "notified"), (730, "reminded"), (1330, "escalated"), (3130, "escalated"), (4930, "escalated")],
    ),
    "a warning notifies once; a severity that rises starts the ladder again": (
        "51-warning-becomes-a-page",
        "",
        [(840, "notified"), (1800, "notified"), (2400, "reminded"), (3000, "escalated")],
    ),
    "a class that turns into a page by time alone counts only if the severity rises": (
        "263-a-page-by-time-alone-starts-nothing-again",
        "",
        [(120, "notified"), (130, "notified"), (730, "reminded"), (1330, "escalated")],
    ),
    "a page that joins starts it again, also after an escalation": (
        "59-a-second-loss-after-an-escalation",
        "",
        [
            (130, "notified"),
            (730, "reminded"),
            (1330, "escalated"),
            (2030, "notified"),
            (2630, "reminded"),
        ],
    ),
    "and after an acknowledgement": (
        "52-acknowledgement",
        "",
        [(130, "notified"), (830, "notified"), (1430, "reminded")],
    ),
    "an acknowledgement lasts for ack_for": (
        "58-an-acknowledgement-runs-out",
        "",
        [(130, "notified"), (14600, "reminded"), (15200, "escalated")],
    ),
    "paused while nothing is wrong; the next step one window after it resumes": (
        "57-a-flapping-run-is-one-incident",
        "",
        [(360, "notified"), (1310, "reminded"), (1460, "closed")],
    ),
    "one re_escalate after it resumes, where it was escalated": (
        "261-resumed-after-the-escalation",
        "",
        [(360, "notified"), (960, "reminded"), (1560, "escalated"), (4200, "escalated")],
    ),
    "a remark opens nothing and resumes nothing": (
        "262-a-remark-neither-opens-nor-resumes",
        "",
        [(720, "notified")],
    ),
    "a silence defers and does not close": (
        "207-a-silence-defers",
        "",
        [(690, "notified"), (1290, "reminded"), (1400, "closed")],
    ),
    "what is over when the gate opens is told to nobody": ("66-over-before-the-silence-is", "", []),
    "activity closes nothing": (
        "54-only-delivery-closes",
        "",
        [(130, "notified"), (300, "notified"), (400, "closed")],
    ),
    "vanished telemetry resolves nothing": (
        "29-never-acknowledged",
        "",
        [(120, "notified"), (1020, "notified"), (1620, "reminded")],
    ),
    "a gate that defers three windows in a row is an incident": (
        "264-a-gate-that-stays-shut",
        "gate:observer",
        [(595, "notified"), (655, "reminded"), (660, "closed")],
    ),
    "one incident says that the observer is blind": (
        "60-collector-was-down",
        "observer",
        [(1000, "notified"), (1060, "closed")],
    ),
    "more than storm are one fleet incident": ("55-storm", "fleet", [(135, "notified"), (735, "reminded")]),
    "the sleep of the host moves the windows": (
        "67-asleep-between-two-steps",
        "",
        [(130, "notified"), (1630, "reminded")],
    ),
    "an owner that ends hands its incident over with its level": (
        "265-an-owner-that-ends-hands-its-incident-over",
        "",
        [(650, "notified"), (1330, "escalated")],
    ),
    "children that nobody instrumented are one incident": (
        "196-children-that-nobody-instrumented",
        "uninstrumented:mystery",
        [(900, "notified")],
    ),
}


@pytest.fixture(scope="module")
def replayer() -> Iterator[Replayer]:
    found = Replayer.open()
    yield found
    found.close()


@pytest.mark.parametrize("rule", RULES)
def test_the_case_of_a_rule_sends_what_the_rule_asks_for(rule: str, replayer: Replayer) -> None:
    name, owner, steps = RULES[rule]
    report = replayer.replay(read_replay_file(CASES / f"{name}.jsonl"))
    assert report.passed, report.misses
    assert _steps(report, owner) == steps


def _steps(report: ReplayReport, owner: str) -> Steps:
    """Return the messages about the first incident of an owner, without the changes that only edit one."""
    incident = next(i for i in report.incidents if i["owner"] == owner)
    return [
        ((moment_ns(step["at"]) - report.t0_ns) / 1e9, step["step"])
        for step in incident["steps"]
        if step["step"] != "updated"
    ]
