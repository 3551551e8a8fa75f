"""Signals of results on their way: early, lost, cut, doubled, contradicted, or with nobody left to take them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from .quality import differs, last_arrived, last_left
from .rules import grace_over, owner_gone
from .scene import Scene
from .verdict import Signal
from .words import clock


def premature_owner_final(scene: Scene) -> Iterator[Signal]:
    if scene.settled:
        return
    facts, owner = scene.line.facts, scene.line.facts.neighbours.owner
    finals = [final for final in owner.finals if scene.line.dispatched_at <= final.at <= scene.now]
    gone = owner_gone(scene.line, scene.now) is not None
    if finals:
        last = finals[-1]
        known = bool({facts.run, *facts.names} & set(last.owed))
        if not known or last.final or gone:
            severity = "page" if last.final or gone else "warn"
            yield Signal(
                "premature_owner_final", last.at, severity, f"its owner gave its answer {clock(last.at)}"
            )
            return
    if owner.ended_at is not None and scene.line.dispatched_at <= owner.ended_at <= scene.now:
        yield Signal(
            "premature_owner_final", owner.ended_at, "warn", f"its owner ended {clock(owner.ended_at)}"
        )
        return


def premature_end_of_its_own(scene: Scene) -> Iterator[Signal]:
    end = scene.finding.end
    if end is None or end.kind != "child_done":
        return
    left = [
        child
        for child in scene.line.facts.neighbours.children
        if child.dispatched_at <= end.at and (child.settled_at is None or child.settled_at > scene.now)
    ]
    if left and not any(signal.name == "premature_owner_final" for signal in premature_owner_final(scene)):
        text = f"it ended {clock(end.at)} while {len(left)} runs of its own were open"
        yield Signal("premature_owner_final", end.at, "warn", text)


def premature_completion(scene: Scene) -> Iterator[Signal]:
    line, skew = scene.line, scene.line.times.skew
    if scene.finding.delivered_at is not None or scene.finding.void_at is not None:
        return
    last = line.last_progress(scene.now)
    restart = max(
        (start.at for start in line.facts.starts if start.attempt > 1 and start.at <= scene.now), default=-1
    )
    if last is None:
        return
    told = [f.at for f in line.forwards if f.forwarded]
    early = [receipt.at for receipt in line.receipts] + told
    early += [end.at for end in line.facts.ends if end.kind == "child_done"]
    early = [moment for moment in early if moment > restart and last > moment + skew]
    if not early:
        return
    first = min(early)
    opened = next(moment for moment in line.progress if moment > first + skew)
    delivered = any(moment > restart and last > moment + skew for moment in told)
    text = f"a completion {clock(first)}, and progress after it"
    yield Signal("premature_completion", opened, "page" if delivered else "warn", text)


def contradicted_outcome(scene: Scene) -> Iterator[Signal]:
    if scene.finding.delivered_at is None or scene.finding.void_at is not None:
        return
    left = last_left(scene.line, scene.now)
    told = [
        receipt
        for receipt in scene.line.receipts
        if receipt.at <= scene.now and scene.line.to_owner(receipt) and receipt.outcome is not None
    ]
    if left is not None and told and told[-1].outcome != left[1]:
        text = f"its owner was told {told[-1].outcome}, the child ended {left[1]}"
        yield Signal("contradicted_outcome", max(told[-1].at, left[0]), "page", text)


def misdelivered(scene: Scene) -> Iterator[Signal]:
    if scene.settled:
        return
    astray = [r for r in scene.line.receipts if r.at <= scene.now and not scene.line.to_owner(r)]
    forwarded = [
        f for f in scene.line.forwards if f.forwarded and f.at <= scene.now and not scene.line.to_owner(f)
    ]
    found = [(told.at, told.receiver or "the root owner") for told in astray]
    found += [(told.at, told.receiver or "the root owner") for told in forwarded]
    if found:
        yield Signal("misdelivered", min(found)[0], "page", f"its result went to {min(found)[1]}")


def delivered_not_consumed(scene: Scene) -> Iterator[Signal]:
    if scene.finding.rule == "2b":
        text = "it was shown to its owner and never entered a request"
        yield Signal("delivered_not_consumed", scene.finding.since, "page", text)


def duplicate_completion(scene: Scene) -> Iterator[Signal]:
    last = scene.line.last_progress(scene.now)
    floor = 0 if last is None else last - scene.line.times.skew
    forwards = [
        f.at
        for f in scene.line.forwards
        if f.forwarded and floor <= f.at <= scene.now and scene.line.to_owner(f)
    ]
    if len(forwards) > 1:
        yield Signal("duplicate_completion", forwards[1], "info", f"delivered {len(forwards)} times")
        return
    receipts = [r for r in scene.line.receipts if floor <= r.at <= scene.now and r.result.digest is not None]
    for before, after in pairwise(receipts):
        if before.result.form == after.result.form and before.result.digest != after.result.digest:
            yield Signal("duplicate_completion", after.at, "info", "a second completion with other content")
            return


def empty_or_cut_result(scene: Scene) -> Iterator[Signal]:
    if scene.finding.void_at is not None:
        return
    left = last_left(scene.line, scene.now)
    arrived = last_arrived(scene.line, scene.now)
    last = arrived or left
    if last is None:
        return
    at, outcome, result = last
    if outcome in (None, "ok") and result.size == 0:
        yield Signal("empty_or_cut_result", at, "warn", "there is nothing in the result")
    elif arrived is not None and left is not None and left[2].size != 0 and differs(left[2], result):
        text = (
            f"{result.size} bytes arrived of {left[2].size}"
            if result.size is not None
            else "another content arrived"
        )
        yield Signal("empty_or_cut_result", at, "warn", text)


def output_discarded(scene: Scene) -> Iterator[Signal]:
    facts, end = scene.line.facts, scene.finding.end
    if end is None or end.outcome != "killed" or scene.finding.void_at is not None:
        return
    if not facts.output_tokens and not any(turn.tokens or turn.outputs for turn in facts.turns):
        return
    results = (
        [e.result for e in facts.ends]
        + [r.result for r in facts.receipts]
        + [f.result for f in facts.forwards]
    )
    if any(result.location or result.size for result in results):
        return
    opened = grace_over(scene.line, scene.now, end.at, killed=end.kind == "kill")
    if scene.moments.reached(opened):
        yield Signal(
            "output_discarded", opened, "warn", "it was killed after output, and nobody says where that is"
        )


def unattributed_kill(scene: Scene) -> Iterator[Signal]:
    for end in scene.line.facts.ends:
        if end.kind == "kill" and end.at <= scene.now and not (end.actor or end.rule or end.limit_ns):
            yield Signal(
                "unattributed_kill", end.at, "warn", "nobody says who killed it, by which rule, at what limit"
            )
            return


def orphaned(scene: Scene) -> Iterator[Signal]:
    gone = owner_gone(scene.line, scene.now)
    if gone is None or scene.settled:
        return
    opened = gone + scene.line.times.delivery_grace
    if scene.moments.reached(opened):
        yield Signal("orphaned", opened, "page", f"its owner is gone since {clock(gone)}")
