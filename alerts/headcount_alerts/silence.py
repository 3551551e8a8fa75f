"""Silences: what people do not want to hear of for a while. A silence defers; it closes nothing."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache

from headcount_alerts.conditions import Condition
from headcount_alerts.errors import AlertsConfigError
from headcount_alerts.incident import Incident, Member
from headcount_alerts.origins import ENVIRONMENT, SESSION

MATCHED = (
    "session",
    "owner",
    "agent",
    "service",
    "run",
    "child",
    "status",
    "class",
    "signal",
    "severity",
    "incident",
    ENVIRONMENT,
)
"""What a matcher can look at, beside `session.NAME`, the attributes of a session."""

_MATCHER = re.compile(r"\s*([\w.-]+?)\s*(=~|!~|!=|=)\s*(.*?)\s*", re.DOTALL)
_ESCAPED = re.compile(r"\\([\\\"n])")


@dataclass(frozen=True, slots=True)
class Matcher:
    """One comparison: `op` is =, !=, =~ or !~; regular expressions match the whole value."""

    name: str
    op: str
    value: str

    def holds(self, labels: Mapping[str, Iterable[str]]) -> bool:
        """Tell whether the labels match; a label can have several values, and an absent one is empty."""
        values = tuple(labels.get(self.name, ())) or ("",)
        if self.op in ("=", "!="):
            found = self.value in values
        else:
            found = any(_pattern(self.value).fullmatch(value) for value in values)
        return found if self.op in ("=", "=~") else not found

    def __str__(self) -> str:
        value = self.value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'{self.name}{self.op}"{value}"'


@lru_cache(maxsize=1024)
def _pattern(value: str) -> re.Pattern[str]:
    return re.compile(value, re.DOTALL)


def parse_label(name: str) -> str:
    """Return the name of a label that incidents have. Raises AlertsConfigError."""
    if name not in MATCHED and not name.startswith(SESSION):
        near = get_close_matches(name, MATCHED, 1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise AlertsConfigError(
            f"{name!r} cannot be matched; {hint}there are {', '.join(MATCHED)}, "
            "and session.NAME for an attribute of the session"
        )
    return name


def parse_matcher(text: str) -> Matcher:
    """Read `agent="reviewer"` or `agent=~"rev.*"`; quotes may be left out. Raises AlertsConfigError."""
    found = _MATCHER.fullmatch(text)
    if found is None:
        raise AlertsConfigError(
            f'{text!r} is no matcher; write one like agent="reviewer" or class=~"owner_.*"'
        )
    name, op, value = found.groups()
    try:
        parse_label(name)
    except AlertsConfigError as error:
        raise AlertsConfigError(f"{text!r}: {error}") from None
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        quote, value = value[0], value[1:-1]
        if quote == '"':  # as Alertmanager reads it: any other backslash is one
            value = _ESCAPED.sub(lambda found: "\n" if found[1] == "n" else found[1], value)
    if op in ("=~", "!~"):
        try:
            _pattern(value)
        except re.error as error:
            raise AlertsConfigError(f"{text!r}: {value!r} is no regular expression: {error}") from None
    return Matcher(name, op, value)


def labels_of(
    incident: Incident, member: Member | None, condition: Condition | None
) -> dict[str, tuple[str, ...]]:
    """Return what matchers see of one condition of one run, or of an incident without runs."""
    labels: dict[str, tuple[str, ...]] = {
        "session": (incident.session,),
        "owner": (incident.owner,),
        "severity": (incident.severity,),
        "incident": (incident.id, incident.fleet) if incident.fleet else (incident.id,),
    }
    if member is not None:
        facts = member.facts
        labels |= {
            "session": (member.session,),
            "owner": tuple(dict.fromkeys((str(facts.get("owner") or ""), incident.owner))),
            "agent": (str(facts.get("agent") or ""),),
            "service": (str(facts.get("service") or ""),),
            "run": (member.run, *facts.get("names", ())),
            "child": tuple(facts.get("children", ())),
            "status": (str(facts.get("status") or ""),),
            "class": (str(facts.get("class") or ""),),
            **{name: (str(value),) for name, value in facts.get("origin", {}).items()},
        }
    if condition is not None:
        labels["severity"] = (condition.severity,)
        labels["signal" if condition.kind == "signal" else "class"] = (condition.name,)
    elif member is None:
        labels["class"] = (incident.kind,)
    return labels


@dataclass(frozen=True, slots=True)
class Silence:
    """Matchers that all have to hold, from `since` to `until` (nanoseconds); `by` and `reason` are for people."""

    id: str
    matchers: tuple[Matcher, ...]
    since: int
    until: int
    by: str = ""
    reason: str = ""

    def active(self, now: int) -> bool:
        """Tell whether it holds now."""
        return self.since <= now < self.until

    def covers(self, labels: Mapping[str, Iterable[str]]) -> bool:
        """Tell whether every matcher holds."""
        return all(matcher.holds(labels) for matcher in self.matchers)

    def ended(self, at: int) -> Silence:
        """Return it ended at a moment."""
        return replace(self, until=min(self.until, at))


def new_silence(
    matchers: Iterable[Matcher], since: int, until: int, *, by: str = "", reason: str = ""
) -> Silence:
    """Return a silence with an id of its own. Raises AlertsConfigError where it would hide everything or nothing."""
    chosen = tuple(matchers)
    if not any(matcher.op in ("=", "=~") and matcher.value not in ("", ".*", ".+") for matcher in chosen):
        raise AlertsConfigError(
            "a silence of everything hides everything; give it a matcher such as agent=NAME"
        )
    if until <= since:
        raise AlertsConfigError("a silence must end after it begins")
    return Silence(secrets.token_hex(6), chosen, since, until, by, reason)
