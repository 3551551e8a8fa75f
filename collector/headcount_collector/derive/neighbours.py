"""What the judgement of a run reads of others: its owner, those below and above it, those that came after it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from headcount_collector.derive.assemble import Own
from headcount_collector.derive.books import Book
from headcount_collector.derive.clocks import Clocks
from headcount_collector.derive.dated import Dated, texts
from headcount_collector.derive.family import Family
from headcount_collector.derive.kinds import Kinds
from headcount_collector.derive.pairing import spans
from headcount_collector.derive.rare import consumed
from headcount_collector.evidence import wire
from headcount_collector.judge.facts import (
    Child,
    Facts,
    Neighbours,
    Owner,
    OwnerFinal,
    Peer,
    Successor,
    Twin,
)
from headcount_collector.judge.progress import own_progress

OF_OWNERS = frozenset({"owner_turn", "owner_final", "owner_gone", "child_gone", "completion_consumed"})
"""Events that concern more runs than the one they name, or name none."""


@dataclass(slots=True)
class Circle:
    """One session: its family, the facts of the runs that were read, and what its owners did."""

    book: Book
    family: Family
    own: Mapping[str, Own]
    clocks: Clocks
    kinds: Kinds
    _owners: dict[str, Owner] = field(default_factory=dict)

    def dated(self, event: str) -> list[Dated]:
        """Return the session's events of one kind that concern owners, by time."""
        return self.book.dated.get(event, [])

    def facts(self, run: str) -> Facts | None:
        one = self.own.get(run)
        return None if one is None else one.facts

    def owner(self, owner: str) -> Owner:
        """Return what is known of an owner of this session."""
        lasting = self.book.owners
        found = lasting.get(owner) or self._owners.get(owner)
        if found is None:
            runs = _runs_of(owner, self.family)
            found = _owner(owner, runs, self)
            (self._owners if runs else lasting)[owner] = found
        return found

    def collisions(self, run: str) -> tuple[tuple[int, str], ...]:
        """Return (moment, name) where another run, open then as this one was, claims the same name."""
        names, kin = self.family.names, self.family.kin.get(run)
        if kin is None or (names.plain and not kin.children):
            return ()
        found = set()
        for name in names.claimed_by(run):
            claims = {one: _claimed_at(self, one, name) for one in names.claimants(name)}
            found |= self._clashes(run, name, claims)
        for key in kin.children:
            claims = {one: _child_named_at(self, one, key) for one in self.family.runs_in(key)}
            found |= self._clashes(run, key, claims)
        return tuple(sorted(found))

    def _clashes(self, run: str, name: str, claims: Mapping[str, int]) -> set[tuple[int, str]]:
        found = set()
        for other, at in claims.items():
            if other == run or run not in claims or other not in self.family.kin:
                continue
            moment = max(at, claims[run], self.family.kin[other].at, self.family.kin[run].at)
            if all(
                closed is None or closed > moment for closed in (self.closed_at(run), self.closed_at(other))
            ):
                found.add((moment, name))
        return found

    def closed_at(self, run: str) -> int | None:
        """Return when a run first ended, was delivered or was dismissed."""
        facts = self.facts(run)
        if facts is None:
            return None
        return min([*(end.at for end in facts.ends), *_settled(facts)], default=None)


def neighbours(one: Own, circle: Circle) -> Neighbours:
    """Return the neighbours' part of one run's facts; `wakers` is left to the tick."""
    run, family = one.facts.run, circle.family
    dispatch = one.facts.dispatch
    near = family.near(run)
    below = [facts for other in near.descendants if (facts := circle.facts(other)) is not None]
    return Neighbours(
        progress=tuple(sorted({moment for facts in below for moment in own_progress(facts)})),
        children=tuple(_child(other, circle) for other in near.children),
        gone=_gone_above(run, circle),
        successors=tuple(
            Successor(other, family.kin[other].at, explicit, _first(_delivered(circle.facts(other))))
            for other, explicit in near.successors.items()
        ),
        owner=circle.owner(dispatch.owner) if dispatch is not None else Owner(),
        twins=tuple(_twin(run, other, family) for other in near.twins),
        peers=tuple(peer for other in near.peers if (peer := _peer(other, circle)) is not None),
        stray_ends=_stray_ends(run, circle),
        kind_heard_at=circle.kinds.heard_at(dispatch.service, dispatch.agent or "") if dispatch else None,
    )


