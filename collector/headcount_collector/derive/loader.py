"""Loads the facts of runs from the store: what the judgement reads, for the runs asked for and their neighbours."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from headcount_collector.derive import rows
from headcount_collector.derive.ahead import WORTHWHILE, Ahead, Question
from headcount_collector.derive.assemble import Own, Sources, own_facts
from headcount_collector.derive.books import Book
from headcount_collector.derive.clocks import Clocks, read_clocks
from headcount_collector.derive.family import Family
from headcount_collector.derive.kinds import Kinds
from headcount_collector.derive.naming import Names, names_of_sessions
from headcount_collector.derive.neighbours import OF_OWNERS, Circle, neighbours
from headcount_collector.derive.rare import Rare, rare_facts
from headcount_collector.derive.rows import Asked, Places, RunKey, TouchedRow
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
class _Scene:
    """What is known of some sessions since `changed` last looked."""

    books: dict[str, Book]
    families: dict[str, Family]
    clocks: Clocks

    def names(self, session: str) -> Names | None:
        book = self.books.get(session)
        return None if book is None else book.names


class FactsLoader:
    """Reads facts set by set: a few queries for any number of runs. Not for two threads at once.

    Who is who in a session is remembered, and the facts of its runs; `changed` drops what new records made old. So
    one loader either follows every commit through `changed`, or is made for one `load`.
    """

    def __init__(
        self,
        store: Store,
        *,
        skew_ns: int = 30 * _SECOND,
        teaches: bool = False,
        ahead_from: int = WORTHWHILE,
    ) -> None:
        """`teaches`: what it learns of kinds of children is stored, for all other loaders.

        `ahead_from`: of so many runs that just worked, the work is read as soon as `changed` hears of it.
        """
        self._store = store
        self._ahead_from = ahead_from
        self._skew_ns = skew_ns
        self._kinds = Kinds(store, stores=teaches)
        self._books: dict[str, Book] = {}
        self._scene = self._empty_scene()
        self._ahead: Ahead | None = None

    def remembers(self, session: str) -> bool:
        """Tell whether something of a session is in memory."""
        return session in self._books

    def keep(self, sessions: Collection[str]) -> None:
        """Remember these sessions only: of others nothing is awaited, and new records have them read anew."""
        self._books = {session: book for session, book in self._books.items() if session in sessions}

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
        self._scene = self._empty_scene()
        for row in found:
            session = homes.get(row.run, "") if row.session == "" else row.session
            if row.directory:
                self._books.pop(session, None)
            elif (book := self._books.get(session)) is not None:
                book.touched(row.run, rare=row.rare or row.session == "")
        self._look_ahead(RunKey(row.session, row.run) for row in found if not row.rare)
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
            names = scene.names(key.session)
            if names is not None and not names.plain:
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
        own = self._read(scene, _with_those_seen(scene, answer))
        self._kinds.learn(own.values())
        of_session: dict[str, dict[str, Own]] = defaultdict(dict)
        for key, one in own.items():
            of_session[key.session][key.run] = one
        circles = {
            session: self._circle(scene, session, of_session[session])
            for session in {key.session for key in answer}
        }
        return {key: _among(own[key], circles[key.session]) for key in answer if key in own}

    def _circle(self, scene: _Scene, session: str, own: Mapping[str, Own]) -> Circle:
        book, family = scene.books[session], scene.families[session]
        return Circle(book, family, own, scene.clocks, self._kinds)

    def _look_ahead(self, touched: Iterable[RunKey]) -> None:
        """Begin to read what runs did of which nothing else can have changed."""
        if self._ahead is not None:
            self._ahead.end()
        questions: dict[RunKey, Question] = {}
        for key in touched:
            book = self._books.get(key.session)
            if book is not None:
                for run, asked in book.asked_of(key.run):
                    questions[RunKey(key.session, run)] = book.names.names_of(run), asked
        enough = len(questions) >= self._ahead_from
        self._ahead = Ahead.begin(self._store, questions) if enough else None

    def _homes(self, runs: Collection[str]) -> dict[str, str]:
        """Return the session of each run id that was dispatched in one session only."""
        if not runs:
            return {}
        found = rows.ask(self._store, "homonyms", runs=list(runs))
        return {run: sessions[0] for run, sessions in found if len(sessions) == 1}

    def _empty_scene(self) -> _Scene:
        return _Scene({}, {}, Clocks({}, self._skew_ns))

    def _survey(self, sessions: Collection[str]) -> _Scene:
        """Tell who is who in these sessions; what was read before holds until `changed` hears otherwise."""
        scene = self._scene
        new = [session for session in sessions if session not in scene.books]
        if not new:
            return scene
        missing = [session for session in new if session not in self._books]
        if missing:
            self._books |= self._read_books(missing)
        books = {session: self._books[session] for session in new}
        for session in list(self._books)[: max(0, len(self._books) - _BOOKS)]:
            del self._books[session]
        scene.books |= books
        self._learn_clocks(scene, {producer for book in books.values() for producer in book.producers})
        scene.families |= {session: book.family_at(scene.clocks) for session, book in books.items()}
        return scene

    def _read_books(self, sessions: list[str]) -> dict[str, Book]:
        records = rows.directory(self._store, sessions)
        names = {session: Names(session) for session in sessions} | names_of_sessions(records)
        owner_rows: dict[str, list[rows.EvidenceRow]] = defaultdict(list)
        producers: dict[str, set[str]] = defaultdict(set)
        for row in records:
            producers[row.session].add(row.producer)
            if row.event in OF_OWNERS:
                owner_rows[row.session].append(row)
        return {
            session: Book(book, owner_rows.get(session, []), frozenset(producers.get(session, ())))
            for session, book in names.items()
        }

    def _read(self, scene: _Scene, runs: Collection[RunKey]) -> dict[RunKey, Own]:
        """Return the facts of these runs; what no record touched is remembered, and of the others their rare part."""
        known = {p for key in runs for p in scene.books[key.session].producers_of(key.run)}
        self._learn_clocks(scene, known)
        sources = {key: _sources(scene, key) for key in runs}
        asked = {key: _asked(scene, key) for key in runs}
        found: dict[RunKey, Own] = {}
        rare: dict[RunKey, Rare | None] = {}
        for key, source in sources.items():
            book = scene.books[key.session]
            own = book.own_of(source, asked[key], scene.clocks)
            if own is not None:
                found[key] = own
            else:
                rare[key] = book.rare_of(source, scene.clocks)
        if not rare:
            return found
        shared = self._read_sources(scene, {key: sources[key] for key in rare}, rare, asked)
        for key, known_rare in rare.items():
            source = sources[key]
            if known_rare is None and source.empty:
                continue
            said = known_rare or rare_facts(source.evidence, source.dispatched_at, scene.clocks)
            found[key] = own = own_facts(source, said, scene.clocks)
            if key not in shared:
                scene.books[key.session].keep(source, said, own, asked[key], scene.clocks)
        return found

    def _read_sources(
        self,
        scene: _Scene,
        sources: Mapping[RunKey, Sources],
        rare: Mapping[RunKey, Rare | None],
        asked: Mapping[RunKey, Asked],
    ) -> set[RunKey]:
        """Read what is not known of these runs, under all their names, and deal it out.

        Returns the runs that share a name with others or with records that name no session: what is theirs may turn
        by what is said of others.
        """
        names = {session: book.names for session, book in scene.books.items()}
        remembered = {key: source for key, source in sources.items() if rare[key] is not None}
        read = self._read_ahead(scene, names, remembered, asked)
        sources = {key: source for key, source in sources.items() if key not in read}
        if not sources:
            return set()
        rare = {key: rare[key] for key in sources}
        places = _places(scene, sources)
        fresh = _places(scene, [key for key, known in rare.items() if known is None])
        strays = self._strays(fresh)
        places |= strays
        asked_places = Places.of(places)
        wakers = {waker for key in sources for waker in asked[key][0]}
        owners = {key for key in sources if asked[key][1]}
        several = {home for home in asked_places.order if len(names[home.session].claimers(home.run)) > 1}
        with ThreadPoolExecutor(1, "headcount-facts") as beside:
            reading = beside.submit(
                rows.calls, self._store, asked_places, list(wakers), owners=owners, several=several
            )
            evidence = rows.evidence(self._store, Places.of(fresh | strays)) if fresh else []
            activity = rows.activity(self._store, asked_places)
            calls = reading.result()
        self._learn_clocks(scene, {*(row.producer for row in evidence), *(row.producer for row in activity)})
        split(dict(sources), names, asked_places, scene.clocks, evidence, activity, calls)
        in_company = {key for key in sources for name, home in _names_of(scene, key) if home != key}
        return in_company | set(strays.values())

    def _read_ahead(
        self,
        scene: _Scene,
        names: Mapping[str, Names],
        sources: Mapping[RunKey, Sources],
        asked: Mapping[RunKey, Asked],
    ) -> set[RunKey]:
        """Deal out what was read ahead; return the runs of which it is all that was to be read."""
        ahead = self._ahead
        if ahead is None:
            return set()
        read = {
            key: source
            for key, source in sources.items()
            if key in ahead.questions and ahead.questions[key] == (source.names, asked[key])
        }
        if read:
            activity, calls = ahead.result()
            self._learn_clocks(scene, {row.producer for row in activity})
            split(read, names, ahead.places, scene.clocks, (), activity, calls)
        ahead.end()
        return set(read)

    def _strays(self, places: Mapping[RunKey, RunKey]) -> dict[RunKey, RunKey]:
        """Return the names without a session under which there are records that belong to one of these places.

        They do where the name means one run of the whole store.
        """
        strays = rows.strays(self._store, {name.run for name in places if name.session})
        found = {}
        for name, session in self._homes(strays).items():
            home = places.get(RunKey(session, name))
            if home is not None:
                found[RunKey("", name)] = home
        return found

    def _learn_clocks(self, scene: _Scene, producers: Iterable[str]) -> None:
        missing = [producer for producer in set(producers) - {""} if producer not in scene.clocks]
        if missing:
            read = read_clocks(self._store, rows.producers(self._store, missing), self._skew_ns)
            scene.clocks = scene.clocks.joined(read)


def _among(own: Own, circle: Circle) -> Facts:
    return own.facts.among(neighbours(own, circle), circle.collisions(own.facts.run))


def _names_of(scene: _Scene, key: RunKey) -> Iterable[tuple[RunKey, RunKey]]:
    """Yield the names of a run, each with what all evidence under it belongs to.

    A name that several runs claim stands for itself: its evidence is dealt out by time.
    """
    names = scene.books[key.session].names
    for name in names.names_of(key.run):
        own = RunKey(key.session, name)
        yield own, key if len(names.claimers(name)) == 1 else own


def _places(scene: _Scene, runs: Iterable[RunKey]) -> dict[RunKey, RunKey]:
    """Return under which names to look for these runs, as `_names_of` tells them."""
    return {name: home for key in runs for name, home in _names_of(scene, key)}


def _asked(scene: _Scene, key: RunKey) -> Asked:
    """Return whose ends the run waits for, and whether its own model requests matter to runs of its own."""
    wakers = tuple(sorted(_wakers(scene, key)))
    return wakers, bool(scene.families[key.session].children_of(key.run))


def _meant(scene: _Scene, key: RunKey) -> RunKey:
    names = scene.names(key.session)
    return key if names is None else RunKey(key.session, names.claimers(key.run)[-1])


def _sources(scene: _Scene, key: RunKey) -> Sources:
    names, family = scene.books[key.session].names, scene.families[key.session]
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
        wakers=_wakers(scene, key),
    )


def _wakers(scene: _Scene, key: RunKey) -> set[str]:
    names = scene.books[key.session].names
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
        answer.update(RunKey(key.session, run) for run in family.near(key.run).asked_after)
    return answer


def _with_those_seen(scene: _Scene, runs: Iterable[RunKey]) -> set[RunKey]:
    """Return the runs with all whose evidence is in their facts: descendants, namesakes, the run of their owner."""
    seen = set(runs)
    for key in list(seen):
        family = scene.families[key.session]
        seen.update(RunKey(key.session, run) for run in family.near(key.run).seen)
    return seen
