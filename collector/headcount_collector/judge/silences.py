"""Signals of a run that does not move, or moves in circles, and of telemetry that is not to be trusted."""

from __future__ import annotations

from collections.abc import Iterator

from .models import is_other_model
from .scene import Scene
from .verdict import Signal
from .waits import PERSON, waits_until
from .words import clock, span

POKES = 3
"""So many nudges, messages or idle notices without progress are a signal."""


def not_started(scene: Scene) -> Iterator[Signal]:
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


def zero_progress(scene: Scene) -> Iterator[Signal]:
    if scene.over or scene.line.last_any_progress(scene.now) is not None or not scene.kind_heard:
        return
    began = scene.began()
    if began is None or any(turn.tools or turn.tokens or turn.outputs for turn in scene.line.facts.turns):
        return
    opened = _after_silence(scene, began, scene.line.times.zero_progress)
    if opened is not None:
        text = f"no tool ended, no token since it began {clock(began)}"
        yield Signal("zero_progress", opened, "warn", text + _flight(scene))


def idle_stall(scene: Scene) -> Iterator[Signal]:
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


def first_token_timeout(scene: Scene) -> Iterator[Signal]:
    times = scene.line.times
    if scene.over or not scene.line.facts.requests or not scene.kind_heard:
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


def activity_without_progress(scene: Scene) -> Iterator[Signal]:
    facts = scene.line.facts
    if scene.settled or not (facts.pokes or facts.idles or facts.failures):
        return
    last = scene.line.last_any_progress(scene.now) or 0
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


def limit_overrun(scene: Scene) -> Iterator[Signal]:
    dispatch, starts = scene.line.facts.dispatch, scene.line.facts.starts
    if scene.over or dispatch is None or dispatch.max_runtime_ns is None or not starts:
        return
    opened = starts[0].at + dispatch.max_runtime_ns + scene.line.times.kill_backstop
    if scene.moments.reached(opened):
        text = f"started {clock(starts[0].at)}, may run {span(dispatch.max_runtime_ns)}, and was not stopped"
        yield Signal("limit_overrun", opened, "page", text)


def waiting(scene: Scene) -> Iterator[Signal]:
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


def telemetry(scene: Scene) -> Iterator[Signal]:
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


def model_changed(scene: Scene) -> Iterator[Signal]:
    facts = scene.line.facts
    asked = (facts.dispatch.model if facts.dispatch is not None else None) or facts.neighbours.owner.model
    if asked is None:
        return
    for resolved in facts.resolved_models:
        if is_other_model(asked, resolved):
            opened = facts.heard_at or facts.first_at
            yield Signal("model_changed", opened, "info", f"{asked} was asked for, {resolved} answered")
            return