def _runs_of(owner: str, family: Family) -> list[str]:
    """Return the runs that an owner works in; none of the root, or of an agent that no dispatch made."""
    if not owner:
        return []
    return family.runs_in(owner) or ([owner] if owner in family.kin else [])


def _owner(owner: str, runs: list[str], circle: Circle) -> Owner:
    family = circle.family
    own = [one for run in runs if (one := circle.own.get(run)) is not None]
    requests = sorted({moment for one in own for moment in one.request_starts})
    theirs = [record for record in circle.dated("owner_turn") if record.row.owner == owner]
    turns = [(span.at, span.closed) for span in spans(theirs, lambda _: None, lambda _: None)]
    finals = [record for record in circle.dated("owner_final") if record.row.owner == owner]
    consumptions = [
        record.at
        for record in circle.dated("completion_consumed")
        if consumed(record) and _owner_of(record, family) == owner
    ]
    visible = [*requests, *(at for at, _ in turns), *consumptions]
    shown = {family.kin[run].at for run in family.by_owner.get(owner, ())}
    shown.update(visible, (record.at for record in finals))
    shown.update(closed for _, closed in turns if closed is not None)
    producers = {family.kin[run].producer for run in family.by_owner.get(owner, ())}
    return Owner(
        turns=tuple(turns),
        finals=tuple(
            OwnerFinal(
                record.at,
                tuple(texts(record.attributes.get(wire.OWED))),
                record.flag(wire.FINAL) or False,
            )
            for record in finals
        ),
        gone=tuple(
            (record.at, record.text(wire.GONE_REASON))
            for record in circle.dated("owner_gone")
            if record.row.owner == owner
        ),
        shown=tuple(sorted(shown)),
        consumes_since=min(visible, default=None),
        export_interval_ns=max((circle.clocks.of(p).export_interval_ns for p in producers), default=0),
        requests=tuple(requests),
        ended_at=_ended(runs, circle),
        model=_model(own),
        heirs=tuple(_heirs(owner, family)) or ("",),
    )


def _owner_of(record: Dated, family: Family) -> str:
    run = family.names.run_at(record.row.run, record.at)
    return family.kin[run].owner if run in family.kin else record.row.owner


def _heirs(owner: str, family: Family) -> Iterable[str]:
    """Yield who is owed an owner's results once it is gone, up to the root."""
    seen = {owner}
    while owner:
        runs = _runs_of(owner, family)
        owner = family.kin[runs[-1]].owner if runs else ""
        if owner in seen:
            owner = ""
        seen.add(owner)
        yield owner


def _ended(runs: Iterable[str], circle: Circle) -> int | None:
    """Return when the last run of an owner's child session ended; None while one of them goes on."""
    ends = []
    for run in runs:
        facts = circle.facts(run)
        if facts is None or not facts.ends:
            return None
        ends.append(facts.ends[-1].at)
    return max(ends, default=None)


def _model(own: Iterable[Own]) -> str | None:
    """Return the model that an owner's own run answered with last, else the one that was asked for it."""
    for one in reversed(list(own)):
        asked = one.facts.dispatch.model if one.facts.dispatch is not None else None
        if one.facts.resolved_models or asked:
            return one.facts.resolved_models[-1] if one.facts.resolved_models else asked
    return None


def _child(run: str, circle: Circle) -> Child:
    facts = circle.facts(run)
    settled = _settled(facts) if facts is not None else []
    return Child(
        run=run,
        dispatched_at=circle.family.kin[run].at,
        closed_at=circle.closed_at(run),
        settled_at=_first(settled),
    )


