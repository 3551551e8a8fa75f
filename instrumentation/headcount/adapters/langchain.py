"""LangChain, LangGraph, deepagents: a callback handler that every run gets, whoever's own callbacks it has.

    import headcount
    from headcount.adapters import langchain

    headcount.configure()
    langchain.instrument()

The outermost graph or chain is the root owner; a graph that is invoked inside a tool call is a dispatched child, as the
sub-agents of deepagents' `task` tool are. Plain chains (`prompt | model`) inside a tool are part of the tool. The first
token is that of the stream, else the answer. A session is the thread id of the configuration, else the outermost run.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tracers.context import register_configure_hook

from headcount.adapters.nesting import Nesting
from headcount.guard import guarded, nothing
from headcount.result import UNSAID

_TASK_TOOL = "task"
_PLUMBING = ("Runnable", "ChatPromptTemplate", "PromptTemplate", "StrOutputParser")


class HeadcountHandler(BaseCallbackHandler):
    """Hears chains, tools and models as they begin and end, in the context they run in."""

    run_inline = True

    def __init__(self) -> None:
        self._nesting = Nesting()
        self._tools: dict[str, str | None] = {}
        """Open tool calls, and the type of agent that a `task` call asks for."""

    @guarded(nothing)
    def on_chain_start(
        self,
        serialized: dict[str, Any] | None,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        about = metadata or {}
        name = str(kwargs.get("name") or (serialized or {}).get("name") or "chain")
        parent = str(parent_run_id) if parent_run_id else None
        session = about.get("thread_id")
        called = parent in self._tools and not name.startswith(_PLUMBING)
        if parent is not None and not called:
            self._nesting.step_began(str(run_id), parent)
            return
        asked = self._tools.get(parent or "")
        self._nesting.agent_began(
            str(run_id),
            parent,
            asked or str(about.get("lc_agent_name") or name),
            session=str(session) if session else None,
        )

    @guarded(nothing)
    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self._nesting.agent_ended(str(run_id), result=_last_text(outputs))

    @guarded(nothing)
    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._nesting.agent_ended(str(run_id), error=error)

    @guarded(nothing)
    def on_tool_start(
        self,
        serialized: dict[str, Any] | None,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        name = str(kwargs.get("name") or (serialized or {}).get("name") or "tool")
        asked = (inputs or {}).get("subagent_type") if name == _TASK_TOOL else None
        self._tools[str(run_id)] = str(asked) if asked else None
        call = kwargs.get("tool_call_id")
        parent = str(parent_run_id) if parent_run_id else None
        self._nesting.tool_began(str(run_id), parent, name, call=str(call) if call else None)

    @guarded(nothing)
    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self._tools.pop(str(run_id), None)
        content = getattr(output, "content", output)
        failed = getattr(output, "status", None) == "error"
        text = content if isinstance(content, str) else UNSAID
        self._nesting.tool_ended(str(run_id), result=text, error=str(content) if failed else None)

    @guarded(nothing)
    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._tools.pop(str(run_id), None)
        self._nesting.tool_ended(str(run_id), error=error)

    @guarded(nothing)
    def on_chat_model_start(
        self,
        serialized: dict[str, Any] | None,
        messages: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        model = (metadata or {}).get("ls_model_name")
        parent = str(parent_run_id) if parent_run_id else None
        self._nesting.model_began(str(run_id), parent, str(model) if model else None)

    def on_llm_start(self, serialized: dict[str, Any] | None, prompts: Any, **kwargs: Any) -> None:
        self.on_chat_model_start(serialized, prompts, **kwargs)

    @guarded(nothing)
    def on_llm_new_token(self, token: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self._nesting.first_token(str(run_id))

    @guarded(nothing)
    def on_llm_end(self, response: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self._nesting.model_ended(str(run_id), tokens=_output_tokens(response))

    @guarded(nothing)
    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._nesting.model_ended(str(run_id), error=error)


_handler: ContextVar[HeadcountHandler | None]
_instrumented = False


def instrument() -> None:
    """Give every run the handler from now on, once. It adds to the callbacks that are there."""
    global _handler, _instrumented
    if not _instrumented:
        _instrumented = True
        # The default of the variable is what every context sees, threads included.
        handler = HeadcountHandler()
        _handler = ContextVar("headcount_handler", default=handler)
        register_configure_hook(_handler, inheritable=True)


def _last_text(outputs: Any) -> object:
    messages = outputs.get("messages") if isinstance(outputs, dict) else outputs
    last = messages[-1] if isinstance(messages, list) and messages else messages
    content = getattr(last, "content", last)
    return content if isinstance(content, str) else UNSAID


def _output_tokens(response: Any) -> int | None:
    for generations in getattr(response, "generations", ()):
        for generation in generations:
            usage = getattr(getattr(generation, "message", None), "usage_metadata", None)
            if usage:
                return int(usage.get("output_tokens") or 0)
    return None
