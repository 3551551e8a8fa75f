"""Microsoft Agent Framework: its own GenAI spans, heard where they are made; an agent used as a tool is a child.

    import headcount
    from headcount.adapters import agent_framework

    headcount.configure()
    agent_framework.instrument()

First tokens of a stream are told at once, else with the answer.
Set up OpenTelemetry first, if you do: where there is no TracerProvider, one is made, since the framework's spans need it.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from agent_framework.observability import ChatTelemetryLayer

from headcount.adapters import genai_spans
from headcount.guard import guarded, nothing

_listening = False


def instrument() -> None:
    """Hear all agents from now on, once."""
    genai_spans.provider_to_hear()
    _listen_to_streams()


def _listen_to_streams() -> None:
    global _listening
    if _listening:
        return
    _listening = True
    respond = ChatTelemetryLayer.get_response

    @functools.wraps(respond)
    def heard(self: Any, *args: Any, **kwargs: Any) -> Any:
        answer = respond(self, *args, **kwargs)
        _listen_to(answer)
        return answer

    ChatTelemetryLayer.get_response = heard  # type: ignore[method-assign, unused-ignore]  # the one place all streams pass


@guarded(nothing)
def _listen_to(answer: Any) -> None:
    """Hear the first part of an answer that is a stream. It touches no part, and holds none back."""
    around = getattr(answer, "with_pull_context_manager", None)
    if around is not None:
        around(_pulls_of(answer))


def _pulls_of(answer: Any) -> Callable[[], contextlib.AbstractContextManager[None]]:
    told = False

    @guarded(nothing)
    def tell_once() -> None:
        nonlocal told
        if not told and answer.updates:
            told = True
            for processor in genai_spans.processors():
                processor.first_token_here()

    @contextlib.contextmanager
    def pull() -> Iterator[None]:
        # Inside the framework's own, which makes the request's span the current one. Opening the stream counts as
        # a pull, too, and gives no part: what was pulled before says that there is one.
        tell_once()
        yield

    return pull
