"""The one way to the database: embedded chDB in a folder, or a ClickHouse server by URL."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import clickhouse_connect
from clickhouse_connect.driver.exceptions import ClickHouseError

from headcount_collector.store.errors import StoreError
from headcount_collector.store.lock import FolderLock

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

Connect = Callable[[Mapping[str, object]], "Client"]

# One request may hold spans of many days, and each day is a partition: no limit, since intake bounds the days.
_WRITE_SETTINGS: Mapping[str, object] = {"max_partitions_per_insert_block": 0}


class Store:
    """A database with our tables: read, write, and commit whole OTLP messages.

    Three handles, since a handle serves one call at a time: `query` reads beside `command` and `insert`, and both
    beside `commit`. Every method may be called from any thread; none may be called in a forked child.
    """

    def __init__(self, connect: Connect, database: str, *, readonly_handle: bool = True) -> None:
        self.database = database
        self._connect = connect
        self._closers: list[Callable[[], None]] = []
        self._write = self._handle(_WRITE_SETTINGS, create=True)
        self._read = self._handle({}) if readonly_handle else self._write

    @classmethod
    def open(
        cls, location: str | Path, *, database: str = "headcount", readonly_handle: bool = True
    ) -> Store:
        """Open the store at `location`: a folder, ":memory:", or http(s)://user:password@host:8123/database.

        A folder is locked for this process (StoreLocked names the other one). A process can have one embedded
        store open at a time, ":memory:" included; use `with_database` for more databases in it.
        """
        text = str(location)
        if text.startswith(("http://", "https://")):
            path = urlsplit(text).path.strip("/")
            return cls(_server(text), path or database, readonly_handle=readonly_handle)
        if text == ":memory:":
            return cls(_embedded(text), database, readonly_handle=readonly_handle)
        return cls._open_folder(Path(text), database, readonly_handle)

    @classmethod
    def _open_folder(cls, folder: Path, database: str, readonly_handle: bool) -> Store:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = FolderLock(folder)
        try:
            restore_tempdir = _own_tempdir(folder / "tmp")
            store = cls(_embedded(str(folder / "engine")), database, readonly_handle=readonly_handle)
        except BaseException:
            lock.close()
            raise
        store._closers += [restore_tempdir, lock.close]
        store.tell_port = lock.tell  # type: ignore[method-assign]  # only a folder has somebody to tell
        return store

    def tell_port(self, port: int | None) -> None:
        """Let a process that finds the folder locked name the port this one serves on."""

    def query(self, sql: str, parameters: Mapping[str, object] | None = None) -> list[tuple[Any, ...]]:
        """Return the rows of a SELECT; `parameters` fill `{name:Type}`. Raises StoreError."""
        with _engine_errors("query"):
            rows = self._read.query(sql, parameters=dict(parameters or {})).result_rows
        return [tuple(row) for row in rows]

    def command(self, sql: str, parameters: Mapping[str, object] | None = None) -> None:
        """Run a statement that returns no rows. Raises StoreError."""
        with _engine_errors("command"):
            self._write.command(sql, parameters=dict(parameters or {}))

    def insert(self, table: str, rows: Sequence[Sequence[object]], columns: Sequence[str]) -> None:
        """Insert `rows`, values in the order of `columns`. Raises StoreError."""
        if rows:
            with _engine_errors(f"insert into {table}"):
                self._write.insert(table, rows, column_names=list(columns))

    def commit(self, bodies: Sequence[bytes], received_ns: int) -> None:
        """Write ExportTraceServiceRequest messages to `otel_traces` and every view on it, in one insert.

        Protobuf messages concatenate, so the bodies are joined and the receiver's time is appended as one more
        field. Call it from one thread only. Raises StoreError; `data_at_fault` says if a retry can succeed.
        """
        message = b"".join((*bodies, _RECEIVED_TAG, received_ns.to_bytes(8, "little")))
        with _engine_errors("commit"):
            self._intake.raw_insert("otlp_request", insert_block=message, fmt="ProtobufSingle")

    def with_database(self, database: str) -> Store:
        """Open another database of the same engine, created if missing and not yet migrated."""
        return Store(self._connect, database, readonly_handle=self._read is not self._write)

    def close(self) -> None:
        """Close the handles, then release the folder."""
        while self._closers:
            self._closers.pop(0)()

    @cached_property
    def _intake(self) -> Client:
        schema = files(__package__).joinpath("schema/otlp_request.proto").read_text()
        return self._handle(
            {
                **_WRITE_SETTINGS,
                "format_schema_source": "string",
                "format_schema": schema,
                "format_schema_message_name": "Request",
            }
        )

    def _handle(self, settings: Mapping[str, object], *, create: bool = False) -> Client:
        with _engine_errors("open"):
            client = self._connect(settings)
            self._closers.insert(0, client.close)
            if create:
                client.command(f"CREATE DATABASE IF NOT EXISTS `{self.database}`")
            client.database = self.database
        return client


# Field 1000 of our Request, wire type fixed64: (1000 << 3 | 1) as a varint.
_RECEIVED_TAG = bytes([0xC1, 0x3E])


@contextmanager
def _engine_errors(doing: str) -> Iterator[None]:
    try:
        yield
    except ClickHouseError as error:
        raise StoreError(f"{doing} failed: {error}", code=getattr(error, "code", None)) from error


def _embedded(path: str) -> Connect:
    def connect(settings: Mapping[str, object]) -> Client:
        return clickhouse_connect.get_client(interface="chdb", path=path, settings=dict(settings))

    return connect


def _server(url: str) -> Connect:
    parts = urlsplit(url)

    def connect(settings: Mapping[str, object]) -> Client:
        return clickhouse_connect.get_client(
            interface=parts.scheme,
            host=parts.hostname or "localhost",
            port=parts.port or (8443 if parts.scheme == "https" else 8123),
            username=unquote(parts.username) if parts.username else None,
            password=unquote(parts.password or ""),
            settings=dict(settings),
            autogenerate_session_id=False,
        )

    return connect


def _own_tempdir(folder: Path) -> Callable[[], None]:
    """Keep the batches that the embedded client spools away from /tmp: after kill -9 telemetry would stay there."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    before, tempfile.tempdir = tempfile.tempdir, str(folder)

    def restore() -> None:
        tempfile.tempdir = before

    return restore
