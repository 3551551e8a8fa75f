"""Google ADK: a plugin in every runner beside those that are there, and the framework's own GenAI spans.

    import headcount
    from headcount.adapters import google_adk

    headcount.configure()
    google_adk.instrument()

An `AgentTool` or a sub-agent is a dispatched child. The spans say what is part of what; the plugin says what they do not:
the first token of a stream, what an agent answered, a tool that failed. Where runners must not be touched, leave
`instrument` out and give `Runner` or `App` a `HeadcountPlugin()`. Set up OpenTelemetry first, if you do: where there is no
TracerProvider, one is made, since the framework's spans need it.
"""

from __future__ import annotations

import functools
from typing import Any

from google.adk.plugins.base_plugin import BasePlugin
from google.adk.plugins.plugin_manager import PluginManager

from headcount.adapters import genai_spans
from headcount.guard import guarded, nothing

NAME = "headcount"


class HeadcountPlugin(BasePlugin):
    """Tells what the spans leave out. It changes nothing and never answers for an agent, a model or a tool."""

    def __init__(self) -> None:
        super().__init__(name=NAME)
        genai_spans.provider_to_hear()

    async def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> None:
        """Tell the first token: of a stream this is called with each part."""
        for processor in genai_spans.processors():
            processor.first_token_here()

    async def after_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any, result: Any) -> None:
        """Keep what a tool answered: the result of an agent that is one."""
        _tool_answered(result)

    async def on_event_callback(self, *, invocation_context: Any, event: Any) -> None:
        """Keep what an agent answered."""
        _agent_answered(event)


@guarded(nothing)
def _tool_answered(result: Any) -> None:
    text = result.get("result") if isinstance(result, dict) else result
    if isinstance(text, str):
        for processor in genai_spans.processors():
            processor.answered_here("tool", text)


@guarded(nothing)
def _agent_answered(event: Any) -> None:
    if not event.is_final_response() or event.partial or event.content is None:
        return
    text = "".join(part.text for part in event.content.parts or () if part.text and not part.thought)
    for processor in genai_spans.processors() if text else ():
        processor.answered_here("agent", text, event.author)


_instrumented = False


def instrument() -> None:
    """Hear all agents from now on, once; runners that are made from now on have the plugin."""
    global _instrumented
    genai_spans.provider_to_hear()
    if _instrumented:
        return
    _instrumented = True
    begin = PluginManager.__init__

    @functools.wraps(begin)
    def with_headcount(self: PluginManager, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        # The first one hears everything: a plugin that answers ends the round.
        if self.get_plugin(NAME) is None:
            self.plugins.insert(0, HeadcountPlugin())

    PluginManager.__init__ = with_headcount
