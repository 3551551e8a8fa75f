"""Compares what a replay file expects with what the judge says; each difference names the line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from headcount_collector.evidence.replay_file import Expectation
from headcount_collector.judge.groups import group_of
from headcount_collector.judge.verdict import Verdict
from headcount_collector.watch.documents import document_of
from headcount_collector.watch.verdicts import member_of

Key = tuple[str, str]

_NO_SEVERITY = {"severity"}


@dataclass(frozen=True, slots=True)
class Miss:
    """One expectation that does not hold."""

    line: int
    at_s: float
    subject: str
    key: str
    expected: object
    found: object

    def __str__(self) -> str:
        return (
            f"line {self.line}, at {self.at_s:g} s: {self.subject}: {self.key} is {_shown(self.found)}, "
            f"expected {_shown(self.expected)}"
        )


@dataclass(frozen=True, slots=True)
class World:
    """What is believed at one tick."""

    verdicts: Mapping[Key, Verdict]
    observer: str
    incidents: Callable[[str, str], Mapping[str, Any] | None] | None = None
    """The latest incident of (session, owner); None where no alerts are installed."""


def misses_of(expectation: Expectation, world: World, t0_ns: int) -> list[Miss] | None:
    """Return what of an expectation does not hold; None where this version does not judge its kind."""
    at_s = (expectation.at_ns - t0_ns) / 1e9
    body = dict(expectation.body)
    if expectation.kind == "run":
        name, session = str(body.pop("run")), body.pop("session", None)
        subject = f"run {name}" + ("" if session is None else f" in {session}")
        named = _named(name, session, world)
        if not named:
            return [Miss(expectation.line, at_s, subject, "run", "known", "unknown")]
        if len(named) > 1:
            sessions = sorted(verdict.session for verdict in named)
            return [Miss(expectation.line, at_s, subject, "session", "given", f"one of {_shown(sessions)}")]
        (found,) = named
        names = {signal.name for signal in found.signals}
        said = document_of(found)
        differences = [
            *((key, value, said[key]) for key, value in body.items() if key not in ("signals", "no_signals")),
            *(("signals", name, sorted(names)) for name in _names(body, "signals") if name not in names),
            *(("no_signals", name, sorted(names)) for name in _names(body, "no_signals") if name in names),
        ]
        differences = [d for d in differences if d[0].endswith("signals") or d[1] != d[2]]
    elif expectation.kind == "group":
        session, owner = str(body.pop("session")), str(body.pop("owner"))
        subject = f"group of {owner or 'the root owner'} in {session}"
        members = [member_of(document_of(v)) for (where, _), v in world.verdicts.items() if where == session]
        group = group_of(session, owner, members)
        differences = [(key, value, getattr(group, key)) for key, value in body.items()]
        differences = [d for d in differences if d[1] != d[2]]
    elif expectation.kind == "observer":
        subject = "observer"
        differences = [("state", body["state"], world.observer)] if body["state"] != world.observer else []
    elif world.incidents is not None:
        session, owner = str(body.pop("session", "")), str(body.pop("owner"))
        subject = f"incident of {owner or 'the root owner'}" + (f" in {session}" if session else "")
        incident = world.incidents(session, owner) or {"state": "none"}
        if isinstance(runs := body.get("runs"), list | tuple):
            body["runs"] = tuple(sorted(runs))
        differences = [(key, value, incident.get(key)) for key, value in body.items()]
        differences = [d for d in differences if d[1] != d[2]]
    else:
        return None
    return [Miss(expectation.line, at_s, subject, key, expected, got) for key, expected, got in differences]


def _named(name: str, session: object, world: World) -> list[Verdict]:
    """Return the runs that an expectation may mean: those of this id, else the first that goes by the name."""
    inside = [v for (where, _), v in sorted(world.verdicts.items()) if session is None or where == session]
    return [v for v in inside if v.run == name] or [v for v in inside if name in v.names][:1]


def _names(body: Mapping[str, object], key: str) -> tuple[str, ...]:
    names = body.get(key)
    return tuple(str(name) for name in names) if isinstance(names, list | tuple) else ()


def _shown(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, list | tuple):
        return ", ".join(str(item) for item in value) or "none"
    return str(value)
