"""Signals: early or orthogonal findings, each opening and closing by itself (domain contract, section 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from .models import is_other_model
from .policy import SECOND
from .quality import differs, last_arrived, last_left
from .rules import Finding, grace_over, owner_gone
from .timeline import Timeline
from .verdict import Signal
from .waits import PERSON, Moments, waits_until
from .words import clock, span

UNMATCHED_AFTER = 120 * SECOND
REDISPATCHED_WITHIN = 60 * SECOND
POKES = 3


@dataclass(frozen=True, slots=True)
class Scene:
    """What every signal reads: the run as of now, and what the rules found."""

    line: Timeline
    moments: Moments
    finding: Finding

    @property
    def now(self) -> int:
        return self.moments.now

    @property
    def over(self) -> bool:
        """Whether the run has ended, was delivered, or is void: then most signals are closed."""
        finding = self.finding
        return finding.end is not None or self.settled

    @property
    def settled(self) -> bool:
        """Whether the result was delivered, or nobody waits for it."""
        return self.finding.delivered_at is not None or self.finding.void_at is not None

    @property
    def kind_heard(self) -> bool:
        """Whether any child of this service and agent type was ever heard: silence of the others proves nothing."""
        heard = self.line.facts.neighbours.kind_heard_at
        own = self.line.facts.heard_at
        return (heard is not None and heard <= self.now) or (own is not None and own <= self.now)

    def began(self) -> int | None:
        """Return when the run's work began: its start, or its registration where no start was seen."""
        facts = self.line.facts
        starts = [start.at for start in facts.starts if start.at <= self.now]
        if starts:
            return starts[0]
        registered = [
            launch.at for launch in facts.launches if launch.state == "registered" and launch.at <= self.now
        ]
        return registered[0] if registered else None

    def waited(self, since: int) -> tuple[int, bool]:
        """Return how long the run has waited since a moment, overlaps once, and whether it waits now."""
        total, covered, waiting = 0, since, False
        for wait in waits_until(self.line, self.now):
            end = wait.closed if wait.closed is not None else self.now
            waiting = waiting or wait.closed is None
            if end > covered:
                total += end - max(wait.at, covered)
                covered = end
        return total, waiting

    def tool_limit(self) -> int:
        """Return until when a tool in flight explains the silence; 0 where none is."""
        times = self.line.times
        return max(
            (
                tool.at + times.tool_limit(tool.tool)
                for tool in self.line.facts.open_tools
                if tool.at <= self.now
            ),
            default=0,
        )


def signals_of(line: Timeline, moments: Moments, finding: Finding) -> tuple[Signal, ...]:
    """Return the open signals of a run; notes in `moments` when one would open by time alone."""
    scene = Scene(line, moments, finding)
    if line.facts.dispatch is None:
        return tuple(_unmatched(scene))
    return tuple(signal for rule in SIGNALS for signal in rule(scene))


def _unmatched(scene: Scene) -> Iterator[Signal]:
    opened = scene.line.facts.first_at + UNMATCHED_AFTER
    if scene.moments.reached(opened):
        yield Signal(
            "unmatched", opened, "warn", f"records since {clock(scene.line.facts.first_at)}, and no dispatch"
        )


def _not_started(scene: Scene) -> Iterator[Signal]:
    facts, times = scene.line.facts, scene.line.times
    if scene.over or not scene.kind_heard or facts.starts or (facts.heard_at or scene.now + 1) <= scene.now:
        return
    launches = [launch for launch in facts.launches if launch.state is not None and launch.at <= scene.now]
    if launches and launches[-1].state != "registered":
        return
    since = launches[-1].at if launches else scene.line.dispatched_at
    opened = since + times.start_within
    if not scene.moments.reached(opened):
        return
    paged = scene.moments.reached(opened + times.blocked_after)
    what = "registered" if launches else "dispatched"
    yield Signal("not_started", opened, "page" if paged else "warn", f"{what} {clock(since)} and not started")


def _zero_progress(scene: Scene) -> Iterator[Signal]:
    began = scene.began()
    if (
        scene.over
        or began is None
        or not scene.kind_heard
        or scene.line.last_any_progress(scene.now) is not None
    ):
        return
    if any(turn.tools or turn.tokens or turn.outputs for turn in scene.line.facts.turns):
        return
    opened = _after_silence(scene, began, scene.line.times.zero_progress)
    if opened is not None:
        text = f"no tool ended, no token since it began {clock(began)}"
        yield Signal("zero_progress", opened, "warn", text + _flight(scene))


