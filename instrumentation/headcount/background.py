"""Background children: a function that runs as one, and a future whose end is the completion receipt."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, ParamSpec, TypeVar, cast

from headcount.child import Child
from headcount.guard import guarded, nothing
from headcount.result import outcome_of, returned
from headcount.run import Future, Run

P = ParamSpec("P")
R = TypeVar("R")


def wrap(run: Run, function: Callable[P, R]) -> Callable[P, R]:
    """Return the function as the run's child."""
    if inspect.iscoroutinefunction(function):
        return cast(Callable[P, R], _wrap_async(run, function))

    @functools.wraps(function)
    def work(*args: P.args, **kwargs: P.kwargs) -> R:
        with Child(run) as child:
            value = function(*args, **kwargs)
            child.result(returned(value))
            return value

    return work


def _wrap_async(run: Run, function: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    @functools.wraps(function)
    async def work(*args: Any, **kwargs: Any) -> Any:
        async with Child(run) as child:
            value = await function(*args, **kwargs)
            child.result(returned(value))
            return value

    return work


@guarded(nothing)
def watch(run: Run, future: Future) -> None:
    """Have the future tell the run's completion."""
    future.add_done_callback(functools.partial(_receive, run))


@guarded(nothing)
def _receive(run: Run, future: Any) -> None:
    if future.cancelled():
        run.received(outcome="cancelled")
    elif (error := future.exception()) is not None:
        run.received(outcome=outcome_of(error), error=error)
    else:
        run.received(result=returned(future.result()))
