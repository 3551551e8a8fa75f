"""Settings of the shim: arguments of `configure` first, then HEADCOUNT_… variables, then OTEL_… ones."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.sdk.trace.export import SpanExporter

from headcount.guard import complain

_TRUE = frozenset({"1", "true", "yes", "on"})
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