def _idle_stall(scene: Scene) -> Iterator[Signal]:
    last = scene.line.last_any_progress(scene.now)
    if scene.over or last is None or not scene.kind_heard:
        return
    opened = _after_silence(scene, last, scene.line.times.idle)
    if opened is not None:
        yield Signal("idle_stall", opened, "warn", f"no progress since {clock(last)}" + _flight(scene))


def _after_silence(scene: Scene, since: int, allowed: int) -> int | None:
    """Return when `allowed` had passed since a moment, waits not counted and not before a running tool's limit."""
    waited, waiting = scene.waited(since)
    if waiting:
        return None
    opened = max(since + allowed + waited, scene.tool_limit())
    return opened if scene.moments.reached(opened) else None


def _flight(scene: Scene) -> str:
    tools = [tool for tool in scene.line.facts.open_tools if tool.open(scene.now)]
    return f"; in flight: {tools[0].tool} since {clock(tools[0].at)}" if tools else ""


def _first_token_timeout(scene: Scene) -> Iterator[Signal]:
    times = scene.line.times
    if scene.over or not scene.kind_heard:
        return
    tokens = sorted(moment for turn in scene.line.facts.turns for moment in turn.tokens)
    for request in scene.line.facts.requests:
        if (
            request.ended is not None
            or request.at > scene.now
            or any(token >= request.at for token in tokens)
        ):
            continue
        opened = request.at + (times.first_token if request.stream else times.idle)
        if scene.moments.reached(opened):
            yield Signal(
                "first_token_timeout",
                opened,
                "info",
                f"model request since {clock(request.at)}, no first token",
            )
            return


def _activity_without_progress(scene: Scene) -> Iterator[Signal]:
    if scene.over and scene.settled:
        return
    last = scene.line.last_any_progress(scene.now) or 0
    facts = scene.line.facts
    moments = [poke.at for poke in facts.pokes] + [idle.at for idle in facts.idles]
    stirred = sorted(moment for moment in moments if last < moment <= scene.now)
    if scene.finding.end is None and len(stirred) >= POKES:
        text = f"{len(stirred)} nudges, messages or idle notices since the last progress"
        yield Signal("activity_without_progress", stirred[POKES - 1], "warn", text)
        return
    row = _row_of_failures(scene)
    limit = scene.line.times.repeat_limit
    if scene.finding.end is None and len(row) >= limit:
        yield Signal(
            "activity_without_progress", row[limit - 1], "warn", f"the same failure {len(row)} times in a row"
        )


def _row_of_failures(scene: Scene) -> list[int]:
    failures = [failure for failure in scene.line.facts.failures if failure.at <= scene.now]
    successes = [moment for turn in scene.line.facts.turns for moment in turn.tools if moment <= scene.now]
    cleared = max(successes, default=-1)
    row: list[int] = []
    for failure in reversed(failures):
        if failure.at <= cleared or (failure.tool, failure.error) != (failures[-1].tool, failures[-1].error):
            break
        row.append(failure.at)
    return row[::-1]


def _limit_overrun(scene: Scene) -> Iterator[Signal]:
    dispatch, starts = scene.line.facts.dispatch, scene.line.facts.starts
    if scene.over or dispatch is None or dispatch.max_runtime_ns is None or not starts:
        return
    opened = starts[0].at + dispatch.max_runtime_ns + scene.line.times.kill_backstop
    if scene.moments.reached(opened):
        text = f"started {clock(starts[0].at)}, may run {span(dispatch.max_runtime_ns)}, and was not stopped"
        yield Signal("limit_overrun", opened, "page", text)


def _waiting(scene: Scene) -> Iterator[Signal]:
    if scene.over:
        return
    times, dispatch = scene.line.times, scene.line.facts.dispatch
    person = times.human_wait_attended if dispatch is not None and dispatch.attended else times.human_wait
    caps = [launch.cap for launch in scene.line.facts.launches if launch.cap is not None]
    for wait in waits_until(scene.line, scene.now):
        if wait.closed is not None:
            continue
        if wait.reason == "queue" and scene.moments.reached(wait.at + times.queue_wait):
            cap = f", cap {caps[-1]}" if caps else ""
            yield Signal(
                "queue_wait", wait.at + times.queue_wait, "warn", f"in the queue since {clock(wait.at)}{cap}"
            )
            return
        if wait.reason in PERSON and scene.moments.reached(wait.at + person):
            waker = f" ({wait.waker})" if wait.waker else ""
            text = f"waits for a person{waker} since {clock(wait.at)}"
            yield Signal("hidden_wait", wait.at + person, "page", text)
            return


def _duplicate_dispatch(scene: Scene) -> Iterator[Signal]:
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


def _redispatch_after_background(scene: Scene) -> Iterator[Signal]:
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


