"""Corrects the clocks of producers: what their records say of when, in the time of the collector."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

from headcount_collector.derive.rows import ProducerRow, ask
from headcount_collector.evidence import wire
from headcount_collector.store.client import Store
from headcount_collector.values import value

BLOCK = 64
"""Numbers of a producer are kept in blocks of so many."""


@value(frozen=True, slots=True)
class Clock:
    """One producer: what to add to its event times, and whether it is known well enough to be corrected."""

    offset_ns: int = 0
    known: bool = False
    last_at: int = 0
    keepalive_ns: int | None = None
    export_interval_ns: int = 0
    hole_after: int | None = None


UNKNOWN = Clock()


class Clocks:
    """The clocks of all producers that a set of runs heard."""

    def __init__(self, clocks: Mapping[str, Clock], skew_ns: int) -> None:
        self._clocks = clocks
        self.skew_ns = skew_ns

    def __contains__(self, producer: str) -> bool:
        return producer in self._clocks

    def joined(self, other: Clocks) -> Clocks:
        """Return these clocks and the others."""
        return Clocks({**self._clocks, **other._clocks}, self.skew_ns)

    def of(self, producer: str) -> Clock:
        return self._clocks.get(producer, UNKNOWN)

    def at(self, producer: str, event_ns: int, received_ns: int) -> int:
        """Return the moment of a record. One that comes from the future counts as of its arrival."""
        if producer:
            event_ns += self._clocks.get(producer, UNKNOWN).offset_ns
        return min(event_ns, received_ns)


def offset(lag_ns: int, latest_lag_ns: int, records: int, skew_ns: int) -> int:
    """Return what to add to a producer's event times, given its smallest arrival less event, ever and of late.

    A clock that runs ahead shows in any record, since nothing arrives before it happened; one that runs behind
    only in several, since one record may just be late. One that ran ahead and no longer does was put right, or the
    collector's was: else all that comes from then on would look old.
    """
    if lag_ns < 0 and latest_lag_ns > lag_ns + skew_ns:
        return min(latest_lag_ns, 0)
    if lag_ns < 0 or (records >= 3 and lag_ns > skew_ns):
        return lag_ns
    return 0


def read_clocks(store: Store, rows: Iterable[ProducerRow], skew_ns: int) -> Clocks:
    """Return the clocks of these producers, with the holes in their numbering."""
    rows = list(rows)
    after = _after_holes(store, rows)
    clocks = {}
    for row in rows:
        late = row.producer.endswith(wire.READ_LATE)
        shift = 0 if late else offset(row.lag_ns, row.latest_lag_ns, row.records, skew_ns)
        hole = after.get(row.producer)
        clocks[row.producer] = Clock(
            offset_ns=shift,
            known=row.records >= 3 and not late,
            last_at=row.last_ns + shift,
            keepalive_ns=row.keepalive_ms * 1_000_000 or None,
            export_interval_ns=row.export_interval_ms * 1_000_000,
            hole_after=None if hole is None else hole + shift,
        )
    return Clocks(clocks, skew_ns)


def _after_holes(store: Store, rows: Sequence[ProducerRow]) -> dict[str, int]:
    """Return the event time of the first record after the last hole, for the producers that have one."""
    wanted = [(row.producer, block) for row in rows for block in _blocks_around_last_hole(row.blocks)]
    if not wanted:
        return {}
    found = ask(
        store,
        "numbers",
        producers=list({producer for producer, _ in wanted}),
        key_producers=[producer for producer, _ in wanted],
        key_blocks=[block for _, block in wanted],
    )
    return {
        producer: _moment_after_last_hole(dict(zip(*moments, strict=True))) for producer, moments in found
    }


def _blocks_around_last_hole(blocks: Sequence[tuple[int, int, int]]) -> list[int]:
    """Return the last block in which a number is missing, and the one after it; nothing if all came."""
    present = {block: came for block, came, _ in blocks}
    highest = max((number for _, _, number in blocks), default=0)
    if sum(present.values()) == highest:
        return []
    above: list[int] = []
    for block in sorted(present, reverse=True):
        first = max(block * BLOCK, 1)
        last = min(block * BLOCK + BLOCK - 1, highest)
        if present[block] < last - first + 1:
            return [block, *above]
        if block > 0 and block - 1 not in present:
            return [block]
        above = [block]
    return []


def _moment_after_last_hole(moments: Mapping[int, int]) -> int:
    numbers = sorted(moments)
    after = next(number for number in reversed(numbers) if number - 1 not in moments)
    return moments[numbers[bisect_right(numbers, after) - 1]]
