"""Contexts that tell nothing by themselves: a session, and code that belongs to a run begun elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from opentelemetry import trace

from headcount import carrier, frame
from headcount.child import Child
from headcount.frame import Attached, Frame
from headcount.guard import guarded, nothing
from headcount.producer import new_id
from headcount.run import Run


class Scope:
    """A context manager, sync or async, that makes a frame the current one."""

    def __init__(
        self, made: Frame | None = None, *, within: Child | None = None, run: Run | None = None
    ) -> None:
        self._frame = made
        self._child = within
        self._run = run
        self._attached: Attached | None = None

    @property
    def session(self) -> str:
        """The id of the session."""
        return self._frame.session if self._frame is not None else frame.current().session

    @guarded(nothing)
    def _attach(self) -> None:
        if self._child is not None:
            self._attached = Attached(self._child.context())
        elif self._frame is not None:
            around = None
            if self._run is not None and self._run.span_context.is_valid:
                around = trace.set_span_in_context(trace.NonRecordingSpan(self._run.span_context))
            self._attached = Attached(self._frame.into(around))

    @guarded(nothing)
    def _detach(self) -> None:
        if self._attached is not None:
            self._attached.undo()
            self._attached = None

    def __enter__(self) -> Self:
        self._attach()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._detach()

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._detach()


@guarded(Scope)
def session(id: str | None = None, *, attended: bool | None = None, owner: str = "") -> Scope:
    """Return the context of one root conversation: `with headcount.session("chat-17", attended=True): …`.

    What is dispatched inside belongs to this session (a new one if no id is given) and, unless said otherwise, to
    its root or the `owner` named here. `attended` says that a person sits there. Outside any session, one id stands
    for the whole process (HEADCOUNT_SESSION_ID, else a new one).
    """
    return Scope(Frame(str(id or new_id()), str(owner), None, attended, outer=frame.current()))


@guarded(Scope)
def inside(run: Child | Run | Mapping[str, str] | None = None) -> Scope:
    """Return the context of a run whose start and end are told elsewhere: for its threads, callbacks and helpers.

    Spans are stamped and dispatches nested as in the child's own code. Takes a child's context, a run, a carrier, or
    None for this process's environment.
    """
    if isinstance(run, Child):
        return Scope(within=run)
    found = run if isinstance(run, Run) else carrier.extract(run)
    if found is None or found.inert:
        return Scope()
    return Scope(Frame(found.session, found.id, found, found.attended, outer=frame.current()), run=found)
