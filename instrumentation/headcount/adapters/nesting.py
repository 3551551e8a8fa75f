"""Reads runs out of nested operations: an agent called inside a tool call, or inside another agent, is a dispatched child.

Frameworks tell of agents, tool calls and model requests as they begin and end, each with an id and its parent's. The
outermost agent is the session's root owner; what is called below it is a run in the foreground. A tool call that ends
while the agent it called still works has launched it into the background: nobody will see its result come back unless
the program says so (`forwarded`). A result counts as consumed at the owner's next model request, or by its own answer.
"""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final, Literal

from headcount import owner as owners
from headcount import wire
from headcount.child import Child
from headcount.digest import is_cancellation
from headcount.dispatch import dispatch
from headcount.guard import guarded, nothing
from headcount.interval import Interval, ModelRequest
from headcount.result import UNSAID, outcome_of
from headcount.run import Run

Kind = Literal["agent", "tool", "model", "step"]
Failure = BaseException | str | None

MOST_OPEN: Final = 10_000
"""Operations that are kept open at most: one whose end is never told must not be kept for ever."""


@dataclass(eq=False, slots=True)
class Operation:
    """One open (or, for a launched agent, just ended) operation of a framework."""

    id: str
    kind: Kind
    name: str
    parent: Operation | None
    session: str
    parent_id: str | None
    run: Run | None = None
    child: Child | None = None
    interval: Interval | None = None
    called: list[Operation] = field(default_factory=list)
    """Of a tool call: the agents that were called in it."""
    delivered: list[Run] = field(default_factory=list)
    """Of an agent: results it was given and has not answered to."""
    dispatched: bool = False
    given: bool = False
    """It has the conversation by a hand-off and owes nobody."""
    handed_to: str | None = None
    outcome: wire.Outcome | None = None
    error: Failure = None
    result: object = UNSAID
    answer: str | None = None
    """What was said of its result before its end."""
    held: list[Operation] | None = None
    """Of a workflow: the agents it called that have ended; what they came to travels on along its edges."""
    carried: bool = False
    lost: str | None = None
    """Why an edge did not carry its result."""
    amid: int | None = None
    """The cancellation that was handled when it began, which is not its own."""

    def around(self, kind: Kind) -> Operation | None:
        """Return the innermost operation of a kind that this one is part of."""
        found = self.parent
        while found is not None and found.kind != kind:
            found = found.parent
        return found


