"""SQL for dashboards on the embedded store: handles of their own, read only, with limits; broken ones are replaced."""

from __future__ import annotations

import queue
import re
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from clickhouse_connect.driver.exceptions import ClickHouseError

from headcount_collector.store.engine import Settings
from headcount_collector.store.errors import StoreError
from headcount_collector.store.statement import Allowed, StatementRefused, single_statement

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

LIMITS: Settings = {
    "max_execution_time": 30,
    "max_memory_usage": 1024**3,
    "max_result_rows": 1_000_000,
    "max_result_bytes": 256 * 1024**2,
    "max_threads": 1,
    "max_bytes_before_external_group_by": 0,
    "max_subquery_depth": 50,
    "readonly": 1,  # last: nothing can be set after it
}
HANDLES = 2
"""So many queries run at once."""
_WAIT_S = 5.0
_FORMATS = frozenset(
    """
    Native RowBinary RowBinaryWithNames RowBinaryWithNamesAndTypes JSON JSONCompact JSONEachRow JSONStringsEachRow
    JSONCompactEachRow JSONCompactEachRowWithNames JSONCompactEachRowWithNamesAndTypes CSV CSVWithNames
    CSVWithNamesAndTypes TabSeparated TSV TabSeparatedWithNames TSVWithNames TabSeparatedWithNamesAndTypes
    TSVWithNamesAndTypes Pretty PrettyCompact Vertical Values Arrow ArrowStream Parquet
    """.split()
)
_FORMAT = re.compile(r"\bFORMAT\s+(\w+)\s*$", re.IGNORECASE)


class _Escaped:
    """A parameter as it stands in a URL: escaped already, so that the client must not do it once more."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text


def _bound(sql: str, parameters: Mapping[str, str]) -> dict[str, _Escaped]:
    """Return the parameters that the statement names: for others the client would look for %-placeholders."""
    named = {name for name in parameters if re.search(rf"{{\s*{re.escape(name)}\s*:", sql)}
    return {name: _Escaped(parameters[name]) for name in named}


class TooBusy(StoreError):
    """All handles are taken for too long."""


class DashboardSql:
    """Runs single SELECTs of others. Thread-safe; `connect` opens a handle with these settings."""

    def __init__(self, connect: Callable[[Settings], Client], database: str, handles: int = HANDLES) -> None:
        self._connect = connect
        self._free: queue.LifoQueue[Client | None] = queue.LifoQueue()
        self._lock = threading.Lock()
        self._allowed: Allowed | None = None
        self._database = database
        self.served = 0
        self.refused = 0
        for _ in range(handles):
            self._free.put(None)

    def run(self, sql: str, parameters: Mapping[str, str], form: str = "TabSeparated") -> tuple[bytes, str]:
        """Return the result and its format; a FORMAT clause wins over `form`, `parameters` are escaped as in a URL.

        Raises StatementRefused, TooBusy, or StoreError with the engine's code.
        """
        try:
            text = single_statement(sql)
            if clause := _FORMAT.search(text):
                text, form = text[: clause.start()].rstrip(), clause[1]
            if form not in _FORMATS:
                raise StatementRefused(f"the format {form!r} is not written here", 73)
        except StatementRefused:
            self._count_refused()
            raise
        try:
            client = self._free.get(timeout=_WAIT_S)
        except queue.Empty:
            raise TooBusy("too many queries run already: try again", code=202) from None
        usable = (
            None  # a handle that failed may answer its next call with what is left of the last: it is closed
        )
        try:
            client = client or self._open()
            result = self._checked(client, text, _bound(text, parameters), form)
            usable = client
        except StatementRefused:
            usable = client
            self._count_refused()
            raise
        except ClickHouseError as error:
            if client is not None:
                client.close()
            raise StoreError(str(error), code=getattr(error, "code", None)) from None
        finally:
            self._free.put(usable)
        with self._lock:
            self.served += 1
        return result, form

    def close(self) -> None:
        """Close the handles; call it when no query runs."""
        while not self._free.empty():
            if client := self._free.get_nowait():
                client.close()

    def _count_refused(self) -> None:
        with self._lock:
            self.refused += 1

    def _open(self) -> Client:
        client = self._connect(LIMITS)
        if self._allowed is None:
            functions = client.query(
                "SELECT name, categories, alias_to, is_aggregate FROM system.functions"
            ).result_rows
            self._allowed = Allowed(
                self._database, [(str(n), str(c), str(a), bool(g)) for n, c, a, g in functions]
            )
        return client

    def _checked(self, client: Client, text: str, parameters: dict[str, _Escaped], form: str) -> bytes:
        assert self._allowed is not None
        tree = client.query(f"EXPLAIN AST {text}", parameters=parameters).result_rows
        self._allowed.check([str(line) for (line,) in tree])
        result: bytes = client.raw_query(text, parameters=parameters, fmt=form)
        return result
