"""What dashboards and rules are made for: the data source, the links, and who notifies. From the environment only."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from headcount_dashboards.errors import DashboardsError

PREFIX = "HEADCOUNT_GRAFANA_"
NOTIFIER = "HEADCOUNT_NOTIFIER"
SECRETS = (
    "token",
    "clickhouse_password",
    "slack_url",
    "discord_url",
    "teams_url",
    "telegram_token",
    "webhook_url",
)
"""Settings that a `…_FILE` variable can name a file for. None is ever written into rendered files."""


CHANNEL_SECRETS = ("slack_url", "discord_url", "teams_url", "telegram_token", "webhook_url")
"""Those of them that make a channel of the contact point."""


class GrafanaSettings(BaseSettings):
    """The settings of `headcount grafana`, `HEADCOUNT_GRAFANA_…`. Build with `load_settings`."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, extra="forbid", frozen=True, hide_input_in_errors=True
    )

    url: str = Field("http://127.0.0.1:3000", description="Where Grafana is")
    token: SecretStr | None = Field(None, description="Token of a service account with the role Admin")
    folder: str = Field("headcount", min_length=1, description="Title of the folder of everything of ours")
    public_url: str = Field(
        "", description="Where people open Grafana, for links in messages; empty: as `url`"
    )
    page_url: str = Field("", description="Where headcount's own page is, for links; empty: no links")
    datasource_uid: str = Field(
        "headcount-clickhouse",
        pattern=r"^[A-Za-z0-9_-]{1,40}$",
        description="Data source that the rules ask and the dashboards begin with",
    )
    manage_datasource: bool = Field(
        True, description="Whether to make and keep that data source; false where it exists already"
    )
    clickhouse_host: str = Field("localhost", description="Where Grafana, not this machine, finds ClickHouse")
    clickhouse_port: int = Field(9000, ge=1, le=65535)
    clickhouse_protocol: Literal["native", "http"] = "native"
    clickhouse_path: str = Field(
        "",
        description="Path of its HTTP interface; `/clickhouse/` for the SQL that `headcount serve` offers itself",
    )
    clickhouse_secure: bool = False
    clickhouse_user: str = "default"
    clickhouse_password: SecretStr | None = None
    clickhouse_database: str = Field("headcount", pattern=r"^[A-Za-z0-9_]+$")
    notifier: Literal["headcount", "grafana"] = Field(
        "headcount",
        validation_alias=AliasChoices("notifier", NOTIFIER),
        description="Who tells people: with `headcount` Grafana's rules on runs are made, but paused, and only "
        "headcount's own silence is told by Grafana",
    )
    receiver: str = Field(
        "",
        description="Name of an existing contact point to use instead of one that is made from what follows",
    )
    slack_url: SecretStr | None = Field(None, description="Incoming webhook of Slack")
    discord_url: SecretStr | None = Field(None, description="Webhook of Discord")
    teams_url: SecretStr | None = Field(None, description="Workflow URL of Microsoft Teams")
    telegram_token: SecretStr | None = Field(None, description="Token of a Telegram bot")
    telegram_chat: str = Field("", description="Chat of that bot")
    webhook_url: SecretStr | None = Field(None, description="Any other receiver of Grafana's webhook JSON")
    email: str = Field("", description="Addresses, separated by semicolons")

    @field_validator("url", "public_url", "page_url")
    @classmethod
    def _check_url(cls, value: str) -> str:
        if value and (not value.startswith(("http://", "https://")) or not urlsplit(value).hostname):
            raise ValueError(f"{value!r} is no URL; write one like http://127.0.0.1:3000")
        return value.rstrip("/")

    @model_validator(mode="after")
    def _telegram_is_a_pair(self) -> Self:
        if (self.telegram_token is None) != (self.telegram_chat == ""):
            raise ValueError(f"{PREFIX}TELEGRAM_TOKEN and {PREFIX}TELEGRAM_CHAT go together")
        return self

    @model_validator(mode="after")
    def _who_notifies_needs_a_receiver(self) -> Self:
        if self.notifies and not self.receiver and not self.channels:
            raise ValueError(
                f"{NOTIFIER}=grafana, and nobody to tell: set {PREFIX}SLACK_URL, {PREFIX}EMAIL or another channel, "
                f"or {PREFIX}RECEIVER to the name of an existing contact point"
            )
        return self

    @property
    def channels(self) -> bool:
        """Whether a contact point is to be made."""
        return bool(self.email) or any(getattr(self, name) is not None for name in CHANNEL_SECRETS)

    @property
    def notifies(self) -> bool:
        """Whether Grafana tells people of runs."""
        return self.notifier == "grafana"


def load_settings(**options: object) -> GrafanaSettings:
    """Build the settings; options that are None were not given. Raises DashboardsError naming what is wrong."""
    given: dict[str, Any] = _secret_files()
    given |= {name: value for name, value in options.items() if value is not None}
    try:
        return GrafanaSettings(**given)
    except ValidationError as error:
        raise DashboardsError("\n".join(_lines(error))) from None


def variable_of(name: str) -> str:
    """Return the environment variable of a setting."""
    return NOTIFIER if name == "notifier" else PREFIX + name.upper()


def _secret_files() -> dict[str, Any]:
    found = {}
    for name in SECRETS:
        variable = variable_of(name)
        if (path := os.environ.get(variable + "_FILE")) and not os.environ.get(variable):
            try:
                found[name] = Path(path).read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                raise DashboardsError(f"{variable}_FILE={path}: cannot read the secret: {error}") from None
    return found


def _lines(error: ValidationError) -> list[str]:
    lines = []
    for problem in error.errors(include_url=False, include_input=False):
        message = problem["msg"].removeprefix("Value error, ")
        where = (
            f"{variable_of(str(problem['loc'][0]).removeprefix(PREFIX).lower())}: " if problem["loc"] else ""
        )
        if problem["loc"] and problem["loc"][0] == NOTIFIER:
            where = f"{NOTIFIER}: "
        lines.append(where + message)
    return lines
