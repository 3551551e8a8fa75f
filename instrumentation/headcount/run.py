"""The owner's side of one run: what became of the launch, and whether the result came back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, Protocol, TypeVar

from opentelemetry.trace import INVALID_SPAN_CONTEXT, SpanContext

from headcount import configuration, wire
from headcount.guard import guarded, nothing
from headcount.producer import new_id
from headcount.result import UNSAID, failure, milliseconds, result_attributes

P = ParamSpec("P")
R = TypeVar("R")


class Future(Protocol):
    """A future of asyncio or of concurrent.futures."""

    def add_done_callback(self, fn: Callable[[Any], object], /) -> object: ...


F = TypeVar("F", bound=Future)


class Run:
    """One obligation: `owner` asked a child of type `agent` for one result. Made by `dispatch` or `extract`."""

    __slots__ = ("agent", "attended", "id", "inert", "mode", "owner", "session", "span_context")

    def __init__(
        self,
        id: str,
        session: str,
        *,
        owner: str = "",
        agent: str | None = None,
        mode: wire.Mode = "background",
        attended: bool | None = None,
        span_context: SpanContext = INVALID_SPAN_CONTEXT,
    ) -> None:
        self.id = str(id)
        self.session = str(session)
        self.owner = str(owner)
        self.agent = agent
        self.mode: wire.Mode = mode
        self.attended = attended
        self.span_context = span_context
        self.inert = False

    @classmethod
    def nobody(cls) -> Run:
        """Return a run that reports nothing, for where there is none."""
        run = cls(new_id(), "")
        run.inert = True
        return run

    def __repr__(self) -> str:
        return f"Run(id={self.id!r}, agent={self.agent!r}, mode={self.mode!r}, session={self.session!r})"

    def carrier(self) -> dict[str, str]:
        """Return what another process needs to work as this run's child, as headers (W3C trace context included)."""
        from headcount import carrier

        return carrier.inject(run=self)

    def environ(self) -> dict[str, str]:
        """Return the same as environment variables: TRACEPARENT, HEADCOUNT_RUN_ID, HEADCOUNT_SESSION_ID, …"""
        from headcount import carrier

        return carrier.environ(self)

    @guarded(nothing)
    def launched(
        self,
        state: wire.LaunchState,
        *,
        mode: wire.Mode | None = None,
        alias: str | Sequence[str] | None = None,
        cap: int | None = None,
        child_session: str | None = None,
    ) -> None:
        """Tell where the launch is, that the mode changed, or one more id (`alias`) of the run.

        `cap` is the limit of children at work that keeps a queued one waiting.
        """
        if mode is not None:
            self.mode = mode
        self._emit(
            "launch",
            {
                wire.LAUNCH_STATE: state,
                wire.LAUNCH_CAP: cap,
                wire.MODE: mode,
                wire.RUN_ALIAS: aliases(alias),
                wire.CHILD_SESSION: child_session,
            },
        )

    @guarded(nothing)
    def received(
        self,
        *,
        source: wire.ResultSource = "notification",
        outcome: wire.Outcome = "ok",
        error: BaseException | str | None = None,
        result: object = UNSAID,
        size: int | None = None,
        form: str | None = None,
        location: str | None = None,
        partial: bool | None = None,
        to: str | None = None,
        to_session: str | None = None,
    ) -> None:
        """Tell that the owner's harness holds the completion (the completion receipt).

        A failing `outcome` may name its `error`. `result` is measured and not kept; `size` (bytes) is for where only that is known. `to` names a receiver
        that is not the owner (an owner id), `to_session` its session.
        """
        self._emit(
            "completion_received",
            {
                wire.RESULT_SOURCE: source,
                wire.OUTCOME: outcome,
                **failure(error, outcome),
                **result_attributes(result, size, form, location, partial),
                wire.RECEIVER_ID: to,
                wire.RECEIVER_SESSION: to_session,
            },
            failed=outcome in wire.FAILED_OUTCOMES,
        )

    @guarded(nothing)
    def forwarded(
        self,
        to: str | None = None,
        *,
        ok: bool = True,
        error: BaseException | str | None = None,
        final: bool = False,
        to_session: str | None = None,
        result: object = UNSAID,
        form: str | None = None,
    ) -> None:
        """Tell that the completion was put into the receiver's conversation, or (`ok` false, `error`) was not.

        `to` names a receiver that is not the owner; `final` says that it will not be tried again.
        """
        delivered = ok and error is None
        self._emit(
            "completion_forwarded",
            {
                wire.FORWARDED: delivered,
                wire.FORWARD_FINAL: final or None,
                **failure(error, None if delivered else "error"),
                **result_attributes(result, None, form, None, None),
                wire.RECEIVER_ID: to,
                wire.RECEIVER_SESSION: to_session,
            },
            failed=not delivered,
        )

    @guarded(nothing)
    def consumed(self, tokens: int | None = None) -> None:
        """Tell that the owner's next model request contained the result; `tokens` are the answer's output tokens."""
        self._emit("completion_consumed", {wire.OUTPUT_TOKENS: tokens})

    @guarded(nothing)
    def dismiss(self, reason: str, *, handed_to: str | None = None) -> None:
        """Void the obligation; `handed_to` names who has the conversation now, where it was handed off."""
        self._emit("dismiss", {wire.DISMISS_REASON: reason, wire.HANDED_TO: handed_to})

    @guarded(nothing)
    def nudge(self, *, sender: wire.Sender = "owner") -> None:
        """Tell that the child was asked to go on. Not progress."""
        self._emit("nudge", {wire.MESSAGE_FROM: sender})

    @guarded(nothing)
    def message(self, *, sender: wire.Sender = "owner") -> None:
        """Tell that a message went to the child (`sender` child: from it). Not progress."""
        self._emit("message", {wire.MESSAGE_FROM: sender})

    @guarded(nothing)
    def kill(
        self,
        actor: str = "owner",
        *,
        rule: str | None = None,
        limit_s: float | None = None,
        location: str | None = None,
        size: int | None = None,
        partial: bool | None = None,
    ) -> None:
        """Tell that the child was ended by force: who (`owner`, `user`, an owner id, a watchdog), by which rule and
        limit, and where what it had is kept (`location`, `size` in bytes)."""
        self._emit(
            "kill",
            {
                wire.KILL_ACTOR: actor,
                wire.KILL_RULE: rule,
                wire.KILL_LIMIT_MS: milliseconds(limit_s),
                wire.RESULT_LOCATION: location,
                wire.RESULT_SIZE: size,
                wire.RESULT_PARTIAL: partial,
            },
        )

    @guarded(nothing)
    def abort(self, actor: str = "owner", *, rule: str | None = None, limit_s: float | None = None) -> None:
        """Tell that the child was asked to stop. It ends nothing by itself."""
        self._emit(
            "abort", {wire.KILL_ACTOR: actor, wire.KILL_RULE: rule, wire.KILL_LIMIT_MS: milliseconds(limit_s)}
        )

    @guarded(nothing)
    def gone(self, *, child_session: str | None = None) -> None:
        """Tell, as a supervisor, that the child's process or session is no longer there."""
        self._emit("child_gone", {wire.CHILD_SESSION: child_session})

    def wrap(self, function: Callable[P, R]) -> Callable[P, R]:
        """Return the function as this run's child, for a thread, an executor or a task; sync or async.

        `executor.submit(run.wrap(work), …)`, `asyncio.create_task(run.wrap(work)(…))`. A text result is measured.
        """
        from headcount import background

        return background.wrap(self, function)

    def watch(self, future: F) -> F:
        """Emit the completion receipt when an asyncio or concurrent future is done; return the future.

        Call `forwarded` when its result is put into the owner's conversation.
        """
        from headcount import background

        background.watch(self, future)
        return future

    def _emit(self, event: str, attributes: dict[str, wire.Value], *, failed: bool = False) -> None:
        pipeline = configuration.current()
        if pipeline is None or self.inert:
            return
        about = {wire.RUN_ID: self.id, wire.SESSION_ID: self.session, wire.OWNER_ID: self.owner or None}
        pipeline.event(event, {**about, **attributes}, failed=failed)


def aliases(alias: str | Sequence[str] | None) -> Sequence[str] | None:
    """Return one or several ids as a sequence."""
    return (alias,) if isinstance(alias, str) else alias
