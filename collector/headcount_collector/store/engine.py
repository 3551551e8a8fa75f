"""The two engines behind one client: how a handle is opened, and how the engine learns OTLP's message schema."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import clickhouse_connect

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

Settings = Mapping[str, object]

_MESSAGE_SCHEMA = files(__package__).joinpath("schema/otlp_request.proto")


# What the embedded engine may hold, in bytes: its own defaults are those of a server, 5 GiB a cache, and marks are many
# in tables of small granules. Merges that would need more wait.
_BOUNDS = {
    "mark_cache_size": 384 * 1024**2,
    "primary_index_cache_size": 256 * 1024**2,
    "index_mark_cache_size": 64 * 1024**2,
    "query_condition_cache_size": 32 * 1024**2,
    "compiled_expression_cache_size": 32 * 1024**2,
    "merges_mutations_memory_usage_soft_limit": 512 * 1024**2,
}


# On a cluster: a subquery about a table that is spread is asked once and its answer goes to every shard, else the server
# refuses it; and an insert is done when the shards have it, or it would be acknowledged too early.
OF_A_SERVER: Settings = {"distributed_product_mode": "global", "distributed_foreground_insert": 1}


@dataclass(frozen=True, slots=True)
class Engine:
    """What the store needs of an engine: open a handle, and the settings with which it reads our protobuf message."""

    connect: Callable[[Settings], Client]
    message_schema: Settings


def embedded(path: str, backups: Path | None = None) -> Engine:
    """Run chDB in this process on `path` (a folder or ":memory:"); one path a process.

    The engine writes and reads backups below `backups` only, and not at all where it is None.
    """
    options = {name: str(size) for name, size in _BOUNDS.items()}
    if backups is not None:
        options["backups.allowed_path"] = str(backups.resolve())

    def connect(settings: Settings) -> Client:
        return clickhouse_connect.get_client(
            interface="chdb", path=path, settings=dict(settings), chdb_options=options
        )

    # By file: given as a string, chDB would write a copy into the current directory, whatever that is.
    with as_file(_MESSAGE_SCHEMA) as file:
        return Engine(connect, {"format_schema": f"{file.resolve()}:Request"})


def server(url: str) -> Engine:
    """Talk to the ClickHouse server at `url`, http(s)://user:password@host:port/database."""
    parts = urlsplit(url)

    def connect(settings: Settings) -> Client:
        return clickhouse_connect.get_client(
            interface=parts.scheme,
            host=parts.hostname or "localhost",
            port=parts.port or (8443 if parts.scheme == "https" else 8123),
            username=unquote(parts.username) if parts.username else None,
            password=unquote(parts.password or ""),
            settings={**OF_A_SERVER, **settings},
            autogenerate_session_id=False,
        )

    inline = {
        "format_schema_source": "string",
        "format_schema": _MESSAGE_SCHEMA.read_text(),
        "format_schema_message_name": "Request",
    }
    return Engine(connect, inline)


def own_temporary_folder(folder: Path) -> Callable[[], None]:
    """Make `folder` (emptied) this process's temporary folder and return what undoes it.

    The embedded client spools each insert to a temporary file; after kill -9 telemetry would stay behind in /tmp.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    before, tempfile.tempdir = tempfile.tempdir, str(folder)

    def restore() -> None:
        tempfile.tempdir = before

    return restore
