"""Generators as children: the run holds in each step of the generator, and never in its consumer between two."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import Any

from headcount.child import Child
from headcount.frame import Attached
from headcount.guard import guarded, guarded_or_none, nothing
from headcount.result import UNSAID, outcome_of, returned
from headcount.run import Run


def hand_over(run: Run, result: object = UNSAID) -> None:
    """Tell that a foreground call's result reached its caller."""
    run.received(source="tool_result", result=returned(result))
    run.forwarded()


def hand_over_error(run: Run, error: BaseException) -> None:
    """Tell that a foreground call's failure reached its caller, as the exception it raises there does."""
    run.received(source="tool_result", outcome=outcome_of(error), error=error)
    run.forwarded()


def drive(child: Child, generator: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Yield what the generator yields, as one foreground run."""
    child.start()
    try:
        value = yield from _steps(child, generator)
    except BaseException as error:
        _end_early(child, error)
        raise
    child.finish()
    hand_over(child.run)
    return value


def _steps(child: Child, generator: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    advance: Callable[[], Any] = functools.partial(next, generator)
    while True:
        step = _attach(child)
        try:
            item = advance()
        except StopIteration as end:
            return end.value
        finally:
            _undo(step)
        try:
            sent = yield item
        except GeneratorExit:
            generator.close()
            raise
        except BaseException as error:  # noqa: BLE001  # thrown in by the consumer, passed on
            advance = functools.partial(generator.throw, error)
        else:
            advance = functools.partial(generator.send, sent)


async def drive_async(child: Child, generator: AsyncGenerator[Any, Any]) -> AsyncGenerator[Any, Any]:
    """Yield what the asynchronous generator yields, as one foreground run."""
    child.start()
    advance: Callable[[], Awaitable[Any]] = functools.partial(anext, generator)
    try:
        while True:
            step = _attach(child)
            try:
                item = await advance()
            except StopAsyncIteration:
                break
            finally:
                _undo(step)
            try:
                sent = yield item
            except GeneratorExit:
                await generator.aclose()
                raise
            except BaseException as error:  # noqa: BLE001  # thrown in by the consumer, passed on
                advance = functools.partial(generator.athrow, error)
            else:
                advance = functools.partial(generator.asend, sent)
    except BaseException as error:
        _end_early(child, error)
        raise
    child.finish()
    hand_over(child.run)


def _end_early(child: Child, error: BaseException) -> None:
    if isinstance(error, GeneratorExit):
        child.result(partial=True)
    child.finish(error=error)
    hand_over_error(child.run, error)


@guarded_or_none
def _attach(child: Child) -> Attached | None:
    return Attached(child.context())


@guarded(nothing)
def _undo(step: Attached | None) -> None:
    if step is not None:
        step.undo()
