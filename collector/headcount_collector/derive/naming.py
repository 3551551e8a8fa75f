"""Finds the run that a name means: run ids and aliases of one session, and to whom they belong when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from headcount_collector.derive.rows import EvidenceRow
from headcount_collector.evidence import wire


@dataclass(slots=True)
class Names:
    """The names of one session.

    A dispatched run is itself for ever, whatever aliases say. Any other name belongs to the dispatched runs that
    claim it as an alias (or that it claims), in order of their dispatch; where none does, to an undispatched run.
    """

    session: str
    dispatches: dict[str, list[EvidenceRow]] = field(default_factory=lambda: defaultdict(list))
    claims: dict[str, dict[str, EvidenceRow]] = field(default_factory=lambda: defaultdict(dict))
    """Alias → the runs that claim it, each with its first claim."""
    children: dict[str, dict[str, EvidenceRow]] = field(default_factory=lambda: defaultdict(dict))
    """Run name → child session keys that were named with it."""
    wakers: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Run name → the wakers that its waits name."""
    dispatched_at: Mapping[str, int] = field(default_factory=dict)
    """Set once the clocks are known."""
    _claimers: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _names: dict[str, tuple[str, ...]] | None = None
    _claimed_by: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def add(self, row: EvidenceRow) -> None:
        """Take in what a record of this session says of who is who."""
        if not row.run:
            return
        if row.event == "dispatch":
            self.dispatches[row.run].append(row)
        for alias in row.aliases:
            if alias != row.run:
                _keep_earliest(self.claims[alias], row.run, row)
                self._claimed_by[row.run].add(alias)
        if row.child:
            _keep_earliest(self.children[row.run], row.child, row)
        if row.event == "wait" and (waker := row.attributes.get(wire.WAIT_WAKER)):
            self.wakers[row.run].add(waker)

    def date(self, dispatched_at: Mapping[str, int]) -> None:
        """Take the corrected moments of the dispatches; from now on claimers come in their order."""
        self.dispatched_at = dispatched_at
        self._claimers.clear()

    @property
    def plain(self) -> bool:
        """Whether nothing in this session goes by another name, so that each name is a run of its own."""
        return not (self.claims or self._claimed_by)

    def claimers(self, name: str) -> tuple[str, ...]:
        """Return the runs that a name means, by order of dispatch: more than one only where several claim it."""
        found = self._claimers.get(name)
        if found is None:
            found = self._claimers[name] = self._search(name)
        return found

    def claimants(self, name: str) -> set[str]:
        """Return the dispatched runs that lay claim to a name, each to its own id too."""
        found = {name} if name in self.dispatches else set()
        for claimer in self.claims.get(name, ()):
            found.update(run for run in self.claimers(claimer) if run in self.dispatches)
        return found

    def claimed_by(self, run: str) -> set[str]:
        """Return the names that a run lays claim to, its own and those that are other runs' ids too."""
        own = self.names_of(run)
        return {*own, *(alias for name in own for alias in self._claimed_by.get(name, ()))}

    def run_at(self, name: str, at: int) -> str:
        """Return the run that a name means at a moment: of several claimers the latest dispatched before it."""
        claimers = self.claimers(name)
        before = [run for run in claimers if self.dispatched_at.get(run, 0) <= at]
        return before[-1] if before else claimers[0]

    def names_of(self, run: str) -> tuple[str, ...]:
        """Return all names that may mean this run, its own first."""
        if self._names is None:
            self._names = {}
            others: dict[str, list[str]] = defaultdict(list)
            for name in {*self.claims, *self._claimed_by, *self.dispatches}:
                for claimer in self.claimers(name):
                    if claimer != name:
                        others[claimer].append(name)
            self._names |= {claimer: (claimer, *sorted(names)) for claimer, names in others.items()}
        return self._names.get(run) or (run,)

    def children_of(self, run: str) -> dict[str, EvidenceRow]:
        """Return the child session keys of a run, under whatever name they were said."""
        found: dict[str, EvidenceRow] = {}
        for name in self.names_of(run):
            for key, row in self.children.get(name, {}).items():
                if len(self.claimers(name)) == 1 or name == run:
                    found.setdefault(key, row)
        return found

    def _search(self, name: str) -> tuple[str, ...]:
        if name in self.dispatches:
            return (name,)
        seen, todo, found = {name}, [name], set()
        while todo:
            current = todo.pop()
            onward = set(self.claims.get(current, ()))
            # "r1 is also called X" makes X a name of r1 also where only X was ever dispatched.
            onward |= {alias for alias in self._claimed_by.get(current, ()) if alias in self.dispatches}
            for other in onward - seen:
                seen.add(other)
                if other in self.dispatches:
                    found.add(other)
                else:
                    todo.append(other)
        if found:
            return tuple(sorted(found, key=lambda run: (self.dispatched_at.get(run, 0), run)))
        roots = [other for other in seen if not set(self.claims.get(other, ())) - {other}]
        return (min(roots or seen),)


def _keep_earliest(book: dict[str, EvidenceRow], key: str, row: EvidenceRow) -> None:
    other = book.get(key)
    if other is None or (row.event_ns, row.identity) < (other.event_ns, other.identity):
        book[key] = row


def names_of_sessions(records: Iterable[EvidenceRow]) -> dict[str, Names]:
    """Return the names of each session, out of the records that say who is who."""
    sessions: dict[str, Names] = {}
    for row in records:
        book = sessions.get(row.session)
        if book is None:
            book = sessions[row.session] = Names(row.session)
        book.add(row)
    return sessions
