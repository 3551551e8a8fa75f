"""Options that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print the document for other programs.")]
Url = Annotated[
    str | None,
    typer.Option(help="The collector to ask (HEADCOUNT_URL; http://127.0.0.1:4318).", show_default=False),
]
Config = Annotated[
    Path | None, typer.Option(help="A headcount.toml to read settings from.", show_default=False)
]
