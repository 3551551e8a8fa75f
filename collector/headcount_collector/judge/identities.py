"""Signals of runs that are taken for others, doubled, mute by construction, or known to nobody."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from .policy import SECOND
from .rules import returns_by_message
from .scene import Scene
from .verdict import Signal
from .words import clock

UNMATCHED_AFTER = 120 * SECOND
REDISPATCHED_WITHIN = 60 * SECOND


def duplicate_dispatch(scene: Scene) -> Iterator[Signal]:
    dispatch = scene.line.facts.dispatch
    if scene.over or dispatch is None or dispatch.replica is not None:
        return
    for twin in scene.line.facts.neighbours.twins:
        opened = max(twin.dispatched_at, dispatch.at)
        if (
            twin.on_purpose
            or opened > scene.now
            or (twin.resolved_at is not None and twin.resolved_at <= scene.now)
        ):
            continue
        severity = "info" if not twin.same_prompt and twin.prompt_known else "warn"
        what = "the same prompt" if twin.same_prompt else "the same description"
        yield Signal("duplicate_dispatch", opened, severity, f"{twin.run} was dispatched with {what}")
        return


def redispatch_after_background(scene: Scene) -> Iterator[Signal]:
    dispatch = scene.line.facts.dispatch
    if scene.over or dispatch is None:
        return
    for peer in scene.line.facts.neighbours.peers:
        if peer.resolved_at is not None and peer.resolved_at <= scene.now:
            continue
        asked = scene.line.facts.neighbours.owner.requests
        later = any(peer.acknowledged_at <= request <= dispatch.at for request in asked)
        if later and 0 <= dispatch.at - peer.acknowledged_at <= REDISPATCHED_WITHIN:
            text = f"{peer.run} of the same kind went to the background {clock(peer.acknowledged_at)} and is still open"
            yield Signal("redispatch_after_background", dispatch.at, "info", text)
            return


def structurally_mute(scene: Scene) -> Iterator[Signal]:
    dispatch = scene.line.facts.dispatch
    if dispatch is None or dispatch.can_send is not False or not returns_by_message(scene.line, scene.now):
        return
    if scene.settled or scene.line.receipt(scene.now) is not None:
        return
    idle = [event.at for event in scene.line.facts.idles if event.at <= scene.now]
    ended = bool(idle) or scene.finding.end is not None
    text = "it returns by message only and has no means to send one"
    yield Signal("structurally_mute", dispatch.at, "page" if ended else "warn", text)


def identity_collision(scene: Scene) -> Iterator[Signal]:
    if scene.over:
        return
    facts = scene.line.facts
    if not (facts.collisions or facts.neighbours.stray_ends or len(facts.starts) > 1):
        return
    claims = [(moment, f"{name} names another open run too") for moment, name in facts.collisions]
    claims += [
        (moment, "an end came under the name of the run before it") for moment in facts.neighbours.stray_ends
    ]
    for before, after in pairwise(facts.starts):
        other = before.producer and after.producer and before.producer != after.producer
        if other and after.attempt <= before.attempt and after.at - before.at > scene.line.times.skew:
            claims.append((after.at, f"started again by another process {clock(after.at)}"))
    claims = [claim for claim in claims if claim[0] <= scene.now]
    if claims:
        yield Signal("identity_collision", min(claims)[0], "warn", min(claims)[1])


def unmatched(scene: Scene) -> Iterator[Signal]:
    opened = scene.line.facts.first_at + UNMATCHED_AFTER
    if scene.moments.reached(opened):
        yield Signal(
            "unmatched", opened, "warn", f"records since {clock(scene.line.facts.first_at)}, and no dispatch"
        )
