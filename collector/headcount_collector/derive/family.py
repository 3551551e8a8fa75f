"""Who is whose in one session: owners, parents, children, successors and twins among its dispatched runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from headcount_collector.derive.clocks import Clocks
from headcount_collector.derive.dated import texts
from headcount_collector.derive.naming import Names
from headcount_collector.derive.rows import EvidenceRow
from headcount_collector.evidence import wire


@dataclass(frozen=True, slots=True)
class Kin:
    """What the others of its session need to know of a dispatched run."""

    run: str
    at: int
    owner: str
    parent: str
    agent: str
    service: str
    producer: str
    prompt_digest: str
    description: str
    replica: bool
    supersedes: frozenset[str]
    children: frozenset[str]


@dataclass(frozen=True, slots=True)
class Near:
    """The runs that one run's judgement may have to do with."""

    successors: Mapping[str, bool]
    """Later runs that may make it void, each with whether it names it."""
    twins: tuple[str, ...]
    peers: tuple[str, ...]
    children: tuple[str, ...]
    descendants: tuple[str, ...]
    asked_after: frozenset[str]
    """Those of which it matters what they came to."""
    seen: frozenset[str]
    """Those whose evidence is in its facts."""


NOBODY = Near({}, (), (), (), (), frozenset(), frozenset())


