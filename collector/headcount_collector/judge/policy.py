"""The times by which a run is judged: defaults, overrides by session, agent type, service and tool, all as data.

Names in the tables `session`, `agent` and `service` may be patterns (`ci-*`); the exact name wins, then the first pattern
of the table that matches. The tables `attended` and `unattended` hold for sessions at which a person sits, or not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase

from headcount_collector.errors import HeadcountError

SECOND = 1_000_000_000
_UNITS = {"ms": SECOND // 1000, "s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND, "d": 86400 * SECOND}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)")


class PolicyError(HeadcountError):
    """A policy that cannot be used; the text names the key and what it takes."""


@dataclass(frozen=True, slots=True)
class Times:
    """Every threshold of one run in nanoseconds (`overdue` may be a multiple of `expected`); domain contract, section 4."""

    expected: int = 15 * 60 * SECOND
    overdue: int = 0
    overdue_factor: float = 4.0
    delivery_grace: int = 30 * SECOND
    blocked_after: int = 15 * 60 * SECOND
    start_within: int = 120 * SECOND
    zero_progress: int = 180 * SECOND
    first_token: int = 60 * SECOND
    idle: int = 600 * SECOND
    tool_max: int = 1800 * SECOND
    liveness: int = 90 * SECOND
    human_wait: int = 300 * SECOND
    human_wait_attended: int = 3600 * SECOND
    queue_wait: int = 120 * SECOND
    wait_max: int = 1800 * SECOND
    consume: int = 300 * SECOND
    kill_backstop: int = 30 * SECOND
    repeat_limit: int = 5
    skew: int = 30 * SECOND
    window: int = 600 * SECOND
    warm_up: int = 60 * SECOND
    storm: int = 5
    ack_for: int = 4 * 3600 * SECOND
    re_escalate: int = 8 * 3600 * SECOND
    tools: Mapping[str, int] = field(default_factory=dict)
    """`tool_max` by tool name."""

    def tool_limit(self, tool: str) -> int:
        """Return the longest time in nanoseconds that one call of `tool` may be in flight."""
        return self.tools.get(tool, self.tool_max)


_COUNTS = {"repeat_limit", "storm"}
_SETTABLE = {f.name for f in fields(Times)} - {"overdue_factor", "tools"}
_NAMED = ("session", "agent", "service")
_ATTENDANCE = ("attended", "unattended")
_TABLES = (*_NAMED, "tool", *_ATTENDANCE)
Overrides = Mapping[str, int | float]
"""Times of `Times` by name."""


def parse_duration(value: object, key: str) -> int:
    """Read "15m", "1h30m", "500ms" or a number of seconds as nanoseconds; PolicyError names `key`."""
    if isinstance(value, bool):
        raise PolicyError(f'{key} = {value!r} is no duration; write one like "90s", "15m" or "1h30m"')
    if isinstance(value, int | float) and value >= 0:
        return round(value * SECOND)
    if isinstance(value, str):
        text = value.strip().lower()
        parts = _DURATION.findall(text)
        if parts and _DURATION.sub("", text).strip() == "":
            return sum(round(float(number) * _UNITS[unit]) for number, unit in parts)
    raise PolicyError(f'{key} = {value!r} is no duration; write one like "90s", "15m" or "1h30m"')


def _settings(table: Mapping[str, object], where: str) -> dict[str, int | float]:
    found: dict[str, int | float] = {}
    for key, value in table.items():
        name = f"{where}.{key}" if where else key
        if key not in _SETTABLE:
            near = get_close_matches(key, _SETTABLE, 1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise PolicyError(f"{name} is no policy key; {hint}known keys: {', '.join(sorted(_SETTABLE))}")
        if key in _COUNTS:
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise PolicyError(f"{name} = {value!r} is no count; write a whole number from 1")
            found[key] = value
        elif key == "overdue" and isinstance(value, str) and value.strip().lower().endswith("x"):
            try:
                found["overdue_factor"] = float(value.strip()[:-1])
            except ValueError:
                raise PolicyError(f'{name} = {value!r} is no multiple; write one like "4x"') from None
            found["overdue"] = 0
        else:
            found[key] = parse_duration(value, name)
    return found


@dataclass(frozen=True, slots=True)
class Policy:
    """The default times and what overrides them; precedence session, attendance, agent type, service, default."""

    default: Times = field(default_factory=Times)
    session: Mapping[str, Overrides] = field(default_factory=dict)
    agent: Mapping[str, Overrides] = field(default_factory=dict)
    service: Mapping[str, Overrides] = field(default_factory=dict)
    attended: Overrides = field(default_factory=dict)
    unattended: Overrides = field(default_factory=dict)
    _cache: dict[tuple[str, str | None, str, bool], Times] = field(
        default_factory=dict, repr=False, compare=False
    )

    @classmethod
    def from_mapping(cls, table: Mapping[str, object]) -> Policy:
        """Build a policy from a `[policy]` table.

        Tables `session`, `agent`, `service` and `tool` hold name → keys; `attended` and `unattended` hold keys.
        """
        flat = {key: value for key, value in table.items() if key not in _TABLES}
        named = {
            kind: {
                name: _settings(keys, f"{kind}.{name}") for name, keys in _named_tables(table, kind).items()
            }
            for kind in _NAMED
        }
        tools: dict[str, int] = {}
        for name, keys in _named_tables(table, "tool").items():
            if set(keys) != {"tool_max"}:
                raise PolicyError(f"policy.tool.{name} takes tool_max and nothing else")
            tools[name] = int(_settings(keys, f"tool.{name}")["tool_max"])
        attendance = {kind: _settings(_table(table, kind), kind) for kind in _ATTENDANCE}
        if "human_wait" in attendance["attended"]:
            # What holds where a person sits has a name of its own among the defaults; here it needs none.
            attendance["attended"].setdefault("human_wait_attended", attendance["attended"]["human_wait"])
        default = replace(Times(), **_settings(flat, ""), tools=tools)  # type: ignore[arg-type]  # validated above
        return cls(
            default,
            named["session"],
            named["agent"],
            named["service"],
            attendance["attended"],
            attendance["unattended"],
        )

    def times(self, session: str, agent: str | None, service: str, attended: bool = False) -> Times:
        """Return the times that hold for a run of this session, agent type and service."""
        key = (session if self.session else "", agent, service, attended)
        known = self._cache.get(key)
        if known is None:
            known = self.default
            for _, overrides in reversed(list(self.sources(session, agent, service, attended))):
                known = replace(known, **overrides)  # type: ignore[arg-type]  # validated when read
            if len(self._cache) > 10_000:
                self._cache.clear()
            self._cache[key] = known
        return known

    def sources(
        self, session: str, agent: str | None, service: str, attended: bool = False
    ) -> Iterator[tuple[str, Overrides]]:
        """Yield what overrides the defaults for such a run as (source, times), the one that wins first."""
        yield "session", _of(self.session, session)
        yield ("attended", self.attended) if attended else ("unattended", self.unattended)
        yield "agent", _of(self.agent, agent or "")
        yield "service", _of(self.service, service)


def _of(table: Mapping[str, Overrides], name: str) -> Overrides:
    """Return the keys of a name: its own, else those of the first pattern that matches it."""
    if name in table or not table:
        return table.get(name, {})
    return next((keys for pattern, keys in table.items() if name and fnmatchcase(name, pattern)), {})


def _table(table: Mapping[str, object], kind: str) -> Mapping[str, object]:
    found = table.get(kind, {})
    if not isinstance(found, Mapping):
        holds = "keys" if kind in _ATTENDANCE else "names"
        raise PolicyError(f"policy.{kind} must be a table of {holds}, not {found!r}")
    return found


def _named_tables(table: Mapping[str, object], kind: str) -> dict[str, Mapping[str, object]]:
    found: dict[str, Mapping[str, object]] = {}
    for name, keys in _table(table, kind).items():
        if not isinstance(keys, Mapping):
            raise PolicyError(f"policy.{kind}.{name} must be a table of keys, not {keys!r}")
        found[str(name)] = keys
    return found
