"""What happened to the host's clock between two looks at it."""

from __future__ import annotations

import pytest

from headcount_collector.judge.policy import SECOND
from headcount_collector.watch.clock import HostClock, Passed
from headcount_collector.watch.observer import ASLEEP, AWAY, SET_FORWARD

LATE_AFTER = 11 * SECOND


@pytest.mark.parametrize(
    ("wall", "lived", "slept", "passed"),
    [
        (1, 1, 0, Passed()),
        (11, 11, 0, Passed()),
        (12, 12, 0, Passed(blind=(100, 112), why=AWAY)),
        (601, 1, 600, Passed(blind=(100, 701), why=ASLEEP)),
        (3, 1, 2, Passed(blind=(100, 103), why=ASLEEP)),
        # The clock was set: forward, little or much, and back; so was it while nobody looked.
        (10, 1, 0, Passed()),
        (3601, 1, 0, Passed(blind=(100, 3701), why=SET_FORWARD)),
        (0, 1, 0, Passed()),
        (-1, 1, 0, Passed(set_back=2)),
        (-59, 1, 0, Passed(set_back=60, blind=(40, 41), why=AWAY)),
        (-40, 20, 0, Passed(set_back=60, blind=(40, 60), why=AWAY)),
        (0, 60, 0, Passed(set_back=60, blind=(40, 100), why=AWAY)),
        # A host that slept and whose clock was put right afterwards.
        (500, 1, 600, Passed(set_back=101, blind=(-1, 600), why=ASLEEP)),
    ],
)
def test_each_difference_has_one_name(wall: int, lived: int, slept: int, passed: Passed) -> None:
    clock = HostClock(100 * SECOND, 5 * SECOND, 7 * SECOND)
    found = clock.look(
        (100 + wall) * SECOND, (5 + lived) * SECOND, (7 + slept) * SECOND, late_after=LATE_AFTER
    )
    blind = passed.blind and (passed.blind[0] * SECOND, passed.blind[1] * SECOND)
    assert found == Passed(passed.set_back * SECOND, blind, passed.why)


def test_each_look_begins_where_the_last_one_ended() -> None:
    clock = HostClock(100 * SECOND, 0, 0)
    assert clock.look(40 * SECOND, 1 * SECOND, 0, late_after=LATE_AFTER).set_back == 61 * SECOND
    assert clock.look(41 * SECOND, 2 * SECOND, 0, late_after=LATE_AFTER) == Passed()
