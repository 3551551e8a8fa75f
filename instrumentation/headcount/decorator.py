"""The usual shape in one line: a function whose call is a foreground run of a sub-agent."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from datetime import timedelta
from typing import Any, ParamSpec, TypeVar, cast

from headcount.child import Child
from headcount.dispatch import dispatch
from headcount.guard import guarded_or_none
from headcount.result import returned
from headcount.stream import drive, drive_async, hand_over, hand_over_error

P = ParamSpec("P")
R = TypeVar("R")


def subagent(
    agent: str,
    *,
    prompt: str | None = None,
    description: str | None = None,
    expected: float | timedelta | None = None,
    max_runtime: float | timedelta | None = None,
    model: str | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make every call of a function a foreground run: dispatched, worked on, received and forwarded to the caller.

    For functions, coroutine functions, and generators of both kinds, whose items are the result as it comes; one that
    is left unfinished ends as `cancelled`. `prompt` names the parameter that holds the prompt, whose digest is
    exported. Inside, `headcount.current_child()` is the child's context.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        begin = _Begin(function, agent, prompt, description, expected, max_runtime, model)
        if inspect.isasyncgenfunction(function):
            return cast(Callable[P, R], _asynchronous_stream(function, begin))
        if inspect.isgeneratorfunction(function):
            return cast(Callable[P, R], _stream(function, begin))
        if inspect.iscoroutinefunction(function):
            return cast(Callable[P, R], _asynchronous(function, begin))
        return _synchronous(function, begin)

    return decorate


class _Begin:
    """Dispatches one call."""

    def __init__(
        self,
        function: Callable[..., object],
        agent: str,
        prompt: str | None,
        description: str | None,
        expected: float | timedelta | None,
        max_runtime: float | timedelta | None,
        model: str | None,
    ) -> None:
        self._function = function
        self._prompt = prompt
        self._dispatch = functools.partial(
            dispatch,
            agent,
            mode="foreground",
            description=description,
            expected=expected,
            max_runtime=max_runtime,
            channel="tool_result",
            model=model,
        )

    def __call__(self, *args: object, **kwargs: object) -> Child:
        return Child(self._dispatch(prompt=self._prompt_of(args, kwargs)))

    @guarded_or_none
    def _prompt_of(self, args: tuple[object, ...], kwargs: dict[str, object]) -> str | None:
        if self._prompt is None:
            return None
        bound = inspect.signature(self._function).bind(*args, **kwargs)
        bound.apply_defaults()
        return str(bound.arguments[self._prompt])


def _synchronous(function: Callable[P, R], begin: _Begin) -> Callable[P, R]:
    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        child = begin(*args, **kwargs)
        try:
            with child:
                value = function(*args, **kwargs)
                child.result(returned(value))
        except BaseException as error:
            hand_over_error(child.run, error)
            raise
        hand_over(child.run, value)
        return value

    return call


def _asynchronous(function: Callable[..., Awaitable[Any]], begin: _Begin) -> Callable[..., Awaitable[Any]]:
    @functools.wraps(function)
    async def call(*args: object, **kwargs: object) -> object:
        child = begin(*args, **kwargs)
        try:
            async with child:
                value = await function(*args, **kwargs)
                child.result(returned(value))
        except BaseException as error:
            hand_over_error(child.run, error)
            raise
        hand_over(child.run, value)
        return value

    return call


def _stream(
    function: Callable[..., Generator[Any, Any, Any]], begin: _Begin
) -> Callable[..., Generator[Any, Any, Any]]:
    @functools.wraps(function)
    def call(*args: object, **kwargs: object) -> Generator[Any, Any, Any]:
        generator = function(*args, **kwargs)
        return (yield from drive(begin(*args, **kwargs), generator))

    return call


def _asynchronous_stream(
    function: Callable[..., AsyncGenerator[Any, Any]], begin: _Begin
) -> Callable[..., AsyncGenerator[Any, Any]]:
    @functools.wraps(function)
    def call(*args: object, **kwargs: object) -> AsyncGenerator[Any, Any]:
        return drive_async(begin(*args, **kwargs), function(*args, **kwargs))

    return call
