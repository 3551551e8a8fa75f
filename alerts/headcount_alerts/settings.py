"""The tables `[alerts]` of `headcount.toml`: receivers with their channels, the tree of routes, quiet times."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails

from headcount_alerts.errors import AlertsConfigError
from headcount_alerts.hours import Hours, parse_hours
from headcount_alerts.silence import Matcher, parse_label, parse_matcher
from headcount_collector.errors import HeadcountError
from headcount_collector.judge.policy import SECOND, parse_duration

T = TypeVar("T")

NOTIFIER = "HEADCOUNT_NOTIFIER"
"""The variable that says who tells people: `headcount`, or `grafana` with the rules that headcount gives it."""
NOBODY = "nobody"
"""The receiver that takes everything and tells no one."""


def _told(read: Callable[[str], T]) -> Callable[[object], T]:
    """Let pydantic name the key of what a parser refuses; numbers are read as they would be written."""

    def parse(value: object) -> T:
        try:
            return read(value if isinstance(value, str) else repr(value))
        except HeadcountError as error:
            raise ValueError(str(error)) from None

    return parse


def _duration_s(value: object) -> float:
    try:
        return parse_duration(value, "it") / SECOND
    except HeadcountError as error:
        raise ValueError(str(error)) from None


def _label(name: str) -> str:
    try:
        return parse_label(name)
    except HeadcountError as error:
        raise ValueError(str(error)) from None


_hours = _told(lambda text: parse_hours(text, "it"))
_matcher = _told(parse_matcher)

Seconds = Annotated[float, BeforeValidator(_duration_s)]
HoursText = Annotated[Hours, BeforeValidator(_hours)]
LabelText = Annotated[str, AfterValidator(_label)]
MatcherText = Annotated[Matcher, BeforeValidator(_matcher)]


class _Table(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, arbitrary_types_allowed=True
    )


class _Channel(_Table):
    rate_per_minute: int = Field(30, ge=1, le=6000, description="Messages a minute at most")
    timeout_s: Seconds = Field(10.0, description="How long the peer may take to answer")
    give_up_after: Seconds = Field(3600.0, description="A message that could not be sent for so long is dead")


def _secret(table: _Table, name: str) -> SecretStr | None:
    """Return a secret, from its file where `<name>_file` is given."""
    given: SecretStr | None = getattr(table, name)
    path: Path | None = getattr(table, f"{name}_file")
    if path is None:
        return given
    try:
        return SecretStr(path.read_text(encoding="utf-8").strip())
    except (OSError, UnicodeDecodeError) as error:
        raise AlertsConfigError(f"{name}_file = {path}: cannot read the secret: {error}") from None


class SlackChannel(_Channel):
    """A bot (`token` and `channel`), or an incoming webhook (`webhook`)."""

    type: Literal["slack"]
    token: SecretStr | None = None
    token_file: Path | None = None
    channel: str | None = None
    signing_secret: SecretStr | None = Field(None, description="Of the app; with it the message has a button")
    signing_secret_file: Path | None = None
    webhook: SecretStr | None = None
    webhook_file: Path | None = None
    api: str = Field("https://slack.com/api/", description="Where the Web API is")

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        bot = self.token is not None or self.token_file is not None
        if bot == (self.webhook is not None or self.webhook_file is not None):
            raise ValueError("give either token and channel (a bot) or webhook")
        if bot and not self.channel:
            raise ValueError("a bot needs the channel to write to")
        return self


class WebhookChannel(_Channel):
    """A POST of our own JSON, signed where a secret is given."""

    type: Literal["webhook"]
    url: SecretStr | None = None
    url_file: Path | None = None
    secret: SecretStr | None = None
    secret_file: Path | None = None
    headers: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _has_url(self) -> Self:
        if self.url is None and self.url_file is None:
            raise ValueError("give url or url_file")
        return self


class AlertmanagerChannel(_Channel):
    """Prometheus' Alertmanager, by its API v2."""

    type: Literal["alertmanager"]
    url: str
    labels: dict[str, str] = Field(default_factory=dict)
    hold: Seconds = Field(300.0, description="How long an alert lasts there without being sent again")


class AppriseChannel(_Channel):
    """Any service that apprise knows, by its URL."""

    type: Literal["apprise"]
    url: SecretStr | None = None
    url_file: Path | None = None

    @model_validator(mode="after")
    def _has_url(self) -> Self:
        if self.url is None and self.url_file is None:
            raise ValueError("give url or url_file; https://github.com/caronc/apprise/wiki lists them")
        return self


class NudgeChannel(_Channel):
    """Tells the owner's harness, not a person: a POST, or a command that reads the text on standard input."""

    type: Literal["nudge"]
    url: SecretStr | None = None
    url_file: Path | None = None
    command: tuple[str, ...] = ()
    at_most: int = Field(2, ge=1, le=20, description="Nudges for one incident")

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.url is not None or self.url_file is not None) == bool(self.command):
            raise ValueError("give either url or command")
        return self


CHANNEL_TABLES = (SlackChannel, WebhookChannel, AlertmanagerChannel, AppriseChannel, NudgeChannel)
ChannelTable = Annotated[
    SlackChannel | WebhookChannel | AlertmanagerChannel | AppriseChannel | NudgeChannel,
    Field(discriminator="type"),
]