@dataclass(slots=True)
class Family:
    """The dispatched runs of one session and what relates them."""

    names: Names
    kin: dict[str, Kin] = field(default_factory=dict)
    by_owner: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    _by_parent: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    _by_child: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    _by_prompt: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    _by_description: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    _superseders: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    _near: dict[str, Near] = field(default_factory=dict)

    @classmethod
    def of(cls, names: Names, clocks: Clocks) -> Family:
        """Date the dispatches of a session and relate them; gives `names` the order of its dispatches."""
        kin = [_kin(run, rows, clocks) for run, rows in names.dispatches.items()]
        names.date({one.run: one.at for one in kin})
        family = cls(names)
        for one in sorted(kin, key=lambda one: (one.at, one.run)):
            family._add(one)
        for one in family.kin.values():
            parent = family.parent_of(one.run)
            if parent is not None:
                family._by_parent[parent].append(one.run)
        return family

    def _add(self, one: Kin) -> None:
        children = frozenset(self.names.children_of(one.run))
        self.kin[one.run] = one = replace(one, children=children)
        self.by_owner[one.owner].append(one.run)
        for key in children:
            self._by_child[key].append(one.run)
        if one.prompt_digest:
            self._by_prompt[one.prompt_digest].append(one.run)
        if one.description:
            self._by_description[one.description].append(one.run)
        for earlier in one.supersedes:
            for run in self.names.claimers(earlier):
                self._superseders[run].append(one.run)

    def near(self, run: str) -> Near:
        """Return the runs that one run's judgement may have to do with."""
        found = self._near.get(run)
        if found is None:
            found = self._near[run] = self._find_near(run)
        return found

    def _find_near(self, run: str) -> Near:
        successors = self.successors_of(run)
        twins, peers = tuple(self.twins_of(run)), tuple(self.peers_of(run))
        children, descendants = tuple(self.children_of(run)), tuple(self.descendants_of(run))
        seen = {*descendants, *self.namesakes_of(run)}
        parent = self.parent_of(run)
        if parent is not None:
            seen.add(parent)
        root, numbered, _ = run.rpartition("#")
        if numbered and root in self.kin:
            seen.add(root)
        asked_after = frozenset((*successors, *twins, *peers, *children))
        if not asked_after and not seen:
            return NOBODY
        return Near(successors, twins, peers, children, descendants, asked_after, frozenset(seen))

    def runs_in(self, child: str) -> list[str]:
        """Return the runs that a child session serves, by order of dispatch."""
        return self._by_child.get(child, [])

    def run_of_owner(self, owner: str, at: int) -> str | None:
        """Return the run that an owner works in at a moment, if it is a run's child session (or named as the run)."""
        if not owner:
            return None
        runs = self.runs_in(owner) or [run for run in self.names.claimers(owner) if run in self.kin]
        before = [run for run in runs if self.kin[run].at <= at]
        return before[-1] if before else runs[0] if runs else None

    def parent_of(self, run: str) -> str | None:
        """Return the run in which a run was dispatched: by parent run, else by owner = child session."""
        one = self.kin.get(run)
        if one is None:
            return None
        if one.parent:
            parent = self.names.run_at(one.parent, one.at)
            return parent if parent in self.kin and parent != run else None
        parent_by_owner = self.run_of_owner(one.owner, one.at)
        return parent_by_owner if parent_by_owner != run else None

    def children_of(self, run: str) -> list[str]:
        return self._by_parent.get(run, [])

    def descendants_of(self, run: str) -> Iterator[str]:
        """Yield all runs below a run, each once; circles end."""
        seen, todo = {run}, [run]
        while todo:
            for child in self.children_of(todo.pop()):
                if child not in seen:
                    seen.add(child)
                    todo.append(child)
                    yield child

    def ancestors_of(self, run: str) -> Iterator[str]:
        """Yield the runs above a run, nearest first; circles end."""
        seen: set[str] = {run}
        parent = self.parent_of(run)
        while parent is not None and parent not in seen:
            yield parent
            seen.add(parent)
            parent = self.parent_of(parent)

    def successors_of(self, run: str) -> dict[str, bool]:
        """Return the later runs that may make this one void, each with whether it names it."""
        one = self.kin.get(run)
        if one is None:
            return {}
        explicit = {
            other
            for other in self._superseders.get(run, ())
            if other != run and self._order(other) > self._order(run)
        }
        alike = set(self._by_prompt.get(one.prompt_digest, ()) if one.prompt_digest else ())
        for key in one.children:
            alike.update(self._by_child[key])
        implicit = {
            other
            for other in alike
            if self.kin[other].owner == one.owner and self.kin[other].at > one.at and other != run
        }
        return {other: other in explicit for other in sorted(explicit | implicit, key=self._order)}

    def twins_of(self, run: str) -> list[str]:
        """Return the other runs of the session with the same prompt, or the same description."""
        one = self.kin.get(run)
        if one is None:
            return []
        alike = set(self._by_prompt.get(one.prompt_digest, ()) if one.prompt_digest else ())
        alike.update(self._by_description.get(one.description, ()) if one.description else ())
        return sorted(alike - {run}, key=self._order)

    def peers_of(self, run: str) -> list[str]:
        """Return the earlier runs of the same owner and agent type, where the owner is itself a run.

        Of a root owner the requests between two dispatches are never seen, so nothing can be said of its.
        """
        one = self.kin.get(run)
        if one is None or not one.agent or self.run_of_owner(one.owner, one.at) is None:
            return []
        return [
            other
            for other in self.by_owner[one.owner]
            if other != run and self.kin[other].agent == one.agent and self.kin[other].at < one.at
        ]

    def namesakes_of(self, run: str) -> set[str]:
        """Return the other runs that claim a name or a child session of this one."""
        found: set[str] = set()
        for name in self.names.claimed_by(run):
            found.update(self.names.claimants(name))
        for key in self.kin[run].children if run in self.kin else ():
            found.update(self.runs_in(key))
        return found - {run}

    def _order(self, run: str) -> tuple[int, str]:
        return self.kin[run].at, run


def _kin(run: str, rows: Iterable[EvidenceRow], clocks: Clocks) -> Kin:
    """Make one of the records of a dispatch: the earliest counts, and what it does not say the later ones do."""
    dated = sorted((clocks.at(r.producer, r.event_ns, r.received_ns), r.identity, r) for r in rows)
    ordered = [row for _, _, row in dated]

    def first(values: Iterable[str]) -> str:
        return next((value for value in values if value), "")

    return Kin(
        run=run,
        at=dated[0][0],
        owner=first(row.owner for row in ordered),
        parent=first(row.parent for row in ordered),
        agent=first(row.agent for row in ordered),
        service=ordered[0].service,
        producer=first(row.producer for row in ordered),
        prompt_digest=first(row.attributes.get(wire.PROMPT_DIGEST, "") for row in ordered),
        description=first(
            row.attributes.get(wire.DESCRIPTION_DIGEST) or row.attributes.get(wire.DESCRIPTION, "")
            for row in ordered
        ),
        replica=any(row.attributes.get(wire.REPLICA) for row in ordered),
        supersedes=frozenset(name for row in ordered for name in texts(row.attributes.get(wire.SUPERSEDES))),
        children=frozenset(),
    )
