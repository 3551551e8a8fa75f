"""The child's side of one run: its start, what it does, and how it ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import Span
from opentelemetry.trace import INVALID_SPAN, Link

from headcount import carrier, configuration, frame, producer, wire
from headcount.dispatch import message
from headcount.frame import Attached, Frame
from headcount.guard import complain, guarded, nothing
from headcount.heartbeat import heartbeat
from headcount.interval import Interval, ModelRequest, Tool
from headcount.pipeline import Pipeline
from headcount.producer import new_id
from headcount.result import UNSAID, failure, outcome_of, result_attributes
from headcount.run import Run, aliases

OUTPUT_EVERY_NS = 1_000_000_000
"""Output is told at most once in this time: the judgement keeps progress by the second."""


class Child:
    """The context a run's work is done in; see `child`.

    As a context manager, sync or async, it tells start and end, and stamps every span that starts inside it. Where
    start and end are far apart (callbacks), call `start` and `finish`; inside a generator, never as a context manager
    around a `yield`, whose consumer would stand in the run too: use `subagent`, or `start`, `inside` and `finish`.
    """

    def __init__(
        self,
        run: Run,
        *,
        attempt: int = 1,
        child_session: str | None = None,
        alias: str | Sequence[str] | None = None,
    ) -> None:
        self.run = run
        self.attempt = attempt
        self.turn = new_id()
        """The id of the child's present turn; a model request with a trigger begins another."""
        self._alias = alias
        self._child_session = str(child_session or run.id)
        self._frame = Frame(run.session, self._child_session, run, run.attended, frame.current(), self)
        self._producer = producer.current()
        self._span: Span | None = None
        self._pipeline: Pipeline | None = None
        self._attached: Attached | None = None
        self._outcome: wire.Outcome | None = None
        self._result: dict[str, wire.Value] = {}
        self._tokens = 0
        self._tokens_told = 0
        self._output_told_ns = 0

    @guarded(nothing)
    def start(self, *, attach: bool = False) -> None:
        """Tell that the child session exists. With `attach` the run holds for the code that follows."""
        if self.run.inert:
            return
        self._open()
        if attach:
            self._attached = Attached(self.context())

    @guarded(nothing)
    def _open(self) -> None:
        pipeline = configuration.current()
        if pipeline is None or self._span is not None:
            return
        around, links = self._trace()
        self._pipeline, self._producer = pipeline, producer.current()
        attributes = {
            wire.AGENT_NAME: self.run.agent,
            wire.ATTEMPT: self.attempt,
            wire.CHILD_SESSION: self._child_session,
            wire.RUN_ALIAS: aliases(self._alias),
            wire.KEEPALIVE_MS: pipeline.keepalive_ms,
            wire.EXPORT_INTERVAL_MS: pipeline.export_interval_ms,
        }
        self._span = pipeline.open(
            f"invoke_agent {self.run.agent}" if self.run.agent else "invoke_agent",
            "child_done",
            self._about(attributes),
            genai={wire.OPERATION: "invoke_agent"},
            around=around,
            links=links,
            begins="start",
        )
        heartbeat.begin(self, pipeline.settings.heartbeat_s)

    @guarded(nothing)
    def finish(self, outcome: wire.Outcome | None = None, error: BaseException | None = None) -> None:
        """Tell that the child ended; the second time does nothing. In a forked child it is the parent's to tell.

        The outcome is the one given, else what `ended_as` said, else that of `error`, else ok.
        """
        span, pipeline, self._span = self._span, self._pipeline, None
        heartbeat.end(self)
        self._frame.live = False
        if self._attached is not None:
            self._attached.undo()
            self._attached = None
        if span is None or pipeline is None or self._producer is not producer.current():
            return
        ended = outcome or self._outcome or (outcome_of(error) if error is not None else "ok")
        failed = ended in wire.FAILED_OUTCOMES
        pipeline.close(
            span,
            {
                wire.OUTCOME: ended,
                wire.OUTPUT_TOKENS: self._tokens or None,
                **(failure(error, ended) if failed else {}),
                **self._result,
            },
            failed=failed,
        )

    @guarded(nothing)
    def ended_as(self, outcome: wire.Outcome) -> None:
        """Say how the child ends, where no exception tells it (a harness that returns its errors)."""
        self._outcome = outcome

    @guarded(nothing)
    def result(
        self,
        result: object = UNSAID,
        *,
        size: int | None = None,
        form: str | None = None,
        location: str | None = None,
        partial: bool | None = None,
    ) -> None:
        """Say what the child ends with: text or bytes are measured and digested, an int is a size in bytes.

        None is a result of size 0, "ended with nothing"; any other object counts as a result of unknown size.
        `location` is a URI under which it can be fetched. Told with the end.
        """
        self._result = result_attributes(result, size, form, location, partial)
        if isinstance(result, str) and self._pipeline is not None and self._pipeline.settings.capture_content:
            self._result[wire.OUTPUT_MESSAGES] = message("assistant", result)

    @guarded(nothing)
    def first_token(self, *, turn: str | None = None, at_ns: int | None = None) -> None:
        """Tell that the model began to answer: progress. `at_ns` where that was earlier than now."""
        self._emit("first_token", {wire.TURN_ID: turn or self.turn}, at_ns)

    @guarded(nothing)
    def output(self, tokens: int, *, turn: str | None = None) -> None:
        """Add output tokens; their growth is progress. Cheap enough for every chunk: told once a second."""
        self._tokens += max(0, tokens)
        pipeline = self._pipeline
        if pipeline is None or self._tokens == self._tokens_told:
            return
        now_ns = pipeline.now()
        if abs(now_ns - self._output_told_ns) >= OUTPUT_EVERY_NS:
            self._output_told_ns, self._tokens_told = now_ns, self._tokens
            self._emit("output", {wire.OUTPUT_TOKENS: self._tokens, wire.TURN_ID: turn or self.turn})

    @guarded(Tool)
    def tool(self, name: str, call_id: str | None = None, *, arguments: str | None = None) -> Tool:
        """Return a tool call: `with ctx.tool("Read"): …`. Its end is progress, unless it fails as the one before."""
        if self.run.inert:
            return Tool()
        capture = self._pipeline is not None and self._pipeline.settings.capture_content
        attributes = {wire.TOOL_NAME: name, wire.TOOL_CALL_ID: call_id or new_id(), wire.TURN_ID: self.turn}
        return Tool(
            "tool_call",
            self._about(attributes),
            name=f"execute_tool {name}",
            genai={wire.OPERATION: "execute_tool", wire.TOOL_ARGUMENTS: arguments if capture else None},
            around=self.context,
        )

    @guarded(ModelRequest)
    def model_request(
        self, model: str | None = None, *, stream: bool | None = None, trigger: wire.Trigger | None = None
    ) -> ModelRequest:
        """Return a model request: `with ctx.model_request(stream=True) as request: …; request.first_token()`.

        `trigger` says what opened the turn, where this request opens one.
        """
        if self.run.inert:
            return ModelRequest()
        if trigger is not None:
            self.turn = new_id()
        attributes = {
            wire.REQUEST_MODEL: model,
            wire.REQUEST_STREAM: stream,
            wire.TURN_TRIGGER: trigger,
            wire.TURN_ID: self.turn,
        }
        return ModelRequest.of(self, self._about(attributes), self.turn, self.context)

    @guarded(Interval)
    def wait(self, reason: wire.WaitReason, waker: str | Run | None = None) -> Interval:
        """Return a legitimate wait: `with ctx.wait("approval", waker="anna"): …`; `waker` is who can end it."""
        if self.run.inert:
            return Interval()
        who = waker.id if isinstance(waker, Run) else waker
        attributes = {wire.WAIT_ID: new_id(), wire.WAIT_REASON: reason, wire.WAIT_WAKER: who}
        return Interval("wait", self._about(attributes), around=self.context)

    @guarded(nothing)
    def heartbeat(self) -> None:
        """Tell that the child is alive. Activity, never progress. Told by itself in the interval of `configure`."""
        keepalive_ms = self._pipeline.keepalive_ms if self._pipeline is not None else None
        self._emit("heartbeat", {wire.KEEPALIVE_MS: keepalive_ms})

    @guarded(nothing)
    def idle(self, *, has_summary: bool | None = None, turn_ended: bool | None = None) -> None:
        """Tell that the child went idle, with or without a summary, its turn over or not."""
        self._emit("idle", {wire.IDLE_HAS_SUMMARY: has_summary, wire.IDLE_TURN_ENDED: turn_ended})

    @guarded(nothing)
    def message(self, *, sender: wire.Sender = "child") -> None:
        """Tell of a message from the child (or to it). Activity, never progress."""
        self._emit("message", {wire.MESSAGE_FROM: sender})

    def context(self) -> Context:
        """Return the OpenTelemetry context of the run: the current one where that is inside it already."""
        here = context.get_current()
        if frame.of_span(here) is self._frame:
            return here
        return self._frame.into(trace.set_span_in_context(self._span or INVALID_SPAN, here))

    def _trace(self) -> tuple[Context, list[Link]]:
        """Continue the owner's trace in the foreground; else begin one, linked to the dispatch."""
        dispatched = self.run.span_context
        if self.run.mode == "foreground" and dispatched.is_valid:
            return trace.set_span_in_context(trace.NonRecordingSpan(dispatched)), []
        links = [Link(dispatched)] if dispatched.is_valid else []
        return trace.set_span_in_context(INVALID_SPAN), links

    def _about(self, attributes: Mapping[str, wire.Value]) -> dict[str, wire.Value]:
        return {wire.RUN_ID: self.run.id, wire.SESSION_ID: self.run.session, **attributes}

    def _emit(self, event: str, attributes: Mapping[str, wire.Value], at_ns: int | None = None) -> None:
        pipeline = configuration.current()
        if pipeline is None or self.run.inert:
            return
        here = trace.get_current_span(self.context()).get_span_context()
        pipeline.event(event, self._about(attributes), parent=here, at_ns=at_ns)

    def __enter__(self) -> Self:
        self.start(attach=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.finish(error=error)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.finish(error=error)


def _nobodys() -> Child:
    return Child(Run.nobody())


@guarded(_nobodys)
def child(
    run: Run | Mapping[str, str] | None = None,
    *,
    agent: str | None = None,
    attempt: int = 1,
    child_session: str | None = None,
    alias: str | Sequence[str] | None = None,
) -> Child:
    """Return the context in which a run's child works: `with headcount.child(run) as ctx: …`, or `async with`.

    `run` is what `dispatch` returned, a carrier of another process, or None for this process's environment; where
    that names no run, the context reports nothing. `attempt` counts from 1; `child_session` is the key of the place
    the work is done in, if it has one; `alias` one more id of the run. An exception tells outcome `error`, a
    cancellation `cancelled`, and both go on their way.
    """
    found = run if isinstance(run, Run) else carrier.extract(run)
    if found is None:
        if run is not None:
            complain("child of nobody", "headcount: child(): the carrier names no run; it is not watched")
        return _nobodys()
    if agent is not None:
        found.agent = agent
    return Child(found, attempt=attempt, child_session=child_session, alias=alias)


@guarded(_nobodys)
def current_child() -> Child:
    """Return the context of the child whose code this is; outside of any, one that reports nothing."""
    return frame.current().child or _nobodys()
