"""Where the code stands: session, owner and run of the current OpenTelemetry context."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from opentelemetry import context
from opentelemetry.context import Context

from headcount import producer

if TYPE_CHECKING:
    from headcount.child import Child
    from headcount.run import Run

_KEY = context.create_key("headcount.frame")


class Frame:
    """The session and owner that dispatches are made in, and the run that spans belong to (None outside one).

    `live` ends with the run: where a context leaks out of an abandoned generator, the frame around it holds again.
    """

    __slots__ = ("attended", "child", "live", "outer", "owner", "run", "session")

    def __init__(
        self,
        session: str,
        owner: str = "",
        run: Run | None = None,
        attended: bool | None = None,
        outer: Frame | None = None,
        child: Child | None = None,
    ) -> None:
        self.session = session
        self.owner = owner
        self.run = run
        self.attended = attended
        self.outer = outer
        self.child = child
        self.live = True

    @property
    def run_id(self) -> str | None:
        """The id of the run that spans started here belong to."""
        return None if self.run is None else self.run.id

    def into(self, around: Context | None = None) -> Context:
        """Return a context (by default the current one) with this frame in it."""
        return context.set_value(_KEY, self, around)


def current() -> Frame:
    """Return the innermost live frame, at least the process's own."""
    return _live(context.get_value(_KEY)) or Frame(producer.current().session)


def of_span(parent_context: Context | None) -> Frame | None:
    """Return the frame a span starts in: that of its explicit parent context, else the current one."""
    explicit = _live(context.get_value(_KEY, parent_context)) if parent_context is not None else None
    return explicit or _live(context.get_value(_KEY))


def _live(value: object) -> Frame | None:
    frame = value if isinstance(value, Frame) else None
    while frame is not None and not frame.live:
        frame = frame.outer
    return frame


class Attached:
    """A context made current until `undo`, which is silent in any other context than the one it was made in."""

    __slots__ = ("_token",)

    def __init__(self, attached: Context) -> None:
        self._token = context.attach(attached)

    def undo(self) -> None:
        """Restore what was current before. Elsewhere (in a finaliser's context) there is nothing to restore."""
        # The public `detach` logs a traceback there, for something the host did not do.
        runtime = getattr(context, "_RUNTIME_CONTEXT", context)
        with contextlib.suppress(ValueError, RuntimeError):
            runtime.detach(self._token)
