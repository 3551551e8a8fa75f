"""What the loader remembers of sessions between two ticks: who is who, and facts that no record has touched since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from headcount_collector.derive.assemble import Own, Sources
from headcount_collector.derive.clocks import Clocks
from headcount_collector.derive.dated import Dated
from headcount_collector.derive.family import Family
from headcount_collector.derive.naming import Names
from headcount_collector.derive.rare import Rare
from headcount_collector.derive.rows import Asked, EvidenceRow
from headcount_collector.judge.facts import Owner

_LARGE = 2_000
"""Of a run with more moments than this only the rare part is remembered."""

Told = tuple[object, ...]
"""What the clocks made of a run or a session, to tell whether they would make the same of it now."""


@dataclass(slots=True)
class Kept:
    """What was made of one run. `rare` holds until a rare event comes, `own` until any record comes."""

    rare: Rare
    told: Told
    own: Own | None = None
    own_told: Told = ()
    asked: Asked = ((), False)
    """What the reading of its calls was asked for besides: wakers, and whether it is an owner."""

    def forget(self, *, rare: bool) -> bool:
        """Drop what a record made old; tell whether anything is left."""
        self.own = None
        return not rare


@dataclass(slots=True)
class Book:
    """Who is who in one session, as last read, and the facts of its runs as last made."""

    names: Names
    owner_rows: list[EvidenceRow]
    producers: frozenset[str]
    family: Family | None = None
    family_told: Told = ()
    dated: dict[str, list[Dated]] = field(default_factory=dict)
    """What owners did, by event and time."""
    owners: dict[str, Owner] = field(default_factory=dict)
    """The owners that are no runs, so that these records are all there is of them."""
    kept: dict[str, Kept] = field(default_factory=dict)

    def family_at(self, clocks: Clocks) -> Family:
        """Return the family of the session; it is dated anew only where a clock of its producers turned out otherwise."""
        told = (
            shifts(self.producers, clocks),
            *(clocks.of(producer).export_interval_ns for producer in self.producers),
        )
        if self.family is None or self.family_told != told:
            self.family, self.family_told = Family.of(self.names, clocks), told
            self.owners.clear()
            self.dated = _dated(self.owner_rows, clocks)
        return self.family

    def touched(self, name: str, *, rare: bool) -> None:
        """Drop what a record under this name made old."""
        for run in self.names.claimers(name):
            kept = self.kept.get(run)
            if kept is not None and not kept.forget(rare=rare):
                del self.kept[run]

    def rare_of(self, source: Sources, clocks: Clocks) -> Rare | None:
        """Return the rare part of a run, if it would be the same now."""
        kept = self.kept.get(source.run)
        if kept is None or kept.told != _told(kept.rare, source, clocks):
            return None
        return kept.rare

    def own_of(self, source: Sources, asked: Asked, clocks: Clocks) -> Own | None:
        """Return the facts of a run that no record has touched, if they would be the same now."""
        kept = self.kept.get(source.run)
        if kept is None or kept.own is None or kept.asked != asked:
            return None
        if kept.told != _told(kept.rare, source, clocks) or kept.own_told != shifts(kept.own.heard, clocks):
            return None
        return kept.own.with_clocks(clocks)

    def asked_of(self, name: str) -> Iterable[tuple[str, Asked]]:
        """Yield the runs under this name whose rare part is remembered, and what was asked of their calls."""
        for run in self.names.claimers(name):
            kept = self.kept.get(run)
            if kept is not None:
                yield run, kept.asked

    def producers_of(self, run: str) -> Iterable[str]:
        """Return the producers whose clocks decide whether what is remembered of a run still holds."""
        kept = self.kept.get(run)
        if kept is None:
            return ()
        return kept.rare.heard if kept.own is None else kept.own.heard

    def keep(self, source: Sources, rare: Rare, own: Own, asked: Asked, clocks: Clocks) -> None:
        """Remember what was made of a run whose names are all its own."""
        small = sum(len(row.pulse) + len(row.outputs) for row in source.activity) <= _LARGE
        self.kept[source.run] = Kept(
            rare,
            _told(rare, source, clocks),
            own if small else None,
            shifts(own.heard, clocks),
            asked,
        )


def _dated(rows: Iterable[EvidenceRow], clocks: Clocks) -> dict[str, list[Dated]]:
    found: dict[str, list[Dated]] = {}
    for row in rows:
        at = clocks.at(row.producer, row.event_ns, row.received_ns)
        began = at - max(row.event_ns - row.start_ns, 0)
        found.setdefault(row.event, []).append(Dated(at, began, row, row.attributes))
    for records in found.values():
        records.sort(key=lambda record: (record.at, record.row.identity))
    return found


def shifts(producers: Iterable[str], clocks: Clocks) -> Told:
    """Return how the clocks of some producers are corrected."""
    found = []
    for producer in sorted(producers):
        clock = clocks.of(producer)
        found.append((clock.offset_ns, clock.known))
    return tuple(found)


def _told(rare: Rare, source: Sources, clocks: Clocks) -> Told:
    return source.dispatched_at, tuple(source.names), _items(source.children), shifts(rare.heard, clocks)


def _items(children: Mapping[str, int]) -> Told:
    return tuple(children.items()) if children else ()
