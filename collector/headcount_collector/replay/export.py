"""Writes a run and its surroundings as a replay file that reproduces the verdict elsewhere and checks that it does."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from headcount_collector.evidence.moment import moment_ns, moment_text
from headcount_collector.evidence.record import Record
from headcount_collector.evidence.short_line import line_of
from headcount_collector.judge.policy import SECOND, Overrides, Policy, Times

_EXPECTED = ("status", "class", "leaning", "severity", "outcome", "quality")
_COUNTS = frozenset({"repeat_limit", "storm"})
_ASIDE = frozenset({"overdue_factor", "tools"})


@dataclass(frozen=True, slots=True)
class Recording:
    """What a replay of one run needs.

    `arrivals` are (receiver time, record) in order of arrival; `services` the service of each agent type that they
    dispatch; `heard` the agent types of which some child was heard elsewhere, so that a silence here means something;
    `outages` and `sleeps` when the collector was away and when its host slept, `blind_from` since when nothing was heard.
    Silences are not needed: they keep messages back, and no verdict knows of them.
    """

    document: Mapping[str, Any]
    arrivals: tuple[tuple[int, Record], ...]
    services: Mapping[str, str]
    heard: frozenset[str] = frozenset()
    outages: tuple[tuple[int, int], ...] = ()
    sleeps: tuple[tuple[int, int], ...] = ()
    blind_from: int = 0


def replay_lines(recording: Recording, policy: Policy, tick_s: float) -> Iterator[str]:
    """Yield the lines of the file: header, evidence, and what the judge said at its last look as expectation."""
    document = recording.document
    judged_ns = moment_ns(document["judged_at"])
    first_ns = min((received for received, _ in recording.arrivals), default=judged_ns)
    absences = list(_absences(recording, judged_ns))
    t0_ns = (min([first_ns, judged_ns, *(since for _, since, _ in absences)]) // SECOND) * SECOND
    until_ns = max([judged_ns, *(received for received, _ in recording.arrivals)])
    until_s = -(-(until_ns - t0_ns) // SECOND)
    header = {
        "replay": 1,
        "t0": moment_text(t0_ns),
        "title": f"{document['run']} in session {document['session']}, {document['status']}",
        "policy": policy_table(policy, document["session"], recording.services),
        "tick_s": tick_s,
        "until_s": until_s,
    }
    yield _json(header)
    for line in _kinds(recording.heard):
        yield _json(line)
    lines = [line_of(record, received_ns, t0_ns) for received_ns, record in recording.arrivals]
    controls = [line for absence in absences for line in _controls(*absence, t0_ns)]
    yield from map(_json, sorted([*controls, *lines], key=lambda line: line["at"]))
    yield _json({"at": until_s, "expect": _expectation(document)})


def _absences(recording: Recording, judged_ns: int) -> Iterator[tuple[str, int, int]]:
    """Yield (kind, since, until) of when the collector heard nothing, as far as it concerns the run."""
    first_ns = min((record.at_ns for _, record in recording.arrivals), default=judged_ns)
    outages = list(recording.outages)
    if recording.document["held"] and not any(until > recording.blind_from for _, until in outages):
        # Not the collector was away, but every producer silent: to the judge that is one and the same.
        outages.append((recording.blind_from, judged_ns - 1))
    found = [("outage", max(since, first_ns), until) for since, until in outages]
    found += [("sleep", since, until) for since, until in recording.sleeps if since >= first_ns]
    yield from (absence for absence in found if absence[1] < absence[2] < judged_ns)


def _controls(kind: str, since: int, until: int, t0_ns: int) -> Iterator[dict[str, Any]]:
    def at(moment: int) -> float:
        return round((moment - t0_ns) / SECOND, 3)

    if kind == "sleep":
        yield {"at": at(since), "sleep_s": round((until - since) / SECOND, 3)}
    else:
        yield {"at": at(since), "collector": "down"}
        yield {"at": at(until), "collector": "up"}


def _expectation(document: Mapping[str, Any]) -> dict[str, object]:
    return {
        "run": document["run"],
        **{key: document[key] for key in _EXPECTED},
        "signals": sorted({signal["name"] for signal in document["signals"]}),
    }


def _kinds(agents: Iterable[str]) -> Iterator[dict[str, object]]:
    """Let one child of each of these agent types be heard, in a session of its own."""
    for agent in sorted(agents):
        run = {"run": f"a {agent} heard elsewhere", "session": "heard elsewhere"}
        yield {"at": 0, "event": "dispatch", **run, "agent": agent, "mode": "foreground"}
        yield {"at": 0, "event": "start", **run}
        yield {"at": 0, "event": "child_done", **run, "outcome": "ok", "size": 1}
        yield {"at": 0, "event": "completion_forwarded", **run, "forwarded": True}


def policy_table(policy: Policy, session: str, services: Mapping[str, str]) -> dict[str, object]:
    """Return the policy that holds in one session as a table of a replay file; what is default is left out.

    Records of a replay name no service, so what a service overrides is given to its agent types.
    """
    table: dict[str, object] = _differences(policy.default, Times())
    tools = policy.default.tools
    if tools:
        table["tool"] = {name: {"tool_max": _duration(limit)} for name, limit in tools.items()}
    agents = {}
    for agent, service in services.items():
        if own := _merged(policy, "", agent, service, ("service", "agent")):
            agents[agent] = _told(own)
    if agents:
        table["agent"] = agents
    if own := _merged(policy, session, None, "", ("session",)):
        table["session"] = {session: _told(own)}
    for kind, overrides in (("attended", policy.attended), ("unattended", policy.unattended)):
        if overrides:
            table[kind] = _told(overrides)
    return table


def _merged(
    policy: Policy, session: str, agent: str | None, service: str, kinds: Collection[str]
) -> dict[str, int | float]:
    merged: dict[str, int | float] = {}
    for kind, overrides in reversed(list(policy.sources(session, agent, service))):
        if kind in kinds:
            merged |= overrides
    return merged


def _told(overrides: Overrides) -> dict[str, object]:
    """Return overrides as they are written in a file."""
    found: dict[str, object] = {
        name: value if name in _COUNTS else _duration(int(value))
        for name, value in overrides.items()
        if name != "overdue_factor" and not (name == "overdue" and value == 0)
    }
    if "overdue_factor" in overrides and not overrides.get("overdue"):
        found["overdue"] = f"{overrides['overdue_factor']:g}x"
    return found


def _differences(times: Times, base: Times) -> dict[str, object]:
    found: dict[str, object] = {}
    for name in (field.name for field in fields(Times) if field.name not in _ASIDE):
        value = getattr(times, name)
        if value != getattr(base, name):
            found[name] = value if name in _COUNTS else _duration(value)
    if times.overdue_factor != base.overdue_factor:
        found["overdue"] = f"{times.overdue_factor:g}x"
    return found


def _duration(length_ns: int) -> str:
    whole, rest = divmod(length_ns, SECOND)
    return f"{whole}s" if rest == 0 else f"{length_ns // 1_000_000}ms"


def _json(line: Mapping[str, object]) -> str:
    return json.dumps(line, ensure_ascii=False, separators=(", ", ": "))
