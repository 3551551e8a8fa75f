"""Keeps every fault of the instrumentation away from its host: logged once per kind, counted, never raised."""

from __future__ import annotations

import functools
import logging
from collections import Counter
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

logger = logging.getLogger("headcount")

faults: Counter[str] = Counter()
"""Faults so far by kind (`place: exception`); the log has the first of each kind with its traceback."""


def nothing() -> None:
    """Stand in for a call that failed and has no value to give."""


def complain(kind: str, message: str, *details: object, error: BaseException | None = None) -> None:
    """Count a fault and log it if it is the first of its kind."""
    faults[kind] += 1
    if faults[kind] > 1:
        return
    try:
        logger.warning(f"{message} (further ones of this kind are only counted)", *details, exc_info=error)
    except Exception:  # noqa: BLE001  # a handler of the host that raises must not reach the host through us
        faults["logging"] += 1


def guarded(fallback: Callable[[], R]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function return `fallback()` where it would raise, wrong arguments included."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except Exception as error:  # noqa: BLE001  # the host must survive whatever it is
                place = function.__qualname__
                complain(f"{place}: {type(error).__name__}", "headcount: %s failed", place, error=error)
                return fallback()

        return call

    return decorate


def guarded_or_none(function: Callable[P, R | None]) -> Callable[P, R | None]:
    """Make a function return None where it would raise."""

    def none() -> R | None:
        return None

    return guarded(none)(function)
