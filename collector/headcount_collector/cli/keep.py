"""`headcount backup` and `headcount restore`: the embedded store out of harm's way, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from headcount_collector.cli.client import Client
from headcount_collector.cli.console import out, told
from headcount_collector.cli.options import Config, Url
from headcount_collector.settings import load_settings


@told
def backup(
    name: Annotated[
        str | None, typer.Argument(help="Name of the backup; by default the time.", show_default=False)
    ] = None,
    url: Url = None,
    config: Config = None,
) -> None:
    """Have a running collector write a backup of its embedded store; prints the folder, on its machine."""
    document = Client.of(load_settings(config, url=url)).post(
        "/api/v1/backups", {} if name is None else {"name": name}
    )
    out().print(Text(str(document["path"])), soft_wrap=True)


@told
def restore(
    source: Annotated[
        Path, typer.Argument(metavar="BACKUP", help="The folder that `headcount backup` printed.")
    ],
    data: Annotated[Path, typer.Option(help="Data folder that holds no store yet; made if missing.")],
) -> None:
    """Put a backup into a new data folder, for `headcount serve --data` to serve from."""
    from headcount_collector.cli.serve import need_engine

    need_engine()
    from headcount_collector.store.backup import restore as put_back

    spans = put_back(source, data)
    out().print(Text(f"{spans} spans restored; next: headcount serve --data {data}"), soft_wrap=True)
