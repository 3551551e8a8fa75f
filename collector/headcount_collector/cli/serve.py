"""`headcount serve`: the collector in one process, until it is told to stop."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from headcount_collector.cli.console import out, told
from headcount_collector.cli.log import configure_logging
from headcount_collector.cli.options import Config
from headcount_collector.errors import HeadcountError
from headcount_collector.settings import Settings, load_settings


class MissingExtra(HeadcountError):
    """A part that the chosen settings need is not installed."""


@told
def serve(
    http: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Where to serve (127.0.0.1:4318); port 0: a free one."),
    ] = None,
    grpc: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT|off", help="Where to serve OTLP/gRPC (127.0.0.1:4317), or off."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder of the embedded store (the platform's user data folder).")
    ] = None,
    store: Annotated[
        str | None, typer.Option(help="A ClickHouse server instead: http(s)://user@host:8123/database.")
    ] = None,
    config: Config = None,
) -> None:
    """Run the collector: OTLP, hooks, API, judgement."""
    settings = load_settings(config, http=http, grpc=grpc, data=data, store=store)
    configure_logging(settings)
    try:
        from headcount_collector.api.server import run_server
    except ImportError as error:
        if (error.name or "headcount").startswith("headcount"):
            raise
        raise MissingExtra(f"{error}; install what serve needs: pip install 'headcount[collector]'") from None
    if settings.store is None or settings.store_location == ":memory:":
        need_engine()
    run_server(settings, lambda serving: _tell(settings, serving.url, serving.grpc))


def need_engine() -> None:
    """Raise MissingExtra where the embedded store is not installed."""
    from importlib.util import find_spec

    if find_spec("chdb") is None:
        raise MissingExtra(
            "the embedded store is not installed: pip install 'headcount[embedded]', or take a ClickHouse "
            "server with --store http://HOST:8123/headcount"
        )


def _tell(settings: Settings, url: str, grpc: str | None) -> None:
    console = out()
    console.print(Text.assemble(("headcount", "bold"), " is ready"))
    for name, value in (
        ("page", f"{url}/"),
        ("OTLP/HTTP", f"{url}/v1/traces"),
        ("OTLP/gRPC", grpc or "off"),
        ("hooks", f"{url}/hooks/claude-code"),
        ("API", f"{url}/api/v1/runs"),
        ("store", settings.store_shown + (" (embedded)" if settings.store is None else "")),
        ("access", _access(settings)),
    ):
        console.print(Text(f"  {name:<10} {value}"), soft_wrap=True)
    default = url == Settings.model_fields["url"].default
    console.print(
        Text("next: " + ("headcount runs" if default else f"headcount runs --url {url}")), soft_wrap=True
    )


def _access(settings: Settings) -> str:
    ways = [
        name
        for name, on in (
            ("client certificate", settings.tls_client_ca is not None),
            ("bearer token", settings.token is not None or settings.token_file is not None),
        )
        if on
    ]
    return " and ".join(ways) or "this machine only"
