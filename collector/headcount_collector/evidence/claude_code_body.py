"""One hook call of Claude Code as it was posted: lenient reading of its fields, and records in its name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from . import wire
from .digest import text_bytes
from .record import AttributeValue, Record

SERVICE = "claude-code"
AGENT_TOOLS = frozenset({"Agent", "Task"})
"""The tool that dispatches a sub-agent; `Task` is its name in older versions."""

ID_LIMIT = 512
_LONGEST_CALL_MS = 7 * 86_400_000
_TEAMMATE_ID = re.compile(r"a(?P<name>.+)-[0-9a-f]{16}", re.DOTALL)


class Absorbed(Protocol):
    """A task notification that an agent took up in the middle of a turn, as its transcript shows it."""

    @property
    def at_ns(self) -> int: ...
    @property
    def text(self) -> str: ...


class Disk(Protocol):
    """What the harness keeps on its machine's disk, where that is the collector's machine too."""

    def run_of_agent(self, transcript_path: str, session: str, agent_id: str) -> str | None:
        """Return the tool call that dispatched an agent, None where it is not told."""

    def absorbed(self, transcript_path: str, received_ns: int) -> Sequence[Absorbed]:
        """Return the notifications that the agent of this transcript took up in the middle of its turns."""


Attributes = Mapping[str, AttributeValue | None]


def table_at(values: Mapping[str, object], key: str) -> Mapping[str, object]:
    """Return the object under `key`, an empty one where there is none."""
    found = values.get(key)
    return found if isinstance(found, dict) else {}


def text_at(values: Mapping[str, object], key: str) -> str | None:
    """Return the string under `key`; None where there is none."""
    found = values.get(key)
    return found if isinstance(found, str) else None


def name_at(values: Mapping[str, object], key: str) -> str | None:
    """Return an id or name under `key`: a string that is not empty and fits a key of the store; None otherwise."""
    found = values.get(key)
    return found if isinstance(found, str) and 0 < len(text_bytes(found)) <= ID_LIMIT else None


@dataclass(frozen=True, slots=True)
class Hook:
    """A hook call. `session` is never empty; `agent_id` is None where the root agent speaks."""

    body: Mapping[str, object]
    received_ns: int
    session: str
    agent_id: str | None
    agent_type: str | None
    capture_content: bool = False
    disk: Disk | None = None

    @property
    def tool(self) -> str:
        return name_at(self.body, "tool_name") or ""

    @property
    def call(self) -> str | None:
        return name_at(self.body, "tool_use_id")

    @property
    def input(self) -> Mapping[str, object]:
        return table_at(self.body, "tool_input")

    @property
    def response(self) -> Mapping[str, object]:
        return table_at(self.body, "tool_response")

    @property
    def dispatches(self) -> bool:
        """The hook is about a call that dispatches a sub-agent."""
        return self.tool in AGENT_TOOLS and self.call is not None

    @property
    def began_ns(self) -> int | None:
        """When the tool call of this hook began, from the duration that the harness measured."""
        length = self.body.get("duration_ms")
        if isinstance(length, bool) or not isinstance(length, int | float):
            return None
        if not 0 <= length <= _LONGEST_CALL_MS:
            return None
        return self.received_ns - int(length * 1_000_000)

    @property
    def teammate(self) -> str | None:
        """The teammate's name, if one speaks: its type is its name, and its id is `a<name>-<16 hex>`."""
        match = _TEAMMATE_ID.fullmatch(self.agent_id or "")
        return self.agent_type if match is not None and match["name"] == self.agent_type else None

    def record(
        self,
        event: str,
        run: str | None = None,
        attributes: Attributes | None = None,
        *,
        phase: str | None = None,
        start_ns: int | None = None,
        at_ns: int | None = None,
        producer: str | None = None,
    ) -> Record:
        """Return a record at the time of receipt (hooks tell none of their own); attributes that are None are left out.

        Its identity follows from all of it, time included: harnesses do not retry hooks, so two equal bodies are
        two events.
        """
        found: dict[str, AttributeValue] = {
            key: value for key, value in (attributes or {}).items() if value is not None
        }
        found[wire.PRODUCER] = producer or f"{SERVICE}:{self.session}"
        at_ns = self.received_ns if at_ns is None else at_ns
        return Record(event, at_ns, run, self.session, found, start_ns, phase, SERVICE)

    def child_run(self) -> tuple[str, tuple[str, ...]]:
        """Return under which name the speaking child's run is known so far, and the further names of it.

        A teammate is known by its name, which the answer to its dispatch tells. Any other child by the call that
        dispatched it where the harness's own notes tell that, else by its agent id, which the answer to the call
        joins later.
        """
        agent_id = self.agent_id or ""
        if self.teammate is not None:
            return teammate_run(self.teammate), (agent_id,)
        path = text_at(self.body, "transcript_path")
        if self.disk is not None and path is not None:
            run = self.disk.run_of_agent(path, self.session, agent_id)
            if run is not None:
                return run, (agent_id,)
        return agent_id, ()

    def of_child(
        self,
        event: str,
        attributes: Attributes | None = None,
        *,
        phase: str | None = None,
        start_ns: int | None = None,
        producer: str | None = None,
    ) -> Record:
        """Return a record about the run in which the speaking child works."""
        run, alias = self.child_run()
        told = {wire.ALIAS: alias or None, wire.CHILD_SESSION: self.agent_id, **(attributes or {})}
        return self.record(event, run, told, phase=phase, start_ns=start_ns, producer=producer)


def teammate_run(name: str) -> str:
    """Return the name of a teammate's run in its session; harness ids never begin so."""
    return f"@{name}"
