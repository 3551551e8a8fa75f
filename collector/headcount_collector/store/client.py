"""The one way to the database: embedded chDB in a folder, or a ClickHouse server by URL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from clickhouse_connect.driver.exceptions import ClickHouseError

from headcount_collector.store.dashboards import DashboardSql
from headcount_collector.store.engine import Engine, Settings, embedded, own_temporary_folder, server
from headcount_collector.store.errors import StoreError
from headcount_collector.store.lock import FolderLock

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

# One commit may hold spans of many days, and each day is a partition: no limit, since intake bounds the days.
_WRITE: Settings = {"max_partitions_per_insert_block": 0}

# For commits. JSON of array and map attributes: plain slashes, and a NaN that stays seen. Both branches of every
# condition are computed, which is a fifth faster over columns; a view may not lean on a condition to avoid an error.
# Views that read the same rows are worked out at once where a core is free.
_COMMIT: Settings = {
    **_WRITE,
    "output_format_json_escape_forward_slashes": 0,
    "output_format_json_quote_denormals": 1,
    "short_circuit_function_evaluation": "disable",
    "parallel_view_processing": 1,
}

# Field 1000 of our Request, wire type fixed64: (1000 << 3 | 1) as a varint.
_RECEIVED_TAG = bytes([0xC1, 0x3E])


class Store:
    """A database with our tables: read, write, and commit whole OTLP messages.

    Several handles, since a handle serves one call at a time: `query` reads beside `command` and `insert`, and both
    beside `commit`, of which each that is under way has its own. Every method may be called from any thread; none may
    be called in a forked child.
    """

    def __init__(self, engine: Engine, database: str, *, readonly_handle: bool = True) -> None:
        self.database = database
        self._engine = engine
        self.folder: Path | None = None
        """The data folder of an embedded store."""
        self._lock: FolderLock | None = None
        self._closers: list[Callable[[], None]] = []
        self._idle: list[Client] = []
        try:
            self._write = self._handle(_WRITE, create=True)
            self._read = self._handle({}) if readonly_handle else self._write
        except BaseException:
            self.close()
            raise

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
            return cls(server(text), path or database, readonly_handle=readonly_handle)
        if text == ":memory:":
            return cls(embedded(text), database, readonly_handle=readonly_handle)
        return cls._open_folder(Path(text), database, readonly_handle)

    @classmethod
    def _open_folder(cls, folder: Path, database: str, readonly_handle: bool) -> Store:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = FolderLock(folder)
        try:
            restore = own_temporary_folder(folder / "tmp")
            try:
                engine = embedded(str(folder / "engine"), folder / "backups")
                store = cls(engine, database, readonly_handle=readonly_handle)
            except BaseException:
                restore()
                raise
        except BaseException:
            lock.close()
            raise
        store._closers += [restore, lock.close]
        store._lock = lock
        store.folder = folder
        return store

    def tell_port(self, port: int) -> None:
        """Let a process that finds the folder locked name the port on which this one serves."""
        if self._lock:
            self._lock.tell(port)

    def query(
        self, sql: str, parameters: Mapping[str, object] | None = None, *, beside: bool = False
    ) -> list[tuple[Any, ...]]:
        """Return the rows of a SELECT; `parameters` fill `{name:Type}`. Raises StoreError.

        `beside`: on a handle of its own, so that two threads can ask at once.
        """
        with _engine_errors("query"):
            handle = self._beside if beside else self._read
            rows = handle.query(sql, parameters=dict(parameters or {})).result_rows
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
        field. The bodies are as `receive.admission` leaves them: what is nested deeper than otlp_request.proto says
        is not seen. Several threads may commit at once. Raises StoreError; `data_at_fault` says if a retry is useless.
        """
        message = b"".join((*bodies, _RECEIVED_TAG, received_ns.to_bytes(8, "little")))
        with _engine_errors("commit"), self._intake() as handle:
            handle.raw_insert("otlp_request", insert_block=message, fmt="ProtobufSingle")

    def dashboard_sql(self) -> DashboardSql:
        """Return what runs the SQL of others, read only, on handles of its own; they are closed with the store."""
        sql = DashboardSql(self._dashboard_handle, self.database)
        self._closers.insert(0, sql.close)
        return sql

    def _dashboard_handle(self, settings: Settings) -> Client:
        # The handle names its database by itself with each query; `readonly` forbids nothing of that.
        with _engine_errors("open"):
            client = self._engine.connect(settings)
            client.database = self.database
        return client

    def with_database(self, database: str) -> Store:
        """Open another database of the same engine, created if missing and not yet migrated."""
        return Store(self._engine, database, readonly_handle=self._read is not self._write)

    def close(self) -> None:
        """Close the handles, then release the folder."""
        while self._closers:
            self._closers.pop(0)()

    @cached_property
    def _beside(self) -> Client:
        return self._handle({})

    @contextmanager
    def _intake(self) -> Iterator[Client]:
        try:
            handle = self._idle.pop()
        except IndexError:
            handle = self._handle({**_COMMIT, **self._engine.message_schema})
        try:
            yield handle
        finally:
            self._idle.append(handle)

    def _handle(self, settings: Settings, *, create: bool = False) -> Client:
        with _engine_errors("open"):
            client = self._engine.connect(settings)
            self._closers.insert(0, client.close)
            if create:
                client.command(f"CREATE DATABASE IF NOT EXISTS `{self.database}`")
            client.database = self.database
        return client


@contextmanager
def _engine_errors(doing: str) -> Iterator[None]:
    try:
        yield
    except ClickHouseError as error:
        raise StoreError(f"{doing} failed: {error}", code=getattr(error, "code", None)) from error
