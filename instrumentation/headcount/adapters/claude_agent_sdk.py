"""Claude Agent SDK: hooks that only take note, and the message stream, which knows first tokens and ends no hook tells.

    import headcount
    from headcount.adapters import claude_agent_sdk

    headcount.configure()
    options = claude_agent_sdk.watched(ClaudeAgentOptions(…))
    async for message in claude_agent_sdk.messages(query(prompt="…", options=options)):
        …

A hook call is put into a queue and answered at once: a callback that waits would block the agent's tools. A thread
posts it to the collector, which reads it as it reads Claude Code's own hooks; so the address must be a collector's
(HEADCOUNT_ENDPOINT, or the one given).
"""

from __future__ import annotations

import atexit
import dataclasses
import json
import os
import threading
from collections.abc import AsyncIterable, AsyncIterator
from queue import Empty, Full, Queue
from typing import Any, Final, TypeVar

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    HookMatcher,
    ResultMessage,
    StreamEvent,
    TaskNotificationMessage,
    TaskStartedMessage,
    TaskUpdatedMessage,
)

from headcount import wire
from headcount.child import Child
from headcount.forward_hook import send
from headcount.guard import complain, guarded, nothing
from headcount.run import Run

EVENTS: Final = (
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "UserPromptSubmit",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "StopFailure",
    "PermissionRequest",
    "Notification",
)
ROUTE: Final = "/hooks/claude-code"
MOST_WAITING: Final = 10_000
_EXIT_S: Final = 3.0
_OUTCOMES: Final[dict[str, wire.Outcome]] = {
    "completed": "ok",
    "failed": "error",
    "stopped": "cancelled",
    "killed": "killed",
}

M = TypeVar("M")


class Poster:
    """Posts hook bodies in order, from a thread; what cannot be posted after some tries is counted and dropped."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._waiting: Queue[bytes] = Queue(MOST_WAITING)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    @guarded(nothing)
    def put(self, body: bytes) -> None:
        """Take a body without waiting."""
        try:
            self._waiting.put_nowait(body)
        except Full:
            complain("hooks waiting", "headcount: %d hooks wait; the newest is dropped", MOST_WAITING)
            return
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._work, name="headcount-hooks", daemon=True)
                self._thread.start()

    def flush(self, timeout_s: float | None = None) -> None:
        """Wait until everything was posted, at most so long (HEADCOUNT_EXIT_TIMEOUT)."""
        if timeout_s is None:
            timeout_s = _number(os.environ.get("HEADCOUNT_EXIT_TIMEOUT"), _EXIT_S)
        thread = self._thread
        if thread is not None:
            thread.join(timeout_s)

    def _work(self) -> None:
        pause = threading.Event()
        while True:
            try:
                body = self._waiting.get(timeout=0.2)
            except Empty:
                return
            for attempt in range(5):
                try:
                    send(self._url, body)
                    break
                except OSError as error:
                    complain("hook", "headcount: a hook cannot be posted to %s: %s", self._url, error)
                    pause.wait(0.2 * 2**attempt)


def _number(text: str | None, otherwise: float) -> float:
    try:
        return float(text) if text else otherwise
    except ValueError:
        return otherwise


_posters: dict[str, Poster] = {}


def watched(options: ClaudeAgentOptions | None = None, *, url: str | None = None) -> ClaudeAgentOptions:
    """Return the options with hooks that report to the collector at `url` (HEADCOUNT_ENDPOINT); others stay."""
    base = options if options is not None else ClaudeAgentOptions()
    place = url or os.environ.get("HEADCOUNT_ENDPOINT") or "http://127.0.0.1:4318"
    poster = _poster(f"{place.rstrip('/').removesuffix('/v1/traces')}{ROUTE}")

    async def note(body: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        _note(poster, body)
        return {}

    hooks: dict[Any, list[HookMatcher]] = {event: list(given) for event, given in (base.hooks or {}).items()}
    for event in EVENTS:
        hooks.setdefault(event, []).append(HookMatcher(hooks=[note]))  # type: ignore[list-item, unused-ignore]  # any body
    return dataclasses.replace(base, hooks=hooks)


async def messages(stream: AsyncIterable[M]) -> AsyncIterator[M]:
    """Pass a session's messages on, and tell what they prove of its children."""
    reader = _Reader()
    async for message in stream:
        reader.read(message)
        yield message


@guarded(nothing)
def _note(poster: Poster, body: Any) -> None:
    poster.put(json.dumps(body, default=str).encode())


def _poster(url: str) -> Poster:
    poster = _posters.get(url)
    if poster is None:
        poster = _posters[url] = Poster(url)
        atexit.register(poster.flush)
    return poster


class _Reader:
    def __init__(self) -> None:
        self._runs: dict[str, str] = {}
        """Runs by task id: the call that started the task."""
        self._told: set[tuple[str, str]] = set()
        self._noticed: dict[str, str] = {}
        """Tasks whose notices are out, by the id of what the task did last: an agent can be asked again."""

    @guarded(nothing)
    def read(self, message: object) -> None:
        if isinstance(message, AssistantMessage) and message.parent_tool_use_id and message.session_id:
            self._first_token(message.session_id, message.parent_tool_use_id, message.message_id or "")
        elif isinstance(message, StreamEvent) and message.parent_tool_use_id:
            event = message.event
            if event.get("type") == "message_start":
                id = str((event.get("message") or {}).get("id") or "")
                self._first_token(message.session_id, message.parent_tool_use_id, id)
        elif isinstance(message, TaskStartedMessage):
            if message.tool_use_id and message.task_type in (None, "local_agent", "subagent"):
                self._runs[message.task_id] = message.tool_use_id
        elif isinstance(message, TaskNotificationMessage) or (
            isinstance(message, TaskUpdatedMessage) and message.status and message.session_id
        ):
            self._ended(message.task_id, message.session_id, message.status)
            if isinstance(message, TaskNotificationMessage):
                self._noticed[str((message.data or {}).get("run_id") or message.task_id)] = message.task_id
        elif isinstance(message, ResultMessage):
            self._answered(message)

    def _answered(self, message: ResultMessage) -> None:
        """A turn is over. What it says of its origin is the second witness of a hand-over: the hook may be lost."""
        origin = getattr(message, "origin", None) or {}
        if origin.get("kind") != "task-notification":
            return
        notices = [str(origin["runId"])] if origin.get("runId") else list(self._noticed)
        for notice in notices:
            run = self._runs.get(self._noticed.pop(notice, ""))
            if run is not None:
                told = Run(run, message.session_id)
                told.forwarded()
                told.consumed()

    def _first_token(self, session: str, call: str, message: str) -> None:
        if (call, message) not in self._told:
            self._told.add((call, message))
            Child(Run(call, session)).first_token()

    def _ended(self, task: str, session: str, status: str) -> None:
        """The harness says that a task is over: it holds the completion, whether or not its model will see it."""
        run, outcome = self._runs.get(task), _OUTCOMES.get(status)
        if run is not None and outcome is not None and (task, "ended") not in self._told:
            self._told.add((task, "ended"))
            Run(run, session).received(source="notification", outcome=outcome)