class Nesting:
    """The open operations of one framework in this process. All of it may be called from any thread."""

    def __init__(self, *, attach: bool = True) -> None:
        self._attach = attach
        self._open: OrderedDict[str, Operation] = OrderedDict()
        self._handed: dict[tuple[str | None, str], Run] = {}
        self._next_is_handed: set[str | None] = set()
        """Parents under which the next agent has the conversation from the one before it."""
        self._lock = threading.RLock()

    def run_of(self, id: str) -> Run | None:
        """Return the run that an open agent works for."""
        found = self._open.get(id)
        return found.run if found is not None else None

    def knows(self, id: str) -> bool:
        """Tell whether an operation is open."""
        return id in self._open

    @guarded(nothing)
    def agent_began(
        self,
        id: str,
        parent: str | None,
        name: str,
        *,
        session: str | None = None,
        prompt: str | None = None,
        call: str | None = None,
        edges: bool = False,
    ) -> None:
        """Tell that an agent was called: a run begins, unless it is the outermost one.

        With `edges` it is a workflow: what its agents come to is delivered by `carried`, or by its end.
        """
        operation = self._begin(id, "agent", parent, name, session)
        if operation is None:
            return
        operation.held = [] if edges else None
        owner = operation.around("agent")
        handed = self._handed.pop((parent, name), None)
        if parent in self._next_is_handed:
            self._next_is_handed.discard(parent)
            handed = self._give(name, operation.session)
        if owner is None and handed is None and operation.around("tool") is None:
            return
        operation.given = handed is not None
        operation.run = handed or self._dispatch(operation, owner, prompt, call)
        operation.child = Child(operation.run)
        operation.child.start(attach=self._attach)
        tool = operation.around("tool")
        if tool is not None and (owner is None or _inside(tool, owner)):
            tool.called.append(operation)

    @guarded(nothing)
    def agent_ended(self, id: str, *, result: object = UNSAID, error: Failure = None) -> None:
        """Tell that an agent ended, with its result or its error."""
        operation = self._end(id)
        if operation is None:
            return
        error = _cancelled(operation) or error
        if result is UNSAID and operation.answer is not None:
            result = operation.answer
        self._settle(operation)
        self._consume(operation)
        run, child = operation.run, operation.child
        if run is None or child is None:
            if operation.dispatched:
                owners.owner_final(owner="", session=operation.session)
            return
        operation.error, operation.result = error, result
        operation.outcome = _outcome(error)
        child.result(result, form="raw")
        if operation.outcome != "ok":
            child.ended_as(operation.outcome)
        child.finish(error=error if isinstance(error, BaseException) else None)
        if operation.handed_to is not None:
            run.dismiss("handed off", handed_to=operation.handed_to)
        elif not operation.given and not _called_by_tool(operation):
            owner = operation.around("agent")
            if owner is not None and owner.held is not None:
                self._receive(operation, result, error, "completion_push")
                owner.held.append(operation)
            else:
                self._deliver(operation, result, error)

    def held_below(self, id: str) -> list[Operation]:
        """Return the agents of a workflow that ended inside one of its open steps."""
        step = self._open.get(id)
        workflow = step.around("agent") if step is not None else None
        held = workflow.held if workflow is not None else None
        return [agent for agent in held or () if step is not None and _inside(agent, step)]

    @guarded(nothing)
    def carried(self, agent: Operation, *, lost: str | None = None, final: bool = False) -> None:
        """Tell that an edge of a workflow carried what an agent came to, or why it did not."""
        if agent.run is None or agent.carried:
            return
        if lost is None:
            agent.carried = True
            agent.run.forwarded()
            agent.run.consumed()
        else:
            agent.lost = lost
            agent.run.forwarded(ok=False, error=lost, final=final)

    def _settle(self, workflow: Operation) -> None:
        """At the end of a workflow: what no edge refused is its output."""
        for agent in workflow.held or ():
            self.carried(agent, lost=agent.lost, final=True)

    @guarded(nothing)
    def handed_off(self, id: str, to: str | None = None) -> None:
        """Tell that an agent gave the conversation to another (not named: the next), and gets nothing back."""
        operation = self._open.get(id)
        if operation is not None and operation.kind != "agent":
            operation = operation.around("agent")
        if operation is None:
            return
        parent = operation.parent_id
        if operation.run is not None:
            operation.handed_to = to or "the next agent"
        elif to is None:
            self._next_is_handed.add(parent)
        else:
            operation.dispatched = True
            self._handed[(parent, to)] = self._give(to, operation.session)

    @guarded(nothing)
    def tool_began(self, id: str, parent: str | None, name: str, *, call: str | None = None) -> None:
        """Tell that a tool was called; inside a run it is a tool call of the child."""
        operation = self._begin(id, "tool", parent, name, None)
        child = _child_around(operation)
        if operation is not None and child is not None:
            operation.interval = child.tool(name, call or id)
            operation.interval.start()

    @guarded(nothing)
    def tool_ended(self, id: str, *, result: object = UNSAID, error: Failure = None) -> None:
        """Tell that a tool answered: what the agents called in it came to is now its caller's."""
        operation = self._end(id)
        if operation is None:
            return
        error = _cancelled(operation) or error
        if result is UNSAID and operation.answer is not None:
            result = operation.answer
        if operation.interval is not None:
            operation.interval.end(error)
        for agent in operation.called:
            if agent.run is None or agent.handed_to is not None:
                continue
            if agent.id in self._open:
                agent.run.launched("registered", mode="background")
            else:
                self._deliver(agent, result, error)

    @guarded(nothing)
    def model_began(
        self, id: str, parent: str | None, model: str | None = None, *, stream: bool | None = None
    ) -> None:
        """Tell of a model request: what its agent was given before it is in it."""
        operation = self._begin(id, "model", parent, model or "", None)
        if operation is None:
            return
        agent = operation.around("agent")
        if agent is not None:
            self._consume(agent)
        child = _child_around(operation)
        if child is not None:
            operation.interval = child.model_request(model, stream=stream)
            operation.interval.start()

    @guarded(nothing)
    def first_token(self, id: str, *, at_ns: int | None = None) -> None:
        """Tell that a model began to answer; the second time does nothing."""
        operation = self._open.get(id)
        if operation is not None and isinstance(operation.interval, ModelRequest):
            if operation.outcome is None:
                operation.interval.first_token(at_ns=at_ns)
            operation.outcome = "ok"

    @guarded(nothing)
    def answered_within(self, id: str, kind: Kind, answer: str, name: str | None = None) -> None:
        """Keep what an open agent or tool comes to, where its end will not tell it."""
        found = self._within(id, kind, name)
        if found is not None:
            found.answer = answer

    @guarded(nothing)
    def first_token_within(self, id: str) -> None:
        """Tell that a model began to answer, by its request or by an operation that the request is part of."""
        found = self._within(id, "model")
        if found is not None:
            self.first_token(found.id)

    def _within(self, id: str, kind: Kind, name: str | None = None) -> Operation | None:
        """Return an open operation of a kind: the one of this id, or the latest inside it."""
        around = self._open.get(id)
        if around is None or (around.kind == kind and name in (None, around.name)):
            return around
        with self._lock:
            for found in reversed(self._open.values()):
                if found.kind == kind and name in (None, found.name) and _inside(found, around):
                    return found
        return None

    @guarded(nothing)
    def model_ended(
        self, id: str, *, tokens: int | None = None, model: str | None = None, error: Failure = None
    ) -> None:
        """Tell that a model answered, with its output tokens; where no stream told the first token, this does."""
        operation = self._open.get(id)
        error = _cancelled(operation) or error
        if error is None:
            self.first_token(id)
        self._end(id)
        if operation is None or not isinstance(operation.interval, ModelRequest):
            return
        if tokens:
            operation.interval.output(tokens)
        if model:
            operation.interval.model(model)
        operation.interval.end(error)

    @guarded(nothing)
    def step_began(self, id: str, parent: str | None, *, session: str | None = None) -> None:
        """Tell of an operation that is none of these, and may have some inside."""
        self._begin(id, "step", parent, "", session)

    @guarded(nothing)
    def step_ended(self, id: str) -> None:
        """Tell of its end."""
        self._end(id)

    def _begin(
        self, id: str, kind: Kind, parent: str | None, name: str, session: str | None
    ) -> Operation | None:
        with self._lock:
            if id in self._open:
                return None
            above = self._open.get(parent) if parent is not None else None
            within = above.session if above is not None else None
            operation = Operation(id, kind, name, above, within or session or id, parent, amid=_in_flight())
            self._open[id] = operation
            while len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)
            return operation

    def _end(self, id: str) -> Operation | None:
        with self._lock:
            return self._open.pop(id, None)

    def _dispatch(
        self, operation: Operation, owner: Operation | None, prompt: str | None, call: str | None
    ) -> Run:
        if owner is not None:
            owner.dispatched = True
        above = owner.run if owner is not None else None
        return dispatch(
            operation.name,
            owner=above.id if above is not None else "",
            session=operation.session,
            parent=above,
            mode="foreground",
            channel="tool_result",
            prompt=prompt,
            alias=call,
        )

    @staticmethod
    def _give(to: str, session: str) -> Run:
        run = dispatch(to, owner="", session=session, mode="foreground", channel="none")
        run.dismiss("handed off", handed_to=to)
        return run

    def _deliver(self, agent: Operation, result: object, error: Failure) -> None:
        run = agent.run
        if run is None:
            return
        self._receive(agent, result, error, "tool_result")
        run.forwarded()
        owner = agent.around("agent")
        if owner is not None:
            owner.delivered.append(run)

    @staticmethod
    def _receive(agent: Operation, result: object, error: Failure, source: wire.ResultSource) -> None:
        if agent.run is None:
            return
        failed = error if error is not None else agent.error
        outcome = agent.outcome if agent.outcome not in (None, "ok") else _outcome(failed)
        text = result if result is None or isinstance(result, str | bytes) else UNSAID
        agent.run.received(
            source=source,
            outcome=outcome or "ok",
            error=failed if outcome != "ok" else None,
            result=text,
            form="raw" if text == agent.result else "wrapped",
        )

    def _consume(self, agent: Operation) -> None:
        delivered, agent.delivered = agent.delivered, []
        for run in delivered:
            run.consumed()


def _in_flight() -> int | None:
    """Return which cancellation this code is told in the middle of, if it is one."""
    error = sys.exc_info()[1]
    cancels = error is not None and not isinstance(error, GeneratorExit) and is_cancellation(error)
    return id(error) if cancels else None


def _cancelled(operation: Operation | None) -> BaseException | None:
    """Return the cancellation that ends an operation: frameworks end their spans and say nothing of it.

    A generator that is closed is none: its consumer may have all that it wanted.
    """
    flying = _in_flight()
    return sys.exc_info()[1] if operation is not None and flying not in (None, operation.amid) else None


def _called_by_tool(operation: Operation) -> bool:
    tool = operation.around("tool")
    return tool is not None and operation in tool.called


def _inside(tool: Operation, agent: Operation) -> bool:
    found: Operation | None = tool
    while found is not None:
        if found is agent:
            return True
        found = found.parent
    return False


def _child_around(operation: Operation | None) -> Child | None:
    agent = operation.around("agent") if operation is not None else None
    return agent.child if agent is not None else None


def _outcome(error: Failure) -> wire.Outcome:
    if error is None:
        return "ok"
    return outcome_of(error) if isinstance(error, BaseException) else "error"
