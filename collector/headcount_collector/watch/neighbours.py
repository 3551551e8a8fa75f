"""Second pass over loaded facts: what a run's successors, children and wakers came to, as the judgement sees them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from headcount_collector.judge.facts import Child, Facts, Neighbours, Successor, Waker
from headcount_collector.judge.judge import Outline, outline
from headcount_collector.judge.policy import Policy

Key = tuple[str, str]


class Surroundings:
    """The runs loaded together, each able to say what it came to; outlines are made once, when asked for."""

    def __init__(self, facts: Mapping[Key, Facts], policy: Policy, now: int) -> None:
        self._facts = facts
        self._policy = policy
        self._now = now
        self._names: dict[Key, Key] = {}
        self._first: dict[Key, Outline] = {}
        self._second: dict[Key, Outline] = {}
        for key, known in sorted(facts.items(), key=lambda item: _dispatched(item[1])):
            for name in (*known.children_keys, *known.names):
                self._names[key[0], name] = key
        for key in facts:
            self._names[key] = key

    def of(self, key: Key) -> Facts:
        """Return the facts of a run with its neighbours' fates filled in."""
        facts = self._related(key)
        wakers = {wait.waker for wait in facts.waits if wait.waker is not None}
        if not wakers:
            return facts
        found = {name: waker for name in wakers if (waker := self._waker(key, name)) is not None}
        return replace(facts, neighbours=replace(facts.neighbours, wakers=found))

    def _related(self, key: Key) -> Facts:
        facts = self._facts[key]
        near = facts.neighbours
        if not (near.successors or near.children or near.twins or near.peers):
            return facts
        return replace(facts, neighbours=self._with_fates(key, near))

    def _with_fates(self, key: Key, near: Neighbours) -> Neighbours:
        successors = tuple(self._successor(key[0], successor) for successor in near.successors)
        children = tuple(self._child(key[0], child) for child in near.children)
        twins = tuple(replace(twin, resolved_at=self._settled(key[0], twin.run)) for twin in near.twins)
        peers = tuple(replace(peer, resolved_at=self._settled(key[0], peer.run)) for peer in near.peers)
        return replace(near, successors=successors, children=children, twins=twins, peers=peers)

    def _settled(self, session: str, run: str) -> int | None:
        """Return when a run was delivered or became void."""
        key = (session, run)
        if key not in self._facts:
            return None
        fate = self._outline(key)
        return _first(fate.delivered_at, fate.void_at)

    def _successor(self, session: str, successor: Successor) -> Successor:
        key = (session, successor.run)
        return (
            replace(successor, delivered_at=self._outline(key).delivered_at)
            if key in self._facts
            else successor
        )

    def _child(self, session: str, child: Child) -> Child:
        key = (session, child.run)
        if key not in self._facts:
            return child
        fate = self._outline(key)
        settled = _first(fate.delivered_at, fate.void_at)
        return replace(child, closed_at=_first(fate.ended_at, settled), settled_at=settled)

    def _waker(self, asking: Key, name: str) -> Waker | None:
        key = self._names.get((asking[0], name))
        if key is None or key == asking:
            return self._producer(asking, name)
        fate = self._settled_outline(key)
        circle = self._circle_closed_at(asking, key)
        return Waker(
            delivered_at=fate.delivered_at,
            void_at=fate.void_at,
            ended_at=fate.ended_at,
            abnormal_since=_first(fate.abnormal_since, circle),
        )

    def _producer(self, key: Key, name: str) -> Waker | None:
        for producer in self._facts[key].producers:
            if producer.id == name:
                silent = producer.last_at + 3 * producer.keepalive_ns if producer.keepalive_ns else None
                return Waker(gone_at=silent)
        return None

    def _circle_closed_at(self, asking: Key, start: Key) -> int | None:
        """Return when the last wait of a circle back to `asking` began, or None where the chain does not close."""
        latest, seen = 0, {asking}
        queue = [start]
        while queue:
            key = queue.pop()
            if key in seen:
                continue
            seen.add(key)
            facts = self._facts[key]
            if any(tool.open(self._now) for tool in facts.open_tools):
                continue
            for wait in facts.waits:
                if wait.closed is not None or wait.waker is None:
                    continue
                following = self._names.get((key[0], wait.waker))
                latest = max(latest, wait.at)
                if following == asking:
                    own = [w.at for w in self._facts[asking].waits if w.closed is None]
                    return max(latest, *own) if own else latest
                if following is not None:
                    queue.append(following)
        return None

    def _outline(self, key: Key) -> Outline:
        if key not in self._first:
            self._first[key] = outline(self._facts[key], self._policy, self._now)
        return self._first[key]

    def _settled_outline(self, key: Key) -> Outline:
        if key not in self._second:
            self._second[key] = outline(self._related(key), self._policy, self._now)
        return self._second[key]


def _first(*moments: int | None) -> int | None:
    known = [moment for moment in moments if moment is not None]
    return min(known) if known else None


def _dispatched(facts: Facts) -> int:
    return facts.dispatch.at if facts.dispatch is not None else facts.first_at


def wakers_of(facts: Iterable[Facts]) -> set[Key]:
    """Return (session, name) of everything the given runs wait for."""
    return {(known.session, wait.waker) for known in facts for wait in known.waits if wait.waker is not None}
