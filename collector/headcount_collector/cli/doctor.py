"""`headcount doctor`: what is wrong with this set-up, and the line that mends it."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import typer
from rich.text import Text

from headcount_collector.cli.client import Client, ClientError
from headcount_collector.cli.console import out, print_json, told
from headcount_collector.cli.options import Config, Json, Url
from headcount_collector.settings import Settings, SettingsError, load_settings

State = Literal["ok", "warning", "wrong"]
_STYLES = {"ok": "green", "warning": "yellow", "wrong": "bold red"}
GROUP = "headcount.doctor"
"""Entry points: functions of the settings that yield (state, what, mend), for what other packages look at."""
_LOW_BYTES = 2 * 1024**3


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    state: State
    what: str
    mend: str = ""


@told
def doctor(as_json: Json = False, url: Url = None, config: Config = None) -> None:
    """Look at settings, installation, data folder, collector and exporters; exit 1 if something is wrong."""
    found = list(findings(config, url))
    if as_json:
        print_json([{"state": one.state, "what": one.what, "mend": one.mend} for one in found])
    else:
        for one in found:
            line = Text.assemble((f"{one.state:<8}", _STYLES[one.state]), one.what)
            out().print(line, soft_wrap=True)
            if one.mend:
                out().print(Text(f"        → {one.mend}"), soft_wrap=True)
    if any(one.state == "wrong" for one in found):
        raise typer.Exit(1)


def findings(config: Path | None, url: str | None) -> Iterator[Finding]:
    """Yield what was found, one after another."""
    try:
        settings = load_settings(config, url=url)
    except SettingsError as error:
        yield Finding("wrong", "the settings cannot be read", str(error))
        return
    yield Finding("ok", "the settings can be read")
    yield from _installed(settings)
    yield from _data(settings)
    yield from _secrets(settings)
    yield from _collector(settings)
    yield from _exporters(settings)
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        for state, what, mend in entry.load()(settings):
            yield Finding(state, what, mend)


def _installed(settings: Settings) -> Iterator[Finding]:
    wanted = [("grpc", "OTLP/gRPC", "grpc", settings.grpc_address is not None)]
    wanted.append(("chdb", "the embedded store", "embedded", not settings.shared_store))
    for module, what, extra, needed in wanted:
        if find_spec(module) is not None:
            yield Finding("ok", f"{what} is installed")
        elif needed:
            state: State = "wrong" if module == "chdb" else "warning"
            yield Finding(state, f"{what} is not installed", f"pip install 'headcount[{extra}]'")


def _data(settings: Settings) -> Iterator[Finding]:
    folder = settings.data
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not os.access(nearest, os.W_OK):
        yield Finding(
            "wrong", f"{nearest} cannot be written", f"chown it, or set HEADCOUNT_DATA; needed for {folder}"
        )
        return
    free = shutil.disk_usage(nearest).free
    if free < _LOW_BYTES:
        yield Finding(
            "warning",
            f"the disk of {folder} has {free // 1024**2} MiB left",
            "make room, or set HEADCOUNT_DISK_BUDGET_GIB or a shorter HEADCOUNT_RETENTION_DAYS",
        )
    else:
        yield Finding("ok", f"{folder} can be written, {free // 1024**3} GiB are free")
    if folder.exists() and os.name == "posix" and stat.S_IMODE(folder.stat().st_mode) & 0o077:
        yield Finding("warning", f"others on this machine can look into {folder}", f"chmod 700 {folder}")


def _secrets(settings: Settings) -> Iterator[Finding]:
    files = [settings.token_file, settings.tls_key]
    if named := os.environ.get("HEADCOUNT_STORE_FILE"):
        files.append(Path(named))
    for file in files:
        if (
            file is not None
            and file.exists()
            and os.name == "posix"
            and stat.S_IMODE(file.stat().st_mode) & 0o077
        ):
            yield Finding("warning", f"others on this machine can read {file}", f"chmod 600 {file}")
    for name, address in (("http", settings.address), ("grpc", settings.grpc_address)):
        if address is not None and not address.loopback and settings.tls_cert is None:
            yield Finding(
                "warning",
                f"{name} = {address} is open to other machines and not encrypted: tokens can be read on the way",
                "set HEADCOUNT_TLS_CERT and HEADCOUNT_TLS_KEY, or let a proxy end TLS",
            )


def _collector(settings: Settings) -> Iterator[Finding]:
    client = Client(settings.url, settings.own_token)
    try:
        client.get("/healthz")
    except ClientError as error:
        yield Finding("wrong", f"no collector answers at {settings.url}", str(error))
        return
    try:
        client.get("/readyz")
    except ClientError as error:
        for reason in error.document.get("reasons", [str(error)]):
            yield Finding("wrong", f"the collector is not ready: {reason}", "its log has the details")
    else:
        yield Finding("ok", f"the collector at {settings.url} takes evidence and judges")
    try:
        runs = client.runs({}, limit=1)
    except ClientError as error:
        yield Finding("wrong", "the collector does not let this command in", str(error))
        return
    if runs.get("total"):
        yield Finding("ok", f"it knows {runs['total']} runs")
    else:
        yield Finding(
            "warning", "it has seen no run yet", "point a harness at it: README, 'Point a harness at it'"
        )


def _exporters(settings: Settings) -> Iterator[Finding]:
    """The variables by which OpenTelemetry's exporters of this environment find their way."""
    endpoint = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or os.environ.get(
        "OTEL_EXPORTER_OTLP_ENDPOINT"
    )
    if not endpoint:
        return
    protocol = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or os.environ.get(
        "OTEL_EXPORTER_OTLP_PROTOCOL", ""
    )
    port = urlsplit(endpoint if "//" in endpoint else f"//{endpoint}").port
    http = urlsplit(settings.url).port
    if protocol == "grpc" and port is not None and port == http:
        yield Finding(
            "wrong",
            f"OTEL_EXPORTER_OTLP_PROTOCOL is grpc, and {endpoint} speaks HTTP",
            "export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf, or the endpoint of OTLP/gRPC (port 4317)",
        )
    elif protocol.startswith("http") and port == 4317:
        yield Finding(
            "wrong",
            f"OTEL_EXPORTER_OTLP_PROTOCOL is {protocol}, and {endpoint} speaks gRPC",
            f"export OTEL_EXPORTER_OTLP_ENDPOINT={settings.url}",
        )
    if settings.own_token and "authorization" not in os.environ.get("OTEL_EXPORTER_OTLP_HEADERS", "").lower():
        yield Finding(
            "warning",
            "the collector wants a token, and OTEL_EXPORTER_OTLP_HEADERS has none",
            "export OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20TOKEN",
        )
