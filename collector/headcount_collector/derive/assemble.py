"""Assembles the facts of one run from its evidence: everything but what its neighbours did."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from headcount_collector.derive.clocks import Clocks
from headcount_collector.derive.pulse import Timing, pulse
from headcount_collector.derive.rare import Rare, extent
from headcount_collector.derive.rows import ActivityRow, CallRow, EvidenceRow
from headcount_collector.judge.facts import Facts, Failure, OpenTool, ProducerHealth, Request


@dataclass(slots=True)
class Sources:
    """All that the store has of one run, under every name of it."""

    session: str
    run: str
    names: Sequence[str] = ()
    children: Mapping[str, int] = field(default_factory=dict)
    """Child session key → first moment it was named."""
    dispatched_at: int | None = None
    wakers: Collection[str] = ()
    """What its waits name."""
    evidence: list[EvidenceRow] = field(default_factory=list)
    activity: list[ActivityRow] = field(default_factory=list)
    calls: list[CallRow] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        return not (self.evidence or self.activity or self.calls)


@dataclass(slots=True)
class Own:
    """The facts of a run without its neighbours, and what its neighbours need of it besides."""

    facts: Facts
    request_starts: tuple[int, ...] = ()
    heard: frozenset[str] = frozenset()
    """The producers that spoke of it."""
    child_side: frozenset[str] = frozenset()
    """Those of them that spoke for the child."""

    def with_clocks(self, clocks: Clocks) -> Own:
        """Return the same facts with what is known of its producers now."""
        producers = _producers(self.heard, self.child_side, clocks)
        if producers != self.facts.producers:
            self.facts = replace(self.facts, producers=producers)
        return self


def own_facts(sources: Sources, rare: Rare, clocks: Clocks) -> Own:
    """Return what the run's own evidence says."""
    beat = pulse(sources.activity, sources.calls, Timing(clocks, sources.dispatched_at, rare.early))
    heard = extent((*beat.moments, *rare.activity))
    traffic = extent((*heard, *rare.traffic))
    child_side = rare.child_side.union(beat.last_by_producer)
    producers = rare.heard | child_side
    facts = Facts(
        session=sources.session,
        run=sources.run,
        names=tuple(sources.names),
        children_keys=_in_order({**beat.children, **sources.children}, beat.children),
        first_at=traffic[0] if traffic else 0,
        dispatch=rare.dispatch,
        launches=rare.launches,
        starts=rare.starts,
        requests=tuple(sorted(beat.requests, key=_request_order)),
        open_tools=tuple(sorted(beat.open_tools, key=_tool_order)),
        failures=tuple(sorted(beat.failures, key=_failure_order)),
        turns=beat.turns(),
        waits=rare.waits,
        idles=rare.idles,
        pokes=rare.pokes,
        ends=rare.ends,
        aborts=rare.aborts,
        receipts=rare.receipts,
        forwards=rare.forwards,
        consumptions=rare.consumptions,
        dismissals=rare.dismissals,
        producers=_producers(producers, child_side, clocks),
        resolved_models=beat.models_in_order(),
        heard_at=heard[0] if heard else None,
        last_activity_at=heard[-1] if heard else None,
        last_traffic_at=traffic[-1] if traffic else None,
        # The reading asks for what the waits of any run name.
        closed_calls={call: at for call, at in beat.closed_calls.items() if call in sources.wakers},
        tool_calls=beat.tool_calls,
        output_tokens=max(beat.output_tokens(), rare.tokens),
    )
    return Own(facts, tuple(sorted(beat.request_starts)), producers, child_side)


def _request_order(request: Request) -> tuple[object, ...]:
    return request.at, request.ended or 0, request.turn or "", request.trigger or ""


def _tool_order(tool: OpenTool) -> tuple[object, ...]:
    return tool.at, tool.tool, tool.call or "", tool.ended or 0


def _failure_order(failure: Failure) -> tuple[object, ...]:
    return failure.at, failure.tool, failure.error, failure.turn or ""


def _producers(
    heard: Iterable[str], child_side: frozenset[str], clocks: Clocks
) -> tuple[ProducerHealth, ...]:
    found = []
    for producer in sorted(heard):
        if not producer:
            continue
        clock = clocks.of(producer)
        found.append(
            ProducerHealth(
                id=producer,
                child_side=producer in child_side,
                hole_after=clock.hole_after,
                keepalive_ns=clock.keepalive_ns,
                last_at=clock.last_at,
                offset_ns=clock.offset_ns,
            )
        )
    return tuple(found)


def _in_order(children: Mapping[str, int], states: Mapping[str, int]) -> tuple[str, ...]:
    """Return the child session keys by their first appearance, whichever table saw it."""
    first = {key: min(at, states.get(key, at)) for key, at in children.items()}
    return tuple(sorted(first, key=lambda key: (first[key], key)))
