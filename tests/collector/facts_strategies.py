"""Random facts of one run on a grid of whole seconds, for the properties of the judgement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from hypothesis import strategies as st

from headcount_collector.judge.facts import (
    Child,
    Dismissal,
    Dispatch,
    End,
    Facts,
    Failure,
    Forward,
    Idle,
    Launch,
    Neighbours,
    OpenTool,
    Owner,
    Poke,
    ProducerHealth,
    Receipt,
    Request,
    Result,
    Start,
    Successor,
    Turn,
    Wait,
)
from headcount_collector.judge.policy import SECOND, Policy

T = TypeVar("T")
T0 = 1_800_000_000 * SECOND
SPAN_S = 240
"""All evidence lies within this many seconds of the dispatch."""

POLICY = Policy.from_mapping(
    {
        "expected": "60s",
        "overdue": "3x",
        "delivery_grace": "10s",
        "blocked_after": "50s",
        "start_within": "20s",
        "zero_progress": "25s",
        "first_token": "12s",
        "idle": "40s",
        "tool_max": "70s",
        "liveness": "15s",
        "human_wait": "30s",
        "queue_wait": "20s",
        "wait_max": "80s",
        "consume": "35s",
        "kill_backstop": "7s",
        "skew": "5s",
    }
)


def moments() -> st.SearchStrategy[int]:
    return st.integers(0, SPAN_S).map(lambda second: T0 + second * SECOND)


def _some(
    strategy: st.SearchStrategy[T], key: Callable[[T], int], most: int = 2
) -> st.SearchStrategy[tuple[T, ...]]:
    return st.lists(strategy, max_size=most).map(lambda items: tuple(sorted(items, key=key)))


results = st.builds(
    Result,
    size=st.sampled_from([None, 0, 90, 500]),
    digest=st.sampled_from([None, "d1", "d2"]),
    form=st.sampled_from([None, "raw", "wrapped"]),
    location=st.sampled_from([None, None, "file:///r"]),
    partial=st.sampled_from([None, None, True]),
)
outcomes = st.sampled_from(["ok", "ok", "ok", "error", "killed", "cancelled"])


@st.composite
def waits(draw: st.DrawFn) -> Wait:
    at = draw(moments())
    closed = draw(st.none() | st.integers(0, 90).map(lambda length: at + length * SECOND))
    reason = draw(st.sampled_from(["approval", "queue", "rate_limit", "child", "tool"]))
    return Wait(at, reason, closed, draw(st.sampled_from([None, "ghost"])))


@st.composite
def turns_of_owner(draw: st.DrawFn) -> tuple[int, int | None]:
    at = draw(moments())
    return at, draw(st.none() | st.integers(1, 90).map(lambda length: at + length * SECOND))


@st.composite
def owners(draw: st.DrawFn) -> Owner:
    turns = draw(_some(turns_of_owner(), lambda turn: turn[0]))
    gone = draw(st.lists(moments(), max_size=1))
    visible: bool = draw(st.booleans())
    return Owner(
        turns=turns,
        gone=tuple((at, None) for at in gone),
        shown=tuple(sorted(opened for opened, _ in turns)),
        consumes_since=turns[0][0] if turns and visible else None,
    )


@st.composite
def children(draw: st.DrawFn) -> Child:
    at = draw(moments())
    closed = draw(st.none() | st.integers(1, 90).map(lambda length: at + length * SECOND))
    return Child("c", at, closed, closed)


@st.composite
def successors(draw: st.DrawFn) -> Successor:
    at = draw(moments())
    delivered = draw(st.none() | st.integers(1, 90).map(lambda length: at + length * SECOND))
    return Successor("next", at, draw(st.booleans()), delivered)


@st.composite
def facts(draw: st.DrawFn) -> Facts:
    """Facts with a dispatch at T0 and a handful of everything else."""
    pulse = draw(st.lists(moments(), max_size=6))
    tokens = draw(st.lists(moments(), max_size=2))
    activity = draw(st.none() | moments())
    starts = tuple(
        Start(at, number + 1)
        for number, at in enumerate(sorted(draw(st.lists(moments(), max_size=2, unique=True))))
    )
    ends = draw(
        _some(
            st.builds(
                End,
                moments(),
                st.sampled_from(["child_done", "child_done", "kill", "child_gone"]),
                outcomes,
                results,
            ),
            lambda e: e.at,
        )
    )
    seen = [*pulse, *tokens, *(start.at for start in starts)]
    heard = min(seen, default=None)
    return Facts(
        session="s",
        run="r",
        first_at=T0,
        dispatch=Dispatch(
            T0,
            owner=draw(st.sampled_from(["", "lead"])),
            agent="worker",
            mode=draw(st.sampled_from(["background", "foreground", "teammate"])),
            channel=draw(st.sampled_from([None, None, "message", "none"])),
            max_runtime_ns=draw(st.sampled_from([None, None, 80 * SECOND])),
        ),
        launches=draw(
            _some(
                st.builds(Launch, moments(), st.sampled_from(["queued", "registered", "rejected"])),
                lambda x: x.at,
            )
        ),
        starts=starts,
        requests=draw(
            _some(
                st.builds(
                    Request, moments(), trigger=st.sampled_from([None, "task", "nudge"]), stream=st.booleans()
                ),
                lambda x: x.at,
                1,
            )
        ),
        open_tools=draw(_some(st.builds(OpenTool, moments(), st.just("Bash")), lambda x: x.at, 1)),
        failures=draw(
            _some(
                st.builds(Failure, moments(), st.just("Bash"), st.sampled_from(["e1", "e2"])),
                lambda x: x.at,
                3,
            )
        ),
        turns=(Turn(None, tuple(sorted(set(pulse))), tuple(sorted(set(tokens)))),) if pulse or tokens else (),
        waits=draw(_some(waits(), lambda x: x.at)),
        idles=draw(_some(st.builds(Idle, moments()), lambda x: x.at)),
        pokes=draw(_some(st.builds(Poke, moments(), st.just("nudge")), lambda x: x.at)),
        ends=ends,
        receipts=draw(
            _some(
                st.builds(
                    Receipt,
                    moments(),
                    st.sampled_from(["completion_push", "polled"]),
                    st.none() | outcomes,
                    results,
                ),
                lambda x: x.at,
            )
        ),
        forwards=draw(
            _some(
                st.builds(
                    Forward,
                    moments(),
                    st.sampled_from([True, True, False]),
                    st.sampled_from([None, None, "other"]),
                    final=st.booleans(),
                ),
                lambda x: x.at,
            )
        ),
        consumptions=tuple(sorted(draw(st.lists(moments(), max_size=1)))),
        dismissals=draw(_some(st.builds(Dismissal, moments()), lambda x: x.at, 1))
        if draw(st.booleans())
        else (),
        producers=draw(
            st.sampled_from(
                [(), (ProducerHealth("p", True, keepalive_ns=20 * SECOND, last_at=T0 + 30 * SECOND),)]
            )
        ),
        heard_at=heard,
        last_activity_at=max([*seen, *([activity] if activity else [])], default=None)
        if heard is not None
        else None,
        last_traffic_at=T0,
        neighbours=Neighbours(
            progress=tuple(sorted(draw(st.lists(moments(), max_size=1)))),
            children=draw(_some(children(), lambda x: x.dispatched_at, 1)),
            successors=draw(_some(successors(), lambda x: x.dispatched_at, 1)),
            owner=draw(owners()),
            kind_heard_at=draw(st.sampled_from([None, T0])),
        ),
    )


def last_moment(known: Facts) -> int:
    """Return the last moment that any evidence can have."""
    return known.first_at + (SPAN_S + 100) * SECOND


def as_of(known: Facts, t: int) -> Facts:
    """Return what was known of the run at t, by event time: the slow and plain way to look back."""
    near = known.neighbours
    owner = near.owner
    return replace(
        known,
        launches=tuple(x for x in known.launches if x.at <= t),
        starts=tuple(x for x in known.starts if x.at <= t),
        requests=tuple(x for x in known.requests if x.at <= t),
        open_tools=tuple(x for x in known.open_tools if x.at <= t),
        failures=tuple(x for x in known.failures if x.at <= t),
        turns=tuple(
            Turn(x.id, tuple(m for m in x.tools if m <= t), tuple(m for m in x.tokens if m <= t))
            for x in known.turns
        ),
        waits=tuple(
            replace(x, closed=x.closed if x.closed is not None and x.closed <= t else None)
            for x in known.waits
            if x.at <= t
        ),
        idles=tuple(x for x in known.idles if x.at <= t),
        pokes=tuple(x for x in known.pokes if x.at <= t),
        ends=tuple(x for x in known.ends if x.at <= t),
        receipts=tuple(x for x in known.receipts if x.at <= t),
        forwards=tuple(x for x in known.forwards if x.at <= t),
        consumptions=tuple(x for x in known.consumptions if x <= t),
        dismissals=tuple(x for x in known.dismissals if x.at <= t),
        heard_at=known.heard_at if known.heard_at is not None and known.heard_at <= t else None,
        neighbours=replace(
            near,
            progress=tuple(x for x in near.progress if x <= t),
            children=tuple(
                replace(x, closed_at=x.closed_at if x.closed_at is not None and x.closed_at <= t else None)
                for x in near.children
                if x.dispatched_at <= t
            ),
            successors=tuple(
                replace(
                    x,
                    delivered_at=x.delivered_at
                    if x.delivered_at is not None and x.delivered_at <= t
                    else None,
                )
                for x in near.successors
                if x.dispatched_at <= t
            ),
            owner=replace(
                owner,
                turns=tuple((a, b if b is not None and b <= t else None) for a, b in owner.turns if a <= t),
                gone=tuple(x for x in owner.gone if x[0] <= t),
                shown=tuple(x for x in owner.shown if x <= t),
            ),
        ),
    )
