"""The judge's lease: never two holders, whatever is slow or fails; a lost one is taken over; on the real store too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount_collector.judge.policy import SECOND
from headcount_collector.store import Store, StoreError, migrate
from headcount_collector.watch.lease import Lease, StoredLease, Term


@dataclass
class World:
    """One table and one time for all; inserts become visible late, and may fail for some."""

    now: int = 1_000 * SECOND
    rows: list[tuple[int, Term]] = field(default_factory=list)
    delay: int = 0
    away: bool = False

    def now_ns(self) -> int:
        self._check()
        return self.now

    def terms(self, after_ns: int) -> list[Term]:
        self._check()
        latest: dict[str, Term] = {}
        for visible, term in self.rows:
            if visible <= self.now and term.written_ns > after_ns:
                latest[term.term] = term
        return list(latest.values())

    def write(self, term: Term) -> None:
        self._check()
        self.rows.append((self.now + self.delay, term))

    def _check(self) -> None:
        if self.away:
            raise StoreError("away")


def judges(world: World, number: int) -> list[Lease]:
    return [
        Lease(world, ttl_s=15, settle_s=2, holder=str(n), clock_ns=lambda: world.now) for n in range(number)
    ]


def run(world: World, leases: list[Lease], seconds: float) -> list[Lease]:
    """Step all of them ten times a second; at no moment may two hold it."""
    for _ in range(round(seconds * 10)):
        for lease in leases:
            lease.hold()
            assert sum(one.held for one in leases) <= 1
        world.now += SECOND // 10
    return [lease for lease in leases if lease.held]


def test_one_of_three_holds_it_and_keeps_it() -> None:
    world = World()
    leases = judges(world, 3)
    (first,) = run(world, leases, 10)
    assert run(world, leases, 100) == [first]
    assert {lease.other for lease in leases if lease is not first} == {"0"}


def test_a_holder_that_dies_is_followed_within_two_ttl() -> None:
    world = World()
    leases = judges(world, 3)
    (first,) = run(world, leases, 10)
    rest = [lease for lease in leases if lease is not first]
    assert run(world, rest, 30) != []


def test_a_release_lets_the_next_one_in_soon() -> None:
    world = World()
    leases = judges(world, 2)
    (first,) = run(world, leases, 10)
    first.release()
    rest = [lease for lease in leases if lease is not first]
    assert run(world, rest, 6) == rest


def test_a_store_that_is_away_costs_the_lease_and_gives_it_back() -> None:
    world = World()
    leases = judges(world, 2)
    assert run(world, leases, 10)
    world.away = True
    assert run(world, leases, 11) == []
    world.away = False
    assert run(world, leases, 30)


@settings(max_examples=50, deadline=None)
@given(
    delays=st.lists(st.integers(0, 19), min_size=1, max_size=6),
    steps=st.lists(
        st.tuples(st.sets(st.integers(0, 3)), st.integers(1, 120), st.booleans()), min_size=1, max_size=40
    ),
)
def test_never_do_two_hold_it(delays: list[int], steps: list[tuple[set[int], int, bool]]) -> None:
    world = World()
    leases = judges(world, 4)
    for number, (stalled, tenths, away) in enumerate(steps):
        world.delay = delays[number % len(delays)] * SECOND // 10  # always less than what a bid waits
        for _ in range(tenths):
            for index, lease in enumerate(leases):
                world.away = away and index % 2 == 0
                if index not in stalled:
                    lease.hold()
                assert sum(one.held for one in leases) <= 1
            world.now += SECOND // 10


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    store = Store.open(":memory:")
    migrate(store)
    yield store
    store.close()


def test_it_works_on_the_real_store(store: Store) -> None:
    clock = iter(range(0, 10**15, SECOND))
    one, two = (
        Lease(StoredLease(store), holder=name, clock_ns=lambda: next(clock)) for name in ("one", "two")
    )
    assert not one.hold()  # it bids
    held = [one.hold() for _ in range(3)]
    assert held[-1]
    assert not two.hold()
    assert two.other == "one"
    one.release()
    assert [two.hold() for _ in range(8)][-1]
