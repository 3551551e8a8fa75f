"""The watch hears of its host's clock: what it makes of a step, and that no commit is missed for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from headcount_collector.judge.policy import SECOND
from headcount_collector.store import Store, migrate
from headcount_collector.watch import service
from headcount_collector.watch.service import Watch

NOW = 1_796_000_000 * SECOND
HOUR = 3600 * SECOND


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with closing(Store.open(":memory:")) as opened:
        migrate(opened)
        yield opened


class Clock:
    """What the host's clocks say: the wall clock, and one that is never set."""

    def __init__(self) -> None:
        self.wall = NOW
        self.steady = 0

    def __call__(self) -> tuple[int, int, int]:
        return self.wall, self.steady, 0

    def time_ns(self) -> int:
        return self.wall

    def step(self, lived: int, wall: int) -> None:
        self.steady += lived
        self.wall += wall


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(service, "_clocks", found)
    monkeypatch.setattr("time.time_ns", found.time_ns)
    return found


def test_a_step_forward_is_a_sleep_and_one_back_an_outage_without_trust(store: Store, clock: Clock) -> None:
    watch = Watch(store)
    clock.step(SECOND, HOUR)
    watch._look_at_the_clock()
    observer = watch.tick.observer
    assert observer.sleeps == [(NOW, NOW + HOUR)]
    assert observer.degraded(NOW + HOUR)
    clock.step(SECOND, SECOND - HOUR)
    watch._look_at_the_clock()
    assert observer.sleeps == []
    assert observer.outages == [(NOW, NOW + SECOND)]
    assert observer.degraded(NOW + 2 * SECOND)
    assert observer.blind_from <= NOW - HOUR + 2 * SECOND


def test_what_is_committed_is_told_by_the_new_time_once_the_clock_was_set_back(
    store: Store, clock: Clock
) -> None:
    watch = Watch(store)
    watch.notice(NOW)
    clock.step(SECOND, SECOND - HOUR)
    watch.notice(NOW + 1)  # begun before the step
    watch.notice(NOW - HOUR + 5)  # before the watch looked at its clock
    watch._look_at_the_clock()
    assert watch._committed == NOW - HOUR + 5
    watch.notice(NOW + 2)
    watch.notice(NOW - HOUR + 9)
    assert watch._committed == NOW - HOUR + 9