def _settled(facts: Facts) -> list[int]:
    """Return the moments at which a run was delivered or dismissed, taken by themselves."""
    return sorted([*_delivered(facts), *(dismissal.at for dismissal in facts.dismissals)])


def _delivered(facts: Facts | None) -> list[int]:
    if facts is None:
        return []
    owner = facts.dispatch.owner if facts.dispatch is not None else ""
    told = [
        forward.at
        for forward in facts.forwards
        if forward.forwarded
        and forward.receiver in (None, owner)
        and forward.receiver_session in (None, facts.session)
    ]
    return sorted([*told, *facts.consumptions])


def _gone_above(run: str, circle: Circle) -> tuple[int, ...]:
    """Return when a child session of the run or of one above it was gone, said of the session or of another run."""
    family = circle.family
    if not circle.dated("child_gone"):
        return ()
    above = {*family.ancestors_of(run)}
    sessions = {key for other in above for key in family.kin[other].children}
    own_sessions = family.kin[run].children if run in family.kin else frozenset()
    found = set()
    for record in circle.dated("child_gone"):
        named = family.names.claimers(record.row.run) if record.row.run else ()
        if run in named:
            continue
        shared = any(own_sessions & family.kin[other].children for other in named if other in family.kin)
        if shared or record.row.child in sessions | own_sessions or above.intersection(named):
            found.add(record.at)
    return tuple(sorted(found))


def _twin(run: str, other: str, family: Family) -> Twin:
    one, two = family.kin[run], family.kin[other]
    known = bool(one.prompt_digest and two.prompt_digest)
    named = bool(
        one.supersedes.intersection(family.names.names_of(other))
        or two.supersedes.intersection(family.names.names_of(run))
    )
    return Twin(
        run=other,
        dispatched_at=two.at,
        same_prompt=known and one.prompt_digest == two.prompt_digest,
        prompt_known=known,
        on_purpose=named or one.replica or two.replica,
    )


def _peer(run: str, circle: Circle) -> Peer | None:
    """Return an earlier run whose launch to the background was acknowledged."""
    facts = circle.facts(run)
    if facts is None:
        return None
    said = [
        launch.at for launch in facts.launches if launch.mode == "background" or launch.state == "registered"
    ]
    said += [receipt.at for receipt in facts.receipts if receipt.source == "tool_result"]
    return None if not said else Peer(run, min(said))


def _stray_ends(run: str, circle: Circle) -> tuple[int, ...]:
    """Return when an end long after its delivery, or an end or completion of other content, named `X`, for a run `X#n`."""
    root, numbered, _ = run.rpartition("#")
    facts = circle.facts(root) if numbered else None
    delivered = _first(_delivered(facts))
    if facts is None or delivered is None:
        return ()
    late = [end.at for end in facts.ends if end.at > delivered + circle.clocks.skew_ns]
    told = [end.result.digest for end in facts.ends if end.at <= delivered and end.result.digest]
    told += [
        receipt.result.digest
        for receipt in facts.receipts
        if receipt.at <= delivered and receipt.result.digest
    ]
    others = [(end.at, end.result.digest) for end in facts.ends]
    others += [(receipt.at, receipt.result.digest) for receipt in facts.receipts]
    late += [at for at, digest in others if at > delivered and told and digest and digest not in told]
    return tuple(sorted(set(late)))


def _claimed_at(circle: Circle, run: str, name: str) -> int:
    """Return when a run laid claim to a name: its own id at its dispatch, an alias when it was first said."""
    names = circle.family.names
    if run == name:
        return circle.family.kin[run].at
    said = [
        circle.clocks.at(row.producer, row.event_ns, row.received_ns)
        for source, row in names.claims.get(name, {}).items()
        if run in names.claimers(source)
    ]
    return min(said, default=circle.family.kin[run].at)


def _child_named_at(circle: Circle, run: str, key: str) -> int:
    row = circle.family.names.children_of(run).get(key)
    if row is None:
        return circle.family.kin[run].at
    return circle.clocks.at(row.producer, row.event_ns, row.received_ns)


def _first(moments: Iterable[int]) -> int | None:
    return min(moments, default=None)