class Receiver(_Table):
    """Some channels under one name."""

    channels: tuple[ChannelTable, ...] = Field(min_length=1)


class Route(_Table):
    """One node of the tree: what it takes, whom it tells at which step, and its children, the first that matches first."""

    match: tuple[MatcherText, ...] = ()
    receiver: str | None = Field(None, description="Who is told first; inherited")
    second: str | None = Field(None, description="Who is reminded; the receiver where none is given")
    escalation: str | None = Field(None, description="Who is told last; the second where none is given")
    window: Seconds | None = Field(None, description="Step of the ladder, instead of the policy's")
    group: tuple[LabelText, ...] | None = Field(
        None, description="Labels; incidents in which these are equal are told as one; inherited"
    )
    group_wait: Seconds | None = Field(
        None, description="How long a new group gathers before it is told (30 s)"
    )
    group_interval: Seconds | None = Field(
        None, description="How long after a message the next may tell of what joined the group (5 m)"
    )
    active: tuple[HoursText, ...] = Field((), description="Hours outside of which messages wait; inherited")
    go_on: bool = Field(False, alias="continue", description="Whether later siblings are asked too")
    routes: tuple[Route, ...] = ()


class Maintenance(_Table):
    """Hours in which what matches is not told."""

    match: tuple[MatcherText, ...] = Field(min_length=1)
    hours: tuple[HoursText, ...] = Field(min_length=1)


class AlertSettings(_Table):
    """Everything under `[alerts]`. Build with `load_alerts`."""

    url: str | None = Field(
        None, description="Where people reach this collector; links in messages begin with it"
    )
    receivers: dict[str, Receiver] = Field(default_factory=dict)
    route: Route | None = None
    fallback: str | None = Field(
        None, description="Receiver that is told when a message could not be sent at all"
    )
    maintenance: tuple[Maintenance, ...] = ()
    templates: Path | None = Field(
        None, description="Folder with templates that replace ours of the same name"
    )
    deadman: SecretStr | None = Field(
        None, description="URL that is asked for while all is well (healthchecks.io)"
    )
    deadman_file: Path | None = None
    deadman_every: Seconds = Field(60.0, description="Seconds between two of these")

    @model_validator(mode="after")
    def _names_exist(self) -> Self:
        known = {*self.receivers, NOBODY}
        if self.receivers and self.route is None:
            raise ValueError("there are receivers and no route: add [alerts.route] with a receiver")
        if self.route is not None and self.route.receiver is None:
            raise ValueError("route.receiver is missing: what nobody else takes has to go somewhere")
        for where, name in _named(self):
            if name not in known:
                raise ValueError(
                    f"{where} = {name!r}: there is no such receiver; {_meant(name, known)}"
                    f"there are {', '.join(sorted(known))}"
                )
        return self


def secret_of(table: _Table, name: str) -> str | None:
    """Return the plain text of a secret, or None where it is not set. Raises AlertsConfigError."""
    found = _secret(table, name)
    return None if found is None else found.get_secret_value()


def load_alerts(table: Mapping[str, Any]) -> AlertSettings:
    """Read the table `[alerts]`; without receivers where Grafana notifies. Raises AlertsConfigError naming the key."""
    try:
        found = AlertSettings.model_validate(dict(table))
        return found.model_copy(update=_SILENT) if _grafana_notifies() else found
    except ValidationError as error:
        raise AlertsConfigError("\n".join(_said(problem) for problem in error.errors())) from None
    except HeadcountError as error:
        raise AlertsConfigError(f"alerts: {error}") from None


def _said(problem: ErrorDetails) -> str:
    """Name the key of a problem and the way out."""
    where = f"alerts{''.join(f'.{part}' for part in problem['loc'])}"
    if problem["type"] != "extra_forbidden":
        return f"{where}: {problem['msg'].removeprefix('Value error, ')}"
    known = {
        field.alias or name
        for table in (AlertSettings, Receiver, Route, Maintenance, *CHANNEL_TABLES)
        for name, field in table.model_fields.items()
    }
    return f"{where}: there is no such key; {_meant(str(problem['loc'][-1]), known)}docs/alerts.md lists them"


def _meant(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, known, 1)
    return f"did you mean {near[0]}? " if near else ""


_SILENT: Mapping[str, Any] = {"receivers": {}, "route": None, "fallback": None}


def _grafana_notifies() -> bool:
    said = os.environ.get(NOTIFIER, "").strip().lower()
    if said not in ("", "headcount", "grafana"):
        raise AlertsConfigError(f"{NOTIFIER}={said}: write headcount or grafana")
    return said == "grafana"


def _named(settings: AlertSettings) -> list[tuple[str, str]]:
    found = [("fallback", settings.fallback)] if settings.fallback else []
    queue = [("route", settings.route)] if settings.route is not None else []
    while queue:
        where, route = queue.pop()
        for key in ("receiver", "second", "escalation"):
            name = getattr(route, key)
            if name is not None:
                found.append((f"{where}.{key}", name))
        queue += [(f"{where}.routes.{place}", child) for place, child in enumerate(route.routes)]
    return [(where, name) for where, name in found if name is not None]
