"""The times by which a run is judged: defaults, overrides by session, agent type, service and tool, all as data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

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
_TABLES = ("session", "agent", "service", "tool")


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
            raise PolicyError(f"{name} is no policy key; known keys: {', '.join(sorted(_SETTABLE))}")
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
    """The default times and what overrides them, by name; precedence session, agent type, service, default."""

    default: Times = field(default_factory=Times)
    session: Mapping[str, Mapping[str, int | float]] = field(default_factory=dict)
    agent: Mapping[str, Mapping[str, int | float]] = field(default_factory=dict)
    service: Mapping[str, Mapping[str, int | float]] = field(default_factory=dict)
    _cache: dict[tuple[str, str | None, str], Times] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_mapping(cls, table: Mapping[str, object]) -> Policy:
        """Build a policy from a `[policy]` table; tables `agent`, `session`, `service`, `tool` hold name → keys."""
        flat = {key: value for key, value in table.items() if key not in _TABLES}
        named: dict[str, dict[str, Mapping[str, int | float]]] = {"session": {}, "agent": {}, "service": {}}
        tools: dict[str, int] = {}
        for kind in _TABLES:
            section = table.get(kind, {})
            if not isinstance(section, Mapping):
                raise PolicyError(f"policy.{kind} must be a table of names, not {section!r}")
            for name, keys in section.items():
                if not isinstance(keys, Mapping):
                    raise PolicyError(f"policy.{kind}.{name} must be a table of keys, not {keys!r}")
                found = _settings(keys, f"{kind}.{name}")
                if kind == "tool":
                    if set(found) - {"tool_max"}:
                        raise PolicyError(f"policy.tool.{name} takes only tool_max")
                    tools[str(name)] = int(found["tool_max"])
                else:
                    named[kind][str(name)] = found
        default = replace(Times(), **_settings(flat, ""), tools=tools)  # type: ignore[arg-type]  # validated above
        return cls(default=default, session=named["session"], agent=named["agent"], service=named["service"])

    def times(self, session: str, agent: str | None, service: str) -> Times:
        """Return the times that hold for a run of this session, agent type and service."""
        key = (session if session in self.session else "", agent, service)
        known = self._cache.get(key)
        if known is None:
            known = self.default
            for table, name in ((self.service, service), (self.agent, agent or ""), (self.session, session)):
                if name in table:
                    known = replace(known, **table[name])  # type: ignore[arg-type]  # validated when read
            if len(self._cache) > 10_000:
                self._cache.clear()
            self._cache[key] = known
        return known
