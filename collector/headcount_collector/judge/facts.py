"""What is known of one run: the judgement's whole input, as plain immutable values.

All moments are integers, nanoseconds since the epoch, already corrected for the clock of their producer
(domain contract, section 2, *Clocks*). Durations end in `_ns` too. Every tuple is sorted by time. An absent
fact is None or an empty tuple; the empty string is never used for "unknown". Owner id "" is the root owner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, fields
from operator import attrgetter

from headcount_collector.values import value


@value(frozen=True, slots=True)
class Dispatch:
    """The obligation: who asked whom, for what, by when. One per run; the earliest if several witnesses."""

    at: int
    owner: str = ""
    parent: str | None = None
    agent: str | None = None
    service: str = ""
    mode: str = "background"
    channel: str | None = None
    can_send: bool | None = None
    expected_ns: int | None = None
    max_runtime_ns: int | None = None
    prompt_digest: str | None = None
    description: str | None = None
    description_digest: str | None = None
    replica: str | None = None
    supersedes: tuple[str, ...] = ()
    model: str | None = None
    attended: bool = False
    producer: str = ""


@value(frozen=True, slots=True)
class Launch:
    """Where the launch is; `mode` only where this record changed the mode."""

    at: int
    state: str | None
    mode: str | None = None
    cap: int | None = None


@value(frozen=True, slots=True)
class Start:
    at: int
    attempt: int = 1
    producer: str = ""


@value(frozen=True, slots=True)
class Request:
    """A model request that is still open, or whose trigger matters; `ended` None while it is out."""

    at: int
    ended: int | None = None
    trigger: str | None = None
    turn: str | None = None
    stream: bool | None = None


@value(frozen=True, slots=True)
class OpenTool:
    """A tool call that began and has not ended; or one that was open for long, so that it explains a silence."""

    at: int
    tool: str
    call: str | None = None
    ended: int | None = None

    def open(self, t: int) -> bool:
        """Tell whether the call was in flight at t."""
        return self.at <= t and (self.ended is None or self.ended > t)


@value(frozen=True, slots=True)
class Failure:
    """A tool call that ended with an error; `error` is its digest or type."""

    at: int
    tool: str
    error: str
    turn: str | None = None


@value(frozen=True, slots=True)
class Turn:
    """The pulse of one turn of the child (`id` None: records that named no turn). Seconds resolution is enough
    for all but the last of each, so times here are exact to one second and never later than the truth."""

    id: str | None
    tools: tuple[int, ...] = ()
    """Ends of tool calls that succeeded."""
    tokens: tuple[int, ...] = ()
    """First tokens."""
    outputs: tuple[tuple[int, int], ...] = ()
    """(moment, cumulative output tokens), sorted by moment."""


@value(frozen=True, slots=True)
class Wait:
    """A declared wait; `closed` only from its own close (other ends are the judge's business)."""

    at: int
    reason: str
    closed: int | None = None
    waker: str | None = None
    id: str | None = None


@value(frozen=True, slots=True)
class Idle:
    at: int
    has_summary: bool | None = None
    turn_ended: bool | None = None


@value(frozen=True, slots=True)
class Poke:
    """A nudge or a message; `sender` is owner, child or observer."""

    at: int
    kind: str
    sender: str | None = None


@value(frozen=True, slots=True)
class Result:
    """What a record says of a result. `size` None: unknown; 0: nothing in it."""

    size: int | None = None
    digest: str | None = None
    form: str | None = None
    location: str | None = None
    partial: bool | None = None


@value(frozen=True, slots=True)
class End:
    """An end of the child. `kind`: child_done, kill or child_gone."""

    at: int
    kind: str
    outcome: str
    result: Result = field(default_factory=Result)
    actor: str | None = None
    rule: str | None = None
    limit_ns: int | None = None
    producer: str = ""


@value(frozen=True, slots=True)
class Abort:
    at: int
    actor: str | None = None
    rule: str | None = None


@value(frozen=True, slots=True)
class Receipt:
    """A completion receipt of the owner's harness. `receiver` None: the owner."""

    at: int
    source: str | None = None
    outcome: str | None = None
    result: Result = field(default_factory=Result)
    receiver: str | None = None
    receiver_session: str | None = None


@value(frozen=True, slots=True)
class Forward:
    """The completion was (or was not) put into the receiver's conversation."""

    at: int
    forwarded: bool
    receiver: str | None = None
    receiver_session: str | None = None
    final: bool = False
    error: str | None = None
    result: Result = field(default_factory=Result)


@value(frozen=True, slots=True)
class Dismissal:
    """`failure_class`: an operator's dismissal of every run that was of this class then."""

    at: int
    reason: str | None = None
    handed_to: str | None = None
    failure_class: str | None = None


@value(frozen=True, slots=True)
class ProducerHealth:
    """One process that spoke of this run. `hole_after`: moment of the first record after its last unfilled hole."""

    id: str
    child_side: bool
    hole_after: int | None = None
    keepalive_ns: int | None = None
    last_at: int = 0
    offset_ns: int = 0


@value(frozen=True, slots=True)
class OwnerFinal:
    at: int
    owed: tuple[str, ...] = ()
    final: bool = False


@value(frozen=True, slots=True)
class Owner:
    """What is known of the run's owner in its session."""

    turns: tuple[tuple[int, int | None], ...] = ()
    """(opened, closed or None)."""
    finals: tuple[OwnerFinal, ...] = ()
    gone: tuple[tuple[int, str | None], ...] = ()
    """(moment, reason)."""
    shown: tuple[int, ...] = ()
    """Moments at which the owner showed itself: its dispatches, turns, finals, consumptions, requests."""
    consumes_since: int | None = None
    """First model request, owner turn or consumption of this owner: from then on consumption can be seen."""
    export_interval_ns: int = 0
    requests: tuple[int, ...] = ()
    """Starts of the owner's own model requests (only where the owner is itself a run)."""
    ended_at: int | None = None
    """When the run that this owner works in ended, where the owner is a run's child session."""
    model: str | None = None
    """The model that the owner itself runs on, where the owner is a run."""
    heirs: tuple[str, ...] = ("",)
    """Who is owed the result, in turn, once this owner is gone: its own owner, and so on up to the root."""


@value(frozen=True, slots=True)
class Child:
    """A run that this run's child session dispatched."""

    run: str
    dispatched_at: int
    closed_at: int | None = None
    """When it ended, was delivered or became void, whichever was first; None while it is open."""
    settled_at: int | None = None
    """When it was delivered or became void."""


@value(frozen=True, slots=True)
class Successor:
    """A later run of the same owner: on the same child session, with the same prompt digest, or by `supersedes`."""

    run: str
    dispatched_at: int
    explicit: bool
    delivered_at: int | None = None


@value(frozen=True, slots=True)
class Waker:
    """The state of a run or producer that some wait names. Filled between the passes of a tick."""

    delivered_at: int | None = None
    void_at: int | None = None
    ended_at: int | None = None
    abnormal_since: int | None = None
    gone_at: int | None = None


@value(frozen=True, slots=True)
class Twin:
    """Another run of the session with the same prompt digest, or (`same_prompt` False) the same description only."""

    run: str
    dispatched_at: int
    same_prompt: bool
    prompt_known: bool = True
    """Whether both prompts' digests are known, so that they are known to differ where they do."""
    on_purpose: bool = False
    """A replica, or named in `supersedes`."""
    resolved_at: int | None = None


@value(frozen=True, slots=True)
class Peer:
    """An earlier run of the same owner and agent type that was acknowledged as launched to the background."""

    run: str
    acknowledged_at: int
    resolved_at: int | None = None


@value(frozen=True, slots=True)
class Neighbours:
    """The few facts of other runs that the rules name."""

    progress: tuple[int, ...] = ()
    """Progress of all descendants."""
    children: tuple[Child, ...] = ()
    gone: tuple[int, ...] = ()
    """Moments at which an ancestor's child session was gone."""
    successors: tuple[Successor, ...] = ()
    wakers: Mapping[str, Waker] = field(default_factory=dict)
    """By the name that a wait of this run gives. A name that is missing here is unknown."""
    owner: Owner = field(default_factory=Owner)
    twins: tuple[Twin, ...] = ()
    peers: tuple[Peer, ...] = ()
    stray_ends: tuple[int, ...] = ()
    """For a run `X#n`: ends that name the delivered run `X` though nothing of its own was left to end."""
    kind_heard_at: int | None = None
    """First time any child of this service and agent type was heard."""


@value(frozen=True, slots=True)
class Facts:
    """Everything the judgement of one run may read."""

    session: str
    run: str
    names: tuple[str, ...] = ()
    children_keys: tuple[str, ...] = ()
    """Child session keys in order of appearance."""
    first_at: int = 0
    """First record of the run, of any kind."""
    dispatch: Dispatch | None = None
    launches: tuple[Launch, ...] = ()
    starts: tuple[Start, ...] = ()
    requests: tuple[Request, ...] = ()
    open_tools: tuple[OpenTool, ...] = ()
    failures: tuple[Failure, ...] = ()
    turns: tuple[Turn, ...] = ()
    waits: tuple[Wait, ...] = ()
    idles: tuple[Idle, ...] = ()
    pokes: tuple[Poke, ...] = ()
    ends: tuple[End, ...] = ()
    aborts: tuple[Abort, ...] = ()
    receipts: tuple[Receipt, ...] = ()
    forwards: tuple[Forward, ...] = ()
    consumptions: tuple[int, ...] = ()
    dismissals: tuple[Dismissal, ...] = ()
    producers: tuple[ProducerHealth, ...] = ()
    resolved_models: tuple[str, ...] = ()
    """The models that answered, by name; the one that answered last at the end."""
    heard_at: int | None = None
    """First record of the child side; None: nothing was ever seen of this child."""
    last_activity_at: int | None = None
    last_traffic_at: int | None = None
    closed_calls: Mapping[str, int] = field(default_factory=dict)
    """End of each tool call that a wait of this run names, by call id."""
    tool_calls: int = 0
    output_tokens: int = 0
    collisions: tuple[tuple[int, str], ...] = ()
    """(moment, name) where another open run claims the same name."""
    neighbours: Neighbours = field(default_factory=Neighbours)

    def among(self, neighbours: Neighbours, collisions: tuple[tuple[int, str], ...]) -> Facts:
        """Return these facts with what others did; `dataclasses.replace` takes ten times as long."""
        return _FACTS(*_OF_THE_RUN(self), collisions, neighbours)


_FACTS: Callable[..., Facts] = Facts
_OF_THE_RUN = attrgetter(*(f.name for f in fields(Facts) if f.name not in ("collisions", "neighbours")))
