"""Deals evidence out to runs: by name, and by time where several runs claim one name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from headcount_collector.derive.assemble import Sources
from headcount_collector.derive.clocks import Clocks
from headcount_collector.derive.naming import Names
from headcount_collector.derive.rows import (
    ActivityRow,
    CallRow,
    EvidenceRow,
    Places,
    RunKey,
    output_ns,
    pulse_ns,
)

T = TypeVar("T")
RunAt = Callable[[str, int], str]
"""(producer, event time) → the run that the name means then."""


def split(
    sources: Mapping[RunKey, Sources],
    names: Mapping[str, Names],
    places: Places,
    clocks: Clocks,
    evidence: Iterable[EvidenceRow],
    activity: Iterable[ActivityRow],
    calls: Iterable[CallRow],
) -> None:
    """Give each row to the run it belongs to; rows of runs that are not in `sources` are dropped.

    `places` says for each name the run that all under it belongs to, or the name itself where several claim it.
    """

    def give(session: str, run: str) -> Sources:
        return sources.get(RunKey(session, run)) or Sources(session, run)

    for row in evidence:
        place = places.homes.get(RunKey(row.session, row.run))
        if place is None:
            continue
        book = names[place.session]
        run = place.run
        if len(book.claimers(run)) > 1:
            run = book.run_at(run, clocks.at(row.producer, row.event_ns, row.received_ns))
        give(place.session, run).evidence.append(row)
    for state in activity:
        place = places[state.home]
        book = names[place.session]
        claimers = book.claimers(place.run)
        if len(claimers) == 1:
            give(*place).activity.append(state)
            continue
        for run in claimers:
            give(place.session, run).activity.append(
                _activity_of(state, run, _run_at(book, place.run, clocks))
            )
    for call in calls:
        place = places[call.home]
        book = names[place.session]
        claimers = book.claimers(place.run)
        if len(claimers) == 1:
            give(*place).calls.append(call)
            continue
        for run in claimers:
            give(place.session, run).calls.append(_calls_of(call, run, _run_at(book, place.run, clocks)))


def _run_at(book: Names, name: str, clocks: Clocks) -> RunAt:
    return lambda producer, event_ns: book.run_at(name, event_ns + clocks.of(producer).offset_ns)


def _activity_of(row: ActivityRow, run: str, run_at: RunAt) -> ActivityRow:
    def ours(values: Iterable[int], ns: Callable[[int], int]) -> list[int]:
        return [value for value in values if run_at(row.producer, ns(value)) == run]

    pulse = ours(row.pulse, pulse_ns)
    outputs = ours(row.outputs, output_ns)
    heard = bool(pulse or outputs)
    return row._replace(
        pulse=pulse,
        outputs=outputs,
        children=row.children if heard else [],
        models=row.models if heard else [],
    )


def _calls_of(row: CallRow, run: str, run_at: RunAt) -> CallRow:
    """Return a run's share of the calls under a name: those that began in its time."""

    def ours(items: Iterable[T], moment: Callable[[T], tuple[str, int]]) -> list[T]:
        return [item for item in items if run_at(*moment(item)) == run]

    shared = ours(row.shared, lambda item: (item[1], item[0]))
    return row._replace(
        came_back=len(shared),
        open=ours(row.open, lambda item: (item[7], item[0])),
        unclaimed=ours(row.unclaimed, lambda item: (item[3], item[0])),
        lasting=ours(row.lasting, lambda item: (item[4], item[0])),
        failures=ours(row.failures, lambda item: (item[5], item[0])),
        triggered=ours(row.triggered, lambda item: (item[5], item[0])),
        added=ours(row.added, lambda item: (item[3], item[0])),
        awaited=ours(row.awaited, lambda item: (item[2], item[1])),
        requests=ours(row.requests, lambda item: (item[1], item[0])),
        shared=shared,
    )
