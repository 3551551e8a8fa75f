"""Settings of the shim: arguments of `configure` first, then HEADCOUNT_… variables, then OTEL_… ones."""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.sdk.trace.export import SpanExporter

from headcount.guard import complain

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})
_OTEL_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_CONTENT_ON_SPANS = _TRUE | {"span_only", "span_and_event"}


@dataclass(frozen=True, slots=True)
class Settings:
    """What one pipeline is built from; see `headcount.configure` for the meaning of each."""

    endpoint: str | None = None
    service_name: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    capture_content: bool = False
    disabled: bool = False
    queue_size: int = 8192
    linger_s: float = 0.1
    exit_timeout_s: float = 3.0
    spool: Path | None = None
    spool_bytes: int = 64 << 20
    heartbeat_s: float = 0.0
    exporter: Callable[[], SpanExporter] | None = None
    span_processors: Sequence[SpanProcessor] = ()
    clock: Callable[[], int] = time.time_ns


def traces_url(endpoint: str) -> str:
    """Return the OTLP/HTTP address for traces: a base URL gets `/v1/traces`, one with a path stays as it is."""
    scheme, separator, rest = endpoint.partition("://")
    if not separator or scheme not in ("http", "https") or not rest:
        raise ValueError(f"endpoint {endpoint!r} is no http(s) URL; give one like http://127.0.0.1:4318")
    _, _, path = rest.partition("/")
    return endpoint if path else f"{endpoint.rstrip('/')}/v1/traces"


def endpoint_from_environment() -> str | None:
    """Return HEADCOUNT_ENDPOINT, or None to leave the choice to the OTEL_… variables."""
    return os.environ.get("HEADCOUNT_ENDPOINT") or None


def headers_from_environment() -> dict[str, str]:
    """Return the authorization header for HEADCOUNT_TOKEN or the token in HEADCOUNT_TOKEN_FILE."""
    token = os.environ.get("HEADCOUNT_TOKEN")
    if not token and (path := os.environ.get("HEADCOUNT_TOKEN_FILE")):
        try:
            with open(path, encoding="utf-8") as file:
                token = file.read().strip()
        except OSError as error:
            complain("HEADCOUNT_TOKEN_FILE", "headcount: HEADCOUNT_TOKEN_FILE cannot be read: %s", error)
    return {"authorization": f"Bearer {token}"} if token else {}


def flag(name: str, accepted: frozenset[str] = _TRUE) -> bool:
    """Tell whether an environment variable is switched on."""
    return os.environ.get(name, "").strip().lower() in accepted


def number(name: str, default: float, least: float) -> float:
    """Return a number from the environment; a bad one is reported by name and replaced by the default."""
    raw = os.environ.get(name, "").strip()
    if not raw:
        return default
    try:
        value = float(raw)
    except ValueError:
        value = float("nan")
    if value >= least:
        return value
    complain(name, "headcount: %s=%r is no number of at least %s; %s is used", name, raw, least, default)
    return default


def capture_from_environment() -> bool:
    """Read the content switch as the GenAI instrumentations do (booleans and the newer named values)."""
    return flag("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", _CONTENT_ON_SPANS)


def disabled_by_environment() -> bool:
    """Tell whether OTEL_SDK_DISABLED or HEADCOUNT_DISABLED switches everything off."""
    return flag("OTEL_SDK_DISABLED") or flag("HEADCOUNT_DISABLED")


def spool_from_environment(endpoint: str | None) -> Path | None:
    """Return the folder for what waits for this destination: below HEADCOUNT_SPOOL or the user's state folder.

    None where HEADCOUNT_SPOOL is off, or there is no home to keep it in.
    """
    chosen = os.environ.get("HEADCOUNT_SPOOL", "").strip()
    if chosen.lower() in _FALSE:
        return None
    if chosen:
        return destination_folder(Path(chosen), endpoint)
    home = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return destination_folder(Path(home, "headcount", "spool"), endpoint) if os.path.isabs(home) else None


def destination_folder(folder: Path, endpoint: str | None) -> Path:
    """Return a folder of its own for each destination: what waits for one collector never goes to another."""
    where = endpoint or next(filter(None, map(os.environ.get, _OTEL_ENDPOINTS)), "default")
    return folder / f"{zlib.crc32(where.rstrip('/').encode()):08x}"
