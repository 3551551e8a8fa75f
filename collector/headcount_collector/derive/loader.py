"""Loads the facts of runs from the store: what the judgement reads, for the runs asked for and their neighbours."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from headcount_collector.derive import rows
from headcount_collector.derive.assemble import Own, Sources, own_facts
from headcount_collector.derive.clocks import Clocks, read_clocks
from headcount_collector.derive.family import Family
from headcount_collector.derive.kinds import Kinds
from headcount_collector.derive.naming import Names, names_of_sessions
from headcount_collector.derive.neighbours import OF_OWNERS, Circle, neighbours
from headcount_collector.derive.rows import Places, RunKey, TouchedRow
from headcount_collector.derive.split import split
from headcount_collector.judge.facts import Facts
from headcount_collector.store.client import Store

__all__ = ["FactsLoader", "RunKey", "Touched"]

_SECOND = 1_000_000_000
_BOOKS = 20_000
"""So many sessions are remembered between two ticks."""


@dataclass(frozen=True, slots=True)
class Touched:
    """Whom commits spoke of: runs (with every name and claimer of them), and owners as (session, owner)."""

    runs: frozenset[RunKey] = frozenset()
    owners: frozenset[tuple[str, str]] = frozenset()


@dataclass(slots=True)
class _Book:
    """Who is who in one session, as last read."""

    names: Names
    owner_rows: list[rows.EvidenceRow]
    producers: frozenset[str]
    family: Family | None = None
    family_clocks: tuple[tuple[int, bool], ...] = ()


@dataclass(slots=True)
class _Scene:
    """What is known of some sessions before the evidence of single runs is read."""

    names: dict[str, Names]
    families: dict[str, Family]
    owner_rows: dict[str, list[rows.EvidenceRow]]
    clocks: Clocks
    sources: dict[RunKey, Sources] = field(default_factory=dict)


class FactsLoader:
    """Reads facts set by set: a few queries for any number of runs. Not for two threads at once.

    Who is who in a session is remembered; `changed` drops what new records made old. So one loader either follows
    every commit through `changed`, or is made for one `load`.
    """

    def __init__(self, store: Store, *, skew_ns: int = 30 * _SECOND) -> None:
        self._store = store
        self._skew_ns = skew_ns
        self._kinds = Kinds(store)
        self._books: dict[str, _Book] = {}
        self._known_clocks = Clocks({}, skew_ns)

    def changed(self, after_received_ns: int, until_received_ns: int) -> Touched:
        """Return the runs and owners that the commits in (after, until] spoke of.

        A run comes with all its names, so that a name that was a run of its own before an alias claimed it is
        known to be none any more (see `resolve`), and a name that several claim with all its claimers. A child
        session that is gone touches all runs in it and below them.
        """
        found = [
            TouchedRow._make(row)
            for row in rows.ask(self._store, "touched", after=after_received_ns, until=until_received_ns)
        ]
        homes = self._homes({row.run for row in found if row.session == "" and row.run})
        self._known_clocks = Clocks({}, self._skew_ns)
        for row in found:
            if row.directory:
                self._books.pop(homes.get(row.run, "") if row.session == "" else row.session, None)
        runs: set[RunKey] = set()
        gone: set[tuple[str, str]] = set()
        for row in found:
            session = homes.get(row.run, "") if row.session == "" else row.session
            if row.run:
                runs.add(RunKey(session, row.run))
            if row.gone:
                gone.add((session, row.run or row.child))
        owners = frozenset((row.session, row.owner) for row in found if not row.run and not row.gone)
        scene = self._survey({key.session for key in runs} | {session for session, _ in gone})
        for key in list(runs):
            names = scene.names.get(key.session)
            if names is not None:
                for claimer in names.claimers(key.run):
                    runs.update(RunKey(key.session, name) for name in names.names_of(claimer))
        for session, name in gone:
            family = scene.families.get(session)
            if family is not None:
                inside = {*family.runs_in(name), *(r for r in family.names.claimers(name) if r in family.kin)}
                for run in inside:
                    runs.update(RunKey(session, other) for other in (run, *family.descendants_of(run)))
        return Touched(frozenset(key for key in runs if key.run), owners)

    def resolve(self, keys: Collection[RunKey]) -> dict[RunKey, RunKey]:
        """Return for each key the run that it means: itself, or the run that claims it as an alias.

        Of several claimers it is the latest dispatched. A key without session means the one run of that id, if
        it was dispatched in one session only.
        """
        homes = self._homes({key.run for key in keys if not key.session})
        placed = {key: RunKey(key.session or homes.get(key.run, ""), key.run) for key in keys}
        scene = self._survey({key.session for key in placed.values()})
        return {key: _meant(scene, home) for key, home in placed.items()}

    def load(self, keys: Collection[RunKey]) -> dict[RunKey, Facts]:
        """Return the facts of the runs that these keys mean, by their resolved keys, and of neighbours besides.

        Besides: whom their waits name, successors, children, twins and peers, as far as the judgement may have to
        ask what they came to. Keys of which nothing is known are left out.
        """
        if not keys:
            return {}
        homes = self._homes({key.run for key in keys if not key.session})
        placed = {RunKey(key.session or homes.get(key.run, ""), key.run) for key in keys}
        scene = self._survey({key.session for key in placed})
        answer = _with_those_asked_after(scene, {_meant(scene, key) for key in placed})
        self._read(scene, _with_those_seen(scene, answer))
        own = {
            key: own_facts(source, scene.clocks) for key, source in scene.sources.items() if not source.empty
        }
        self._kinds.learn(own.values())
        of_session: dict[str, dict[str, Own]] = defaultdict(dict)
        for key, one in own.items():
            of_session[key.session][key.run] = one
        circles = {
            session: self._circle(scene, session, of_session[session])
            for session in {key.session for key in answer}
        }
        return {
            key: replace(
                own[key].facts,
                collisions=circles[key.session].collisions(key.run),
                neighbours=neighbours(own[key], circles[key.session]),
            )
            for key in answer
            if key in own
        }

    def _circle(self, scene: _Scene, session: str, own: Mapping[str, Own]) -> Circle:
        return Circle(
            family=scene.families[session],
            own=own,
            owner_rows=scene.owner_rows.get(session, []),
            clocks=scene.clocks,
            kinds=self._kinds,
        )

    def _homes(self, runs: Collection[str]) -> dict[str, str]:
        """Return the session of each run id that was dispatched in one session only."""
        if not runs:
            return {}
        found = rows.ask(self._store, "homonyms", runs=list(runs))
        return {run: sessions[0] for run, sessions in found if len(sessions) == 1}

    def _survey(self, sessions: Collection[str]) -> _Scene:
        """Tell who is who in these sessions; what was read before holds until `changed` hears otherwise."""
        if not sessions:
            return _Scene({}, {}, {}, Clocks({}, self._skew_ns))
        missing = [session for session in sessions if session not in self._books]
        if len(self._books) + len(missing) > _BOOKS:
            self._books.clear()
            missing = list(sessions)
        if missing:
            self._books |= self._read_books(missing)
        books = {session: self._books[session] for session in sessions}
        clocks = self._clocks(
            {producer for book in books.values() for producer in book.producers}, self._known_clocks
        )
        self._known_clocks = clocks
        return _Scene(
            {session: book.names for session, book in books.items()},
            {session: _family(book, clocks) for session, book in books.items()},
            {session: book.owner_rows for session, book in books.items()},
            clocks,
        )

    def _read_books(self, sessions: list[str]) -> dict[str, _Book]:
        records = rows.directory(self._store, sessions)
        names = {session: Names(session) for session in sessions} | names_of_sessions(records)
        owner_rows: dict[str, list[rows.EvidenceRow]] = defaultdict(list)
        producers: dict[str, set[str]] = defaultdict(set)
        for row in records:
            producers[row.session].add(row.producer)
            if row.event in OF_OWNERS:
                owner_rows[row.session].append(row)
        return {
            session: _Book(book, owner_rows.get(session, []), frozenset(producers.get(session, ())))
            for session, book in names.items()
        }

    def _read(self, scene: _Scene, runs: Collection[RunKey]) -> None:
        """Read the evidence of these runs, under all their names, and deal it out."""
        places = self._places(scene, runs)
        evidence = rows.evidence(self._store, places)
        activity = rows.activity(self._store, places)
        wakers = {waker for key in runs for waker in _wakers(scene, key)}
        owners = {key for key in runs if scene.families[key.session].children_of(key.run)}
        calls = rows.calls(self._store, places, list(wakers), owners)
        heard = {*(row.producer for row in evidence), *(row.producer for row in activity)}
        scene.clocks = self._clocks(heard, scene.clocks)
        sources = {key: _sources(scene, key) for key in runs}
        split(sources, scene.names, places, scene.clocks, evidence, activity, calls)
        scene.sources = sources

    def _places(self, scene: _Scene, runs: Collection[RunKey]) -> Places:
        """Return under which names to look, each with the run that all of it belongs to.

        A name that several runs claim stands for itself: its evidence is dealt out by time. Records that name no
        session are looked for under the same names, where these mean one run of the whole store.
        """
        places: dict[RunKey, RunKey] = {}
        for key in runs:
            names = scene.names[key.session]
            for name in names.names_of(key.run):
                own = RunKey(key.session, name)
                places[own] = key if len(names.claimers(name)) == 1 else own
        strays = rows.strays(self._store, {name.run for name in places if name.session})
        for name, session in self._homes(strays).items():
            home = places.get(RunKey(session, name))
            if home is not None:
                places.setdefault(RunKey("", name), home)
        return Places.of(places)

    def _clocks(self, producers: Iterable[str], known: Clocks) -> Clocks:
        missing = [producer for producer in set(producers) - {""} if producer not in known]
        if not missing:
            return known
        return known.joined(read_clocks(self._store, rows.producers(self._store, missing), self._skew_ns))


def _family(book: _Book, clocks: Clocks) -> Family:
    """Return the family of a session; it is dated anew only where a clock of its producers turned out otherwise."""
    told = tuple(
        (clocks.of(producer).offset_ns, clocks.of(producer).known) for producer in sorted(book.producers)
    )
    if book.family is None or book.family_clocks != told:
        book.family, book.family_clocks = Family.of(book.names, clocks), told
    return book.family


def _meant(scene: _Scene, key: RunKey) -> RunKey:
    names = scene.names.get(key.session)
    return key if names is None else RunKey(key.session, names.claimers(key.run)[-1])


def _sources(scene: _Scene, key: RunKey) -> Sources:
    names, family = scene.names[key.session], scene.families[key.session]
    children = names.children_of(key.run)
    kin = family.kin.get(key.run)
    return Sources(
        session=key.session,
        run=key.run,
        names=tuple(names.names_of(key.run)),
        children={
            child: scene.clocks.at(row.producer, row.event_ns, row.received_ns)
            for child, row in children.items()
        },
        dispatched_at=kin.at if kin is not None else None,
    )


def _wakers(scene: _Scene, key: RunKey) -> set[str]:
    names = scene.names[key.session]
    return {waker for name in names.names_of(key.run) for waker in names.wakers.get(name, ())}


def _with_those_asked_after(scene: _Scene, runs: set[RunKey]) -> set[RunKey]:
    """Return the runs with those whose fate decides over theirs: wakers of wakers, then one step of the others."""
    answer, todo = set(runs), list(runs)
    while todo:
        key = todo.pop()
        family = scene.families[key.session]
        for waker in _wakers(scene, key):
            for run in (*family.runs_in(waker), *family.names.claimers(waker)):
                other = RunKey(key.session, run)
                if run in family.kin and other not in answer:
                    answer.add(other)
                    todo.append(other)
    for key in list(answer):
        family = scene.families[key.session]
        near = (*family.successors_of(key.run), *family.children_of(key.run), *family.twins_of(key.run))
        answer.update(RunKey(key.session, run) for run in (*near, *family.peers_of(key.run)))
    return answer


def _with_those_seen(scene: _Scene, runs: Iterable[RunKey]) -> set[RunKey]:
    """Return the runs with all whose evidence is in their facts: descendants, namesakes, the run of their owner."""
    seen = set(runs)
    for key in list(seen):
        family = scene.families[key.session]
        near = {*family.descendants_of(key.run), *family.namesakes_of(key.run)}
        parent = family.parent_of(key.run)
        if parent is not None:
            near.add(parent)
        root, numbered, _ = key.run.rpartition("#")
        if numbered and root in family.kin:
            near.add(root)
        seen.update(RunKey(key.session, run) for run in near)
    return seen
