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
_FREQUENT = frozenset({"tool_call", "heartbeat", "first_token"})
_TEAMMATE_ID = re.compile(r"a(?P<name>.+)-[0-9a-f]{16}", re.DOTALL)


class Absorbed(Protocol):
    """A task notification that an agent took up in the middle of a turn, as its transcript shows it."""

    @property
    def at_ns(self) -> int: ...
    @property
    def text(self) -> str: ...


class Join(Protocol):
    """The call that dispatched an agent, and whether it was not known before."""

    @property
    def run(self) -> str: ...
    @property
    def news(self) -> bool: ...


class Disk(Protocol):
    """What the harness keeps on its machine's disk, where that is the collector's machine too."""

    def join_of_agent(self, transcript_path: str, session: str, agent_id: str) -> Join | None:
        """Return the call that dispatched an agent, None where it is not told."""

    def resumed(self, session: str, agent_id: str, call: str) -> None:
        """Take note that an agent works for another call from now on."""

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
class Speaker:
    """The child that speaks in a hook: `run` is under which name its run is known so far, `alias` its other name."""

    agent_id: str
    agent_type: str
    run: str
    alias: str | None = None
    news: bool = False
    teammate: str | None = None

    @classmethod
    def of(cls, body: Mapping[str, object], session: str, disk: Disk | None) -> Speaker | None:
        """Return who speaks; None for an agent that the harness runs for itself, which has no type.

        A teammate is known by its name, which the answer to its dispatch tells: its type is its name, and its id
        is `a<name>-<16 hex>`. Any other child is known by the call that dispatched it where the harness's own
        notes tell that, else by its agent id, which the answer to the call joins later.
        """
        agent_id, agent_type = name_at(body, "agent_id"), name_at(body, "agent_type")
        if agent_id is None or agent_type is None:
            return None
        match = _TEAMMATE_ID.fullmatch(agent_id)
        if match is not None and match["name"] == agent_type:
            return cls(agent_id, agent_type, teammate_run(agent_type), agent_id, teammate=agent_type)
        path = text_at(body, "transcript_path")
        if disk is not None and path is not None:
            join = disk.join_of_agent(path, session, agent_id)
            if join is not None:
                return cls(agent_id, agent_type, join.run, agent_id, join.news)
        return cls(agent_id, agent_type, agent_id)


@dataclass(frozen=True, slots=True)
class Hook:
    """A hook call. `session` is never empty; `speaker` is None where the root agent speaks."""

    body: Mapping[str, object]
    received_ns: int
    session: str
    speaker: Speaker | None
    capture_content: bool = False
    disk: Disk | None = None

    @property
    def agent_id(self) -> str | None:
        return self.speaker.agent_id if self.speaker is not None else None

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

    def of_child(
        self,
        event: str,
        attributes: Attributes | None = None,
        *,
        phase: str | None = None,
        start_ns: int | None = None,
        producer: str | None = None,
    ) -> Record:
        """Return a record about the run in which the speaking child works.

        The agent id is named as a further name of the run by rare events and when it is news: what the frequent
        ones name would have to be kept row by row.
        """
        speaker = self.speaker
        if speaker is None:
            raise ValueError("the root agent works in no run")
        told: Attributes = {wire.CHILD_SESSION: self.agent_id, **(attributes or {})}
        if speaker.alias is not None and (speaker.news or event not in _FREQUENT):
            told = {wire.ALIAS: (speaker.alias,), **told}
        return self.record(event, speaker.run, told, phase=phase, start_ns=start_ns, producer=producer)


def teammate_run(name: str) -> str:
    """Return the name of a teammate's run in its session; harness ids never begin so."""
    return f"@{name}"
