"""Lifecycle spans with a length: a tool call, a model request, a wait, an owner's turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import Span

from headcount import configuration, producer, wire
from headcount.frame import Attached
from headcount.guard import guarded, nothing
from headcount.pipeline import Pipeline
from headcount.result import failure

if TYPE_CHECKING:
    from headcount.child import Child


class Interval:
    """A span that tells its start at once, by its pending twin, and its end when it ends.

    Use it as a context manager, sync or async, or call `start` and `end` where the two are far apart. An exception
    ends it as failed and goes on its way.
    """

    def __init__(
        self,
        event: str = "",
        attributes: Mapping[str, wire.Value] | None = None,
        *,
        name: str | None = None,
        genai: Mapping[str, wire.Value] | None = None,
        around: Callable[[], Context] | None = None,
    ) -> None:
        self._event = event
        self._attributes = attributes or {}
        self._name = name or f"subagent.{event}"
        self._genai = genai or {}
        self._around = around
        self._at_end: dict[str, wire.Value] = {}
        self._failure: BaseException | str | None = None
        self._span: Span | None = None
        self._pipeline: Pipeline | None = None
        self._producer = producer.current()
        self._attached: Attached | None = None

    @guarded(nothing)
    def start(self, *, attach: bool = False) -> None:
        """Tell the start. With `attach` (as a context manager does for tools and requests) spans nest in this one."""
        pipeline = configuration.current()
        if not self._event or pipeline is None or self._span is not None:
            return
        around = self._around() if self._around is not None else context.get_current()
        self._pipeline, self._producer = pipeline, producer.current()
        self._span = pipeline.open(
            self._name, self._event, self._attributes, genai=self._genai, around=around
        )
        if attach:
            self._attached = Attached(trace.set_span_in_context(self._span, around))

    @guarded(nothing)
    def fail(self, error: BaseException | str) -> None:
        """Mark it as failed with an exception or an error's text (exported as type and digest)."""
        self._failure = error

    @guarded(nothing)
    def end(self, error: BaseException | str | None = None) -> None:
        """Tell the end; the second time does nothing. In a forked child it is the parent's to tell."""
        span, pipeline, self._span = self._span, self._pipeline, None
        if self._attached is not None:
            self._attached.undo()
            self._attached = None
        if span is None or pipeline is None or self._producer is not producer.current():
            return
        failed = error if error is not None else self._failure
        pipeline.close(span, {**self._at_end, **failure(failed)}, failed=failed is not None)

    # Whether others' spans nest in this one; a wait or an owner's turn only lies beside them.
    _nests = False

    def __enter__(self) -> Self:
        self.start(attach=self._nests)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end(error)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end(error)


class Tool(Interval):
    """A tool call of the child; what starts inside it nests in its `execute_tool` span."""

    _nests = True

    @guarded(nothing)
    def result(self, content: str) -> None:
        """Keep the tool's result; exported only while content is captured."""
        if self._pipeline is not None and self._pipeline.settings.capture_content:
            self._at_end[wire.TOOL_RESULT] = content


class ModelRequest(Interval):
    """A model request of the child; what starts inside it nests in its span."""

    _nests = True
    _child: Child | None = None
    turn: str | None = None

    @classmethod
    def of(
        cls, child: Child, attributes: Mapping[str, wire.Value], turn: str, around: Callable[[], Context]
    ) -> ModelRequest:
        """Return a request that belongs to a turn of this child."""
        request = cls("model_request", attributes, around=around)
        request._child, request.turn = child, turn
        return request

    @guarded(nothing)
    def first_token(self, *, at_ns: int | None = None) -> None:
        """Tell that the model began to answer; `at_ns` where that was earlier than now."""
        if self._child is not None:
            self._child.first_token(turn=self.turn, at_ns=at_ns)

    @guarded(nothing)
    def output(self, tokens: int) -> None:
        """Add output tokens, as `Child.output` does."""
        if self._child is not None:
            self._child.output(tokens, turn=self.turn)

    @guarded(nothing)
    def model(self, name: str) -> None:
        """Tell which model answered."""
        self._at_end[wire.RESPONSE_MODEL] = name
