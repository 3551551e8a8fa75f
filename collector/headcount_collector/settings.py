"""Everything that can be set, read once at the start: options, environment, secret files, `headcount.toml`."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from platformdirs import user_data_path
from pydantic import (
    BeforeValidator,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)
from pydantic_settings import (
    SettingsError as PydanticSettingsError,
)

from headcount_collector.access import TokenError, Tokens, tokens_in
from headcount_collector.addresses import Address, AddressError, parse_address
from headcount_collector.errors import HeadcountError
from headcount_collector.judge.policy import Policy, PolicyError

PREFIX = "HEADCOUNT_"
CAPTURE_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The switch that the GenAI instrumentations read; it holds here too, unless HEADCOUNT_CAPTURE_CONTENT is set."""
SECRETS = ("store",)
"""Settings that a `…_FILE` variable can name a file for."""
_FILE_TABLE = "file_table"
_CAPTURE_WORDS = {"span_only": True, "event_only": True, "span_and_event": True, "no_content": False}


class SettingsError(HeadcountError):
    """A setting that cannot be used; the text names the variable, option or key, and what it takes."""


def _capture(value: object) -> object:
    return _CAPTURE_WORDS.get(value.strip().lower(), value) if isinstance(value, str) else value


def _lower(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


def _data_folder() -> Path:
    return user_data_path("headcount", appauthor=False)


class Settings(BaseSettings):
    """The settings of the collector and of the commands that ask it. Build with `load_settings`."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
    )

    http: str = Field(
        "127.0.0.1:4318",
        description="Where OTLP/HTTP, hooks and API are served, `HOST:PORT`; port 0 takes a free one. "
        "Anything but loopback needs a token",
    )
    grpc: str | None = Field(
        None,
        description="Where OTLP/gRPC is served, `HOST:PORT`, or `off`. Anything but loopback needs a token",
    )
    data: Path = Field(
        default_factory=_data_folder,
        description="Folder of the embedded store, and of hooks on their way into it",
    )
    store: SecretStr | None = Field(
        None,
        description="`http(s)://user:password@host:8123/database` of a ClickHouse server, or `:memory:`",
    )
    cluster: str | None = Field(
        None,
        pattern=r"^\w+$",
        description="Name of the ClickHouse cluster to make replicated and distributed tables on",
    )
    retention_days: int = Field(30, ge=1, le=3650, description="Days after which evidence is deleted")
    tick_s: float = Field(
        1.0, ge=0.05, le=60, description="Seconds between two judgements of what changed or is due"
    )
    token: SecretStr | None = Field(
        None,
        description="Bearer token that requests must carry, at least 16 characters; several are separated by commas",
    )
    token_file: Path | None = Field(
        None, description="File of bearer tokens, one a line; read again when it changes"
    )
    tls_cert: Path | None = Field(
        None, description="Certificate (PEM, with its chain) to serve HTTPS and gRPC over TLS with"
    )
    tls_key: Path | None = Field(None, description="The certificate's private key (PEM)")
    tls_client_ca: Path | None = Field(
        None, description="Certificates (PEM) that must have signed a client's own; others are not let in"
    )
    requests_per_s: float = Field(
        0.0,
        ge=0,
        description="Requests a second that each token may send, bursts of two seconds; 0: no limit",
    )
    queue_mib: int = Field(
        128,
        ge=1,
        le=4096,
        description="MiB of requests that may wait for the store; above, senders are told to retry",
    )
    queue_requests: int = Field(1024, ge=1, le=100_000, description="How many requests they may be")
    disk_budget_gib: float = Field(
        0.0,
        ge=0,
        description="GiB that the store may hold; above, the oldest days of raw evidence go, but not from tables that "
        "`schema attach` found; 0: no limit",
    )
    sql: bool = Field(
        False, description="Serve read-only SQL for dashboards on the embedded store at `/clickhouse/`"
    )
    log_format: Annotated[Literal["text", "json"], BeforeValidator(_lower)] = Field(
        "text", description="How `serve` logs: a line of text, or one JSON object a line"
    )
    capture_content: Annotated[bool, BeforeValidator(_capture)] = Field(
        False,
        description=f"Keep prompts, results and tool arguments that senders include; `{CAPTURE_VARIABLE}` "
        "does the same",
    )
    content_attributes: tuple[str, ...] | None = Field(
        None,
        description="Names of attributes that carry content and are dropped, as a JSON list; a `*` at the end "
        "stands for any rest",
    )
    log_level: Annotated[Literal["debug", "info", "warning", "error"], BeforeValidator(_lower)] = Field(
        "info", description="How much `serve` logs to standard error"
    )
    url: str = Field(
        "http://127.0.0.1:4318", description="The collector that `runs`, `run` and their like ask"
    )
    grafana_url: str = Field(
        "",
        description="Where Grafana is: pages and messages link to its dashboards; empty: no links",
    )
    grafana_public_url: str = Field("", description="Where people open Grafana, if not at `grafana_url`")
    alerts: dict[str, Any] = Field(
        default_factory=dict,
        description="Who is told of what: a table `[alerts]` in the file; `headcount alerts check` reads it",
    )
    policy: dict[str, Any] = Field(
        default_factory=dict,
        description="The times by which runs are judged: a table `[policy]` in the file, or one variable "
        "for each key, as `HEADCOUNT_POLICY__EXPECTED=20m`",
    )

    @field_validator("http", "grpc")
    @classmethod
    def _check_address(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is None:
            return None
        if info.field_name == "grpc" and value.strip().lower() == "off":
            return "off"
        try:
            parse_address(value)
        except AddressError as error:
            raise ValueError(str(error)) from None
        return value

    @field_validator("url", "grafana_url", "grafana_public_url")
    @classmethod
    def _check_url(cls, value: str, info: ValidationInfo) -> str:
        if value and not value.startswith(("http://", "https://")):
            port = 4318 if info.field_name == "url" else 3000
            raise ValueError(f"{value!r} is no URL; write one like http://127.0.0.1:{port}")
        return value.rstrip("/")

    @field_validator("store")
    @classmethod
    def _check_store(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not value.get_secret_value().startswith(("http://", "https://", ":memory:")):
            raise ValueError(
                "write http(s)://host:8123/database or :memory:; a folder is given by data (--data)"
            )
        return value

    @field_validator("token")
    @classmethod
    def _check_token(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            try:
                tokens_in(value.get_secret_value().replace(",", "\n"), "")
            except TokenError as error:
                raise ValueError(str(error).removeprefix(": ")) from None
        return value

    @field_validator("token_file")
    @classmethod
    def _check_token_file(cls, value: Path | None) -> Path | None:
        if value is not None:
            try:
                Tokens(file=value)
            except TokenError as error:
                raise ValueError(str(error)) from None
        return value

    @field_validator("tls_cert", "tls_key", "tls_client_ca")
    @classmethod
    def _check_pem(cls, value: Path | None) -> Path | None:
        if value is not None:
            try:
                found = b"-----BEGIN " in value.read_bytes()
            except OSError as error:
                raise ValueError(f"cannot read {value}: {error.strerror}") from None
            if not found:
                raise ValueError(f"{value} is no PEM file")
        return value

    @field_validator("content_attributes")
    @classmethod
    def _check_names(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if value is not None:
            # Only here: a command that asks a collector must not load the store's client.
            from headcount_collector.store.content import content_pattern

            content_pattern(value)
        return value

    @field_validator("policy")
    @classmethod
    def _check_policy(cls, value: dict[str, Any]) -> dict[str, Any]:
        try:
            Policy.from_mapping(value)
        except PolicyError as error:
            raise ValueError(str(error)) from None
        return value

    @model_validator(mode="after")
    def _others_need_a_token(self) -> Settings:
        if self.sql and self.shared_store:
            raise ValueError("sql is for the embedded store: let dashboards ask the ClickHouse server itself")
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("tls_cert and tls_key go together: set both, or neither")
        if self.tls_client_ca is not None and self.tls_cert is None:
            raise ValueError("tls_client_ca needs tls_cert and tls_key: clients are only asked over TLS")
        if self.token is not None or self.token_file is not None or self.tls_client_ca is not None:
            return self
        for name, address in (("http", self.address), ("grpc", self.grpc_address)):
            if address is not None and not address.loopback:
                raise ValueError(
                    f"{name} = {address} is open to other machines and needs a token: set {PREFIX}TOKEN or "
                    f"{PREFIX}TOKEN_FILE, or serve on 127.0.0.1"
                )
        return self

    @property
    def address(self) -> Address:
        """Where to listen."""
        return parse_address(self.http)

    @property
    def grpc_address(self) -> Address | None:
        """Where to listen for gRPC; None where it is off. By default beside `http`: 4317, or a free port beside one."""
        if self.grpc is None:
            return Address(self.address.host, 4317 if self.address.port else 0)
        return None if self.grpc == "off" else parse_address(self.grpc)

    @property
    def tokens(self) -> Tokens:
        """The tokens that requests may carry; reads the file."""
        given = () if self.token is None else tokens_in(self.token.get_secret_value().replace(",", "\n"), "")
        return Tokens(given, self.token_file)

    @property
    def own_token(self) -> str | None:
        """The token that commands send: the first."""
        return self.tokens.first

    @property
    def judged_by(self) -> Policy:
        """The policy as the judgement takes it."""
        return Policy.from_mapping(self.policy)

    @property
    def dashboards_url(self) -> str:
        """Where links to dashboards lead; "" for none."""
        return self.grafana_public_url or self.grafana_url

    @property
    def shared_store(self) -> bool:
        """Whether other processes may write into the store, or judge, too."""
        return self.store_location.startswith(("http://", "https://"))

    @property
    def store_location(self) -> str:
        """What `Store.open` takes; may hold a password."""
        return str(self.data) if self.store is None else self.store.get_secret_value()

    @property
    def store_shown(self) -> str:
        """The store's location without user and password."""
        scheme, found, rest = self.store_location.partition("://")
        return f"{scheme}://{rest.rpartition('@')[2]}" if found else self.store_location

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Let options win over variables, plain variables over `…_FILE` ones, and these over the file's table."""
        options = dict(init_settings())
        table = options.pop(_FILE_TABLE, {})
        return (
            InitSettingsSource(settings_cls, init_kwargs=options),
            env_settings,
            _VariablesBeside(settings_cls),
            InitSettingsSource(settings_cls, init_kwargs=table),
        )


class _VariablesBeside(PydanticBaseSettingsSource):
    """Variables that are not `HEADCOUNT_<field>`: secrets in files, and the instrumentations' capture switch."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        variable = variable_of(field_name) + "_FILE"
        if field_name in SECRETS and (path := os.environ.get(variable)):
            try:
                return Path(path).read_text(encoding="utf-8").strip(), field_name, False
            except (OSError, UnicodeDecodeError) as error:
                raise SettingsError(f"{variable}={path}: cannot read the secret: {error}") from None
        if field_name == "capture_content":
            return os.environ.get(CAPTURE_VARIABLE) or None, field_name, False
        return None, field_name, False

    def __call__(self) -> dict[str, Any]:
        found = {name: self.get_field_value(f, name)[0] for name, f in self.settings_cls.model_fields.items()}
        return {name: value for name, value in found.items() if value is not None}


def load_settings(config: Path | None = None, **options: object) -> Settings:
    """Build the settings. `options` that are None were not given. Raises SettingsError naming what is wrong."""
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    table = _read_file(config) if config is not None else {}
    try:
        return Settings(**{**given, _FILE_TABLE: table})
    except ValidationError as error:
        lines = [_line(problem, given, config, table) for problem in error.errors(include_url=False)]
        raise SettingsError("\n".join(lines)) from None
    except PydanticSettingsError as error:
        named = re.search(r'field "(\w+)"', str(error))
        variable = variable_of(named[1]) if named else PREFIX + "*"
        raise SettingsError(f"{variable}: what it holds is not the JSON that it takes") from error


def variable_of(name: str) -> str:
    """Return the environment variable of a setting."""
    return PREFIX + name.upper()


def _read_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"--config {path}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"--config {path} is not TOML: {error}") from None


def _line(
    problem: ErrorDetails, given: Mapping[str, object], config: Path | None, table: Mapping[str, object]
) -> str:
    """Say where the bad value came from, and what is wrong with it."""
    message = problem["msg"].removeprefix("Value error, ")
    if not problem["loc"]:
        return message
    name = str(problem["loc"][0])
    if name in given:
        where = "--" + name.replace("_", "-")
    elif name in table and not _in_environment(name):
        where = f"{config}: {name}"
    elif name in SECRETS and variable_of(name) not in os.environ:
        where = variable_of(name) + "_FILE"
    elif name == "capture_content" and variable_of(name) not in os.environ:
        where = CAPTURE_VARIABLE
    else:
        where = variable_of(name)
    if problem["type"] == "extra_forbidden":
        message = f"no such setting; there are {', '.join(Settings.model_fields)}"
    return f"{where}: {message}"


def _in_environment(name: str) -> bool:
    variable = variable_of(name)
    return any(key.upper() == variable or key.upper().startswith(variable + "_") for key in os.environ)