def _structurally_mute(scene: Scene) -> Iterator[Signal]:
    dispatch = scene.line.facts.dispatch
    if dispatch is None or dispatch.channel != "message" or dispatch.can_send is not False:
        return
    if scene.settled or scene.line.receipt(scene.now) is not None:
        return
    idle = [event.at for event in scene.line.facts.idles if event.at <= scene.now]
    ended = bool(idle) or scene.finding.end is not None
    text = "it returns by message only and has no means to send one"
    yield Signal("structurally_mute", dispatch.at, "page" if ended else "warn", text)


def _identity_collision(scene: Scene) -> Iterator[Signal]:
    if scene.over:
        return
    facts = scene.line.facts
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


def _premature_owner_final(scene: Scene) -> Iterator[Signal]:
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


def _premature_end_of_its_own(scene: Scene) -> Iterator[Signal]:
    end = scene.finding.end
    if end is None or end.kind != "child_done":
        return
    left = [
        child
        for child in scene.line.facts.neighbours.children
        if child.dispatched_at <= end.at and (child.settled_at is None or child.settled_at > scene.now)
    ]
    if left and not any(signal.name == "premature_owner_final" for signal in _premature_owner_final(scene)):
        text = f"it ended {clock(end.at)} while {len(left)} runs of its own were open"
        yield Signal("premature_owner_final", end.at, "warn", text)


def _premature_completion(scene: Scene) -> Iterator[Signal]:
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


def _contradicted_outcome(scene: Scene) -> Iterator[Signal]:
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


def _misdelivered(scene: Scene) -> Iterator[Signal]:
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


def _delivered_not_consumed(scene: Scene) -> Iterator[Signal]:
    if scene.finding.rule == "2b":
        text = "it was shown to its owner and never entered a request"
        yield Signal("delivered_not_consumed", scene.finding.since, "page", text)


def _duplicate_completion(scene: Scene) -> Iterator[Signal]:
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


def _empty_or_cut_result(scene: Scene) -> Iterator[Signal]:
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


def _output_discarded(scene: Scene) -> Iterator[Signal]:
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


def _unattributed_kill(scene: Scene) -> Iterator[Signal]:
    for end in scene.line.facts.ends:
        if end.kind == "kill" and end.at <= scene.now and not (end.actor or end.rule or end.limit_ns):
            yield Signal(
                "unattributed_kill", end.at, "warn", "nobody says who killed it, by which rule, at what limit"
            )
            return


def _orphaned(scene: Scene) -> Iterator[Signal]:
    gone = owner_gone(scene.line, scene.now)
    if gone is None or scene.settled:
        return
    opened = gone + scene.line.times.delivery_grace
    if scene.moments.reached(opened):
        yield Signal("orphaned", opened, "page", f"its owner is gone since {clock(gone)}")


def _model_changed(scene: Scene) -> Iterator[Signal]:
    facts = scene.line.facts
    asked = (facts.dispatch.model if facts.dispatch is not None else None) or facts.neighbours.owner.model
    if asked is None:
        return
    for resolved in facts.resolved_models:
        if is_other_model(asked, resolved):
            opened = facts.heard_at or facts.first_at
            yield Signal("model_changed", opened, "info", f"{asked} was asked for, {resolved} answered")
            return


def _telemetry(scene: Scene) -> Iterator[Signal]:
    if scene.over:
        return
    for producer in scene.line.facts.producers:
        if producer.hole_after is not None and producer.hole_after <= scene.now:
            yield Signal(
                "telemetry_gap", producer.hole_after, "warn", f"records of {producer.id} are missing"
            )
            break
    for producer in scene.line.facts.producers:
        if abs(producer.offset_ns) > scene.line.times.skew:
            text = f"the clock of {producer.id} is off by {span(abs(producer.offset_ns))}"
            yield Signal("clock_skew", scene.line.facts.first_at, "info", text)
            break


SIGNALS: tuple[Callable[[Scene], Iterable[Signal]], ...] = (
    _not_started,
    _zero_progress,
    _first_token_timeout,
    _idle_stall,
    _activity_without_progress,
    _limit_overrun,
    _waiting,
    _duplicate_dispatch,
    _redispatch_after_background,
    _structurally_mute,
    _identity_collision,
    _premature_owner_final,
    _premature_end_of_its_own,
    _premature_completion,
    _contradicted_outcome,
    _misdelivered,
    _delivered_not_consumed,
    _duplicate_completion,
    _empty_or_cut_result,
    _output_discarded,
    _unattributed_kill,
    _orphaned,
    _model_changed,
    _telemetry,
)
"""One function a signal, in the order of the contract's table."""
