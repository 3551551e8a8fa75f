"""The frequent part of a run's facts: its turns, what is in flight, failures and output, out of merged states."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from headcount_collector.derive.clocks import Clocks
from headcount_collector.derive.pairing import still_open
from headcount_collector.derive.rows import (
    FIRST_TOKEN,
    TOOL_SUCCEEDED,
    ActivityRow,
    CallRow,
    EvidenceRow,
    OpenCall,
    output_ns,
    output_tokens,
    output_value,
)
from headcount_collector.judge.facts import Failure, OpenTool, Request, Turn

MS = 1_000_000


@dataclass(slots=True)
class Pulse:
    """What the child did, moment by moment."""

    tools: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    first_tokens: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    outputs: dict[str, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    moments: set[int] = field(default_factory=set)
    last_by_producer: dict[str, int] = field(default_factory=dict)
    children: dict[str, int] = field(default_factory=dict)
    models: set[str] = field(default_factory=set)
    last_model: tuple[int, str] = (0, "")
    """When a model answered last, and which."""
    open_tools: list[OpenTool] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    request_starts: list[int] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    closed_calls: dict[str, int] = field(default_factory=dict)
    tool_calls: int = 0

    def turns(self) -> tuple[Turn, ...]:
        """Return the turns by their ids, those without an id first."""
        ids = sorted({*self.tools, *self.first_tokens, *self.outputs})
        return tuple(
            Turn(
                id=turn or None,
                tools=tuple(sorted(self.tools.get(turn, ()))),
                tokens=tuple(sorted(self.first_tokens.get(turn, ()))),
                outputs=tuple(sorted(self.outputs.get(turn, {}).items())),
            )
            for turn in ids
        )

    def models_in_order(self) -> tuple[str, ...]:
        """Return the models that answered, by name, the last of them at the end."""
        last = self.last_model[1]
        return tuple(sorted(self.models, key=lambda model: (model == last, model)))

    def output_tokens(self) -> int:
        return max((tokens for outputs in self.outputs.values() for tokens in outputs.values()), default=0)


class Timing:
    """Turns raw event times of one run into moments.

    Records without a producer that arrived before they happened count as of their arrival: each of these is known
    one by one (`early`), while the states hold their raw moments. What a barely known producer dates before the
    dispatch by more than the skew counts as of the dispatch.
    """

    def __init__(self, clocks: Clocks, dispatched_at: int | None, early: Iterable[EvidenceRow]) -> None:
        self._clocks = clocks
        self._dispatched_at = dispatched_at
        self._floor = None if dispatched_at is None else dispatched_at - clocks.skew_ns
        self._moved: dict[int, int] = {}
        for row in early:
            kept = output_ns(output_value(row.event_ns)) if row.event == "output" else row.event_ns
            for moment in {row.event_ns // MS, kept // MS}:
                self._moved[moment] = min(self._moved.get(moment, row.received_ns), row.received_ns)

    def of_row(self, row: EvidenceRow) -> int:
        at = self._clocks.at(row.producer, row.event_ns, row.received_ns)
        return self._after_dispatch(row.producer, at)

    def of_state(self, producer: str, event_ns: int) -> int:
        """Return the moment of something that the states keep to the millisecond or the nanosecond."""
        if producer:
            return self._after_dispatch(producer, event_ns + self._clocks.of(producer).offset_ns)
        if self._moved:
            event_ns = self._moved.get(event_ns // MS, event_ns)
        return self._after_dispatch(producer, event_ns)

    def of(self, producer: str) -> Callable[[int], int]:
        """Return `of_state` for one producer, without what need not be asked for every moment."""
        clock = self._clocks.of(producer)
        if not producer or not (clock.known or self._floor is None):
            return lambda event_ns: self.of_state(producer, event_ns)
        shift = clock.offset_ns
        return lambda event_ns: event_ns + shift

    def _after_dispatch(self, producer: str, at: int) -> int:
        if self._floor is None or at >= self._floor or self._clocks.of(producer).known:
            return at
        assert self._dispatched_at is not None
        return self._dispatched_at


def pulse(activity: Iterable[ActivityRow], calls: Iterable[CallRow], timing: Timing) -> Pulse:
    """Return the pulse of one run."""
    found = Pulse()
    for row in activity:
        _add_activity(found, row, timing)
    for call in calls:
        if call.event == "tool_call":
            _add_tools(found, call, timing)
        else:
            _add_requests(found, call, timing)
    return found


def _add_activity(found: Pulse, row: ActivityRow, timing: Timing) -> None:
    at = timing.of(row.producer)
    tools, first_tokens, moments = found.tools, found.first_tokens, []
    for value in row.pulse:
        moment = at((value >> 2) * MS)
        moments.append(moment)
        what = value & 3
        if what == TOOL_SUCCEEDED:
            tools[row.turn].add(moment)
        elif what == FIRST_TOKEN:
            first_tokens[row.turn].add(moment)
    found.moments.update(moments)
    if moments:
        found.last_by_producer[row.producer] = max(found.last_by_producer.get(row.producer, 0), *moments)
    for value in row.outputs:
        _raise(found.outputs[row.turn], at(output_ns(value)), output_tokens(value))
    for key in row.children:
        first = at(row.first_ns)
        found.children[key] = min(found.children.get(key, first), first)
    found.models.update(row.models)
    if row.last_model:
        said, model = row.last_model.split(" ", 1)
        found.last_model = max(found.last_model, (at(int(said)), model))


def _add_tools(found: Pulse, row: CallRow, timing: Timing) -> None:
    at = timing.of_state
    opened = _open_calls(row, timing)
    found.tool_calls += row.came_back + len(opened)
    found.open_tools += [OpenTool(at(o.producer, o.began), o.tool, o.call or None) for o in opened]
    found.open_tools += [
        OpenTool(at(producer, began), tool, call or None, at(producer, came_back))
        for began, came_back, tool, call, producer in row.lasting
    ]
    for failed, succeeded, tool, error, turn, producer in row.failures:
        found.failures.append(Failure(at(producer, failed), tool, error, turn or None))
        # Another witness of the same call, which knows of no error, does not make it a success.
        if succeeded:
            for tools in found.tools.values():
                tools.discard(at(producer, succeeded // MS * MS))
    for call, came_back, producer in row.awaited:
        found.closed_calls[call] = at(producer, came_back)


def _add_requests(found: Pulse, row: CallRow, timing: Timing) -> None:
    at = timing.of_state
    for o in _open_calls(row, timing):
        found.requests.append(
            Request(at(o.producer, o.began), None, o.trigger or None, o.turn or None, _stream(o.stream))
        )
    for began, came_back, turn, trigger, stream, producer, _ in row.triggered:
        found.requests.append(
            Request(
                at(producer, began), at(producer, came_back), trigger or None, turn or None, _stream(stream)
            )
        )
    total = 0
    for moment, tokens, turn in sorted((at(p, back), tokens, turn) for back, tokens, turn, p in row.added):
        total += tokens
        _raise(found.outputs[turn], moment, total)
    found.request_starts += [at(producer, began) for began, producer in row.requests]


def _open_calls(row: CallRow, timing: Timing) -> list[OpenCall]:
    opened = [OpenCall._make(values) for values in row.open]
    if not row.unclaimed:
        return opened
    at = timing.of_state
    places = still_open(
        [(at(o.producer, o.began), o.tool, o.call, bool(o.keyed)) for o in opened],
        [(at(producer, came_back), tool, call) for came_back, tool, call, producer in row.unclaimed],
    )
    return [opened[place] for place in places]


def _raise(outputs: dict[int, int], moment: int, tokens: int) -> None:
    outputs[moment] = max(outputs.get(moment, 0), tokens)


def _stream(value: int) -> bool | None:
    return None if value < 0 else bool(value)
