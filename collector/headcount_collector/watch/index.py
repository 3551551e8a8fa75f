"""The runs that are still watched, findable along the edges by which one run's news concerns another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headcount_collector.judge.facts import Facts
from headcount_collector.judge.verdict import Verdict

Key = tuple[str, str]
Edge = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """What was last believed of a run that may still turn."""

    status: str
    failure_class: str | None
    leaning: str | None
    severity: str | None
    next_due: int | None
    since: int

    @classmethod
    def of(cls, verdict: Verdict) -> Known:
        return cls(
            verdict.status,
            verdict.failure_class,
            verdict.leaning,
            verdict.severity,
            verdict.next_due,
            verdict.since,
        )


class WatchIndex:
    """Known runs by key, and by edge: (kind, session, name…) → keys. Closed runs without a due moment are not in it."""

    def __init__(self) -> None:
        self.known: dict[Key, Known] = {}
        self._edges: defaultdict[Edge, set[Key]] = defaultdict(set)
        self._edges_of: dict[Key, tuple[Edge, ...]] = {}
        self._parents_of: dict[Key, tuple[Edge, ...]] = {}
        self._children_of: dict[Key, tuple[Edge, ...]] = {}
        self._heard_by: dict[Key, tuple[tuple[str, int, int], ...]] = {}

    def put(self, key: Key, facts: Facts, verdict: Verdict) -> None:
        """Remember a judged run, or forget it where nothing can turn it but new evidence of its own."""
        if not verdict.watched:
            self.drop(key)
            return
        self.known[key] = Known.of(verdict)
        edges = tuple(_edges(key, facts))
        if edges != self._edges_of.get(key):
            self._unlink(key)
            self._edges_of[key] = edges
            for edge in edges:
                self._edges[edge].add(key)
        self._parents_of[key] = tuple(_parents(key, facts))
        self._children_of[key] = tuple(_children(key, facts))
        self._heard_by.pop(key, None)
        if verdict.open:
            self.hear(key, facts)

    def drop(self, key: Key) -> None:
        """Forget a run altogether."""
        self._unlink(key)
        self.known.pop(key, None)

    def due(self, now: int) -> list[Key]:
        """Return the runs whose verdict may have turned by time alone."""
        return [
            key for key, known in self.known.items() if known.next_due is not None and known.next_due <= now
        ]

    def hear(self, key: Key, facts: Facts) -> None:
        """Take in when the producers of an open run with an announced keep-alive were last heard."""
        beats = tuple(
            (p.id, p.keepalive_ns, p.last_at) for p in facts.producers if p.keepalive_ns is not None
        )
        if beats:
            self._heard_by[key] = beats

    def keepalives(self) -> list[tuple[int, int]]:
        """Return (interval, last heard) of every producer that announced a keep-alive and has open runs."""
        latest: dict[str, tuple[int, int]] = {}
        for beats in self._heard_by.values():
            for producer, interval, last in beats:
                if producer not in latest or latest[producer][1] < last:
                    latest[producer] = (interval, last)
        return list(latest.values())

    def concerned(self, facts: Iterable[Facts]) -> set[Key]:
        """Return the watched runs that the news of the given runs may turn."""
        found: set[Key] = set()
        for known in facts:
            key = (known.session, known.run)
            for edge in _news(key, known):
                found |= self._edges.get(edge, set())
            found |= self._reached(_parents(key, known), self._parents_of)
            if any(end.kind == "child_gone" for end in known.ends):
                found |= self._reached(_children(key, known), self._children_of)
        return found

    def of_owner(self, session: str, owner: str) -> set[Key]:
        """Return the watched runs of one owner in one session."""
        return set(self._edges.get(("owner", session, owner), ()))

    def _reached(self, edges: Iterable[Edge], following: Mapping[Key, tuple[Edge, ...]]) -> set[Key]:
        """Return the runs that edges lead to, and those that theirs lead to, and so on; circles end."""
        found: set[Key] = set()
        queue = list(edges)
        while queue:
            for key in self._edges.get(queue.pop(), ()):
                if key not in found:
                    found.add(key)
                    queue.extend(following.get(key, ()))
        return found

    def _unlink(self, key: Key) -> None:
        self._parents_of.pop(key, None)
        self._children_of.pop(key, None)
        self._heard_by.pop(key, None)
        for edge in self._edges_of.pop(key, ()):
            keys = self._edges.get(edge)
            if keys is not None:
                keys.discard(key)
                if not keys:
                    del self._edges[edge]


def _edges(key: Key, facts: Facts) -> Iterable[Edge]:
    session, run = key
    yield "run", session, run
    for child in facts.children_keys:
        yield "child", session, child
    for wait in facts.waits:
        if wait.waker is not None:
            yield "waits", session, wait.waker
    for name in (*facts.names, *facts.children_keys):
        yield "named", session, name
    for twin in facts.neighbours.twins:
        yield "looks-at", session, twin.run
    for peer in facts.neighbours.peers:
        if peer.resolved_at is None:
            yield "looks-at", session, peer.run
    root, numbered, _ = run.rpartition("#")
    if numbered:
        yield "looks-at", session, root
    dispatch = facts.dispatch
    if dispatch is None:
        return
    yield "owner", session, dispatch.owner
    if dispatch.parent is not None:
        yield "parent", session, dispatch.parent
    if dispatch.prompt_digest:
        yield "asks", session, dispatch.prompt_digest
    if dispatch.description_digest:
        yield "asks", session, dispatch.description_digest
    for child in facts.children_keys:
        yield "asks-child", session, dispatch.owner, child
    if facts.heard_at is None and facts.neighbours.kind_heard_at is None:
        yield "dark", dispatch.service, dispatch.agent or ""


def _parents(key: Key, facts: Facts) -> list[Edge]:
    dispatch = facts.dispatch
    if dispatch is None:
        return []
    if dispatch.parent is not None:
        return [("run", key[0], dispatch.parent)]
    return [("child", key[0], dispatch.owner)] if dispatch.owner else []


def _children(key: Key, facts: Facts) -> list[Edge]:
    session, run = key
    return [("parent", session, run), *(("owner", session, child) for child in facts.children_keys)]


def _news(key: Key, facts: Facts) -> Iterable[Edge]:
    """Edges along which this run's news travels, but for its ancestors."""
    session, run = key
    for name in (run, *facts.names, *facts.children_keys):
        yield "waits", session, name
        yield "named", session, name
    if facts.ends:
        for owner in (run, *facts.children_keys):
            yield "owner", session, owner
    yield "looks-at", session, run
    dispatch = facts.dispatch
    if dispatch is None:
        return
    for earlier in dispatch.supersedes:
        yield "run", session, earlier
    if dispatch.prompt_digest:
        yield "asks", session, dispatch.prompt_digest
    if dispatch.description_digest:
        yield "asks", session, dispatch.description_digest
    for child in facts.children_keys:
        yield "asks-child", session, dispatch.owner, child
    if facts.heard_at is not None:
        yield "dark", dispatch.service, dispatch.agent or ""
