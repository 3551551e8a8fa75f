"""For tests of your own instrumentation: records lifecycle events in memory, without a collector.

with headcount.testing.record() as recorder:
    my_orchestrator.run()
assert recorder.events_of("dispatch")[0].attributes["gen_ai.agent.name"] == "reviewer"
assert recorder.undelivered() == []
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from opentelemetry.sdk.trace import ReadableSpan

from headcount import configuration, wire
from headcount.pipeline import Pipeline
from headcount.settings import Settings


@dataclass(frozen=True, slots=True)
class Recorded:
    """One lifecycle event; `attributes` are those of the wire, `at_ns` its event time, `span` the span itself."""

    event: str
    run: str | None
    session: str
    phase: str | None
    at_ns: int
    attributes: Mapping[str, object]
    span: ReadableSpan


class Recorder:
    """The events recorded so far, in order."""

    def __init__(self) -> None:
        self._spans: list[ReadableSpan] = []

    @property
    def events(self) -> list[Recorded]:
        """All events: a span with a length is there twice, pending and ended."""
        return [_recorded(span) for span in list(self._spans)]

    def events_of(self, event: str, *, run: str | None = None, phase: str | None = None) -> list[Recorded]:
        """Return the events of one kind, optionally of one run or phase."""
        return [
            recorded
            for recorded in self.events
            if recorded.event == event and run in (None, recorded.run) and phase in (None, recorded.phase)
        ]

    def names(self, *, run: str | None = None) -> list[str]:
        """Return the kinds of event in order, pending ones of intervals as `tool_call…`."""
        return [
            f"{recorded.event}…"
            if recorded.phase == wire.PENDING and recorded.event != "start"
            else recorded.event
            for recorded in self.events
            if run in (None, recorded.run)
        ]

    def undelivered(self) -> list[str]:
        """Return the ids of dispatched runs whose result was neither forwarded, consumed nor dismissed."""
        told = {
            recorded.run
            for recorded in self.events
            if recorded.event in ("completion_consumed", "dismiss") or recorded.attributes.get(wire.FORWARDED)
        }
        return [str(run.run) for run in self.events_of("dispatch") if run.run not in told]

    def put(self, span: ReadableSpan, *, routine: bool = False) -> None:
        self._spans.append(span)

    def flush(self, timeout_s: float) -> bool:
        return True

    def retire(self) -> None:
        pass

    def close(self, timeout_s: float) -> bool:
        return True

    def after_fork(self) -> None:
        self._spans.clear()


@contextmanager
def record(
    *, capture_content: bool = False, clock: Callable[[], int] = time.time_ns, service_name: str | None = None
) -> Iterator[Recorder]:
    """Record what is emitted inside, in place of what `configure` set up; usable as a fixture's body."""
    recorder = Recorder()
    settings = Settings(capture_content=capture_content, clock=clock, service_name=service_name)
    before = configuration.install(Pipeline(settings, recorder))
    try:
        yield recorder
    finally:
        configuration.install(before)


def _recorded(span: ReadableSpan) -> Recorded:
    attributes = dict(span.attributes or {})
    run, phase = attributes.get(wire.RUN_ID), attributes.get(wire.PHASE)
    return Recorded(
        event=str(attributes[wire.EVENT]),
        run=None if run is None else str(run),
        session=str(attributes[wire.SESSION_ID]),
        phase=None if phase is None else str(phase),
        at_ns=(span.end_time or 0),
        attributes=attributes,
        span=span,
    )
