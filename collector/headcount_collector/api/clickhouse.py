"""GET and POST /clickhouse/: enough of ClickHouse's HTTP interface for dashboards to read the embedded store."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping

from fastapi import APIRouter, Request, Response

from headcount_collector.api.greeting import asks_greeting, greeting
from headcount_collector.receive.body import read_body
from headcount_collector.receive.errors import Refused
from headcount_collector.store import StoreError
from headcount_collector.store.dashboards import DashboardSql, TooBusy
from headcount_collector.store.statement import StatementRefused

_QUERY_LIMIT = 1024 * 1024
_PARAMETER = "param_"
_NO_BLOCKS = (
    "compress=1 asks for ClickHouse's own compressed blocks, which are not written here: let the client compress with "
    "gzip, or not at all (NOT_IMPLEMENTED)"
)
_STATUS = {46: 400, 47: 400, 60: 404, 62: 400, 164: 403, 456: 400}
"""HTTP's status for the engine's error codes, where it is not 500."""


def clickhouse_routes(sql: DashboardSql, database: str) -> APIRouter:
    """Return the routes. Settings in the URL are taken and have no effect: the limits are ours."""
    router = APIRouter(prefix="/clickhouse")

    async def run(request: Request) -> Response:
        query_id = request.query_params.get("query_id") or str(uuid.uuid4())
        try:
            body = await read_body(request.stream(), request.headers, _QUERY_LIMIT)
            return await asyncio.to_thread(_answer, sql, database, _named(request), body, query_id[:128])
        except Refused as error:
            return _error(error.status, 62, str(error))

    @router.get("/ping", include_in_schema=False)
    async def ping() -> Response:
        return Response("Ok.\n", media_type="text/plain")

    for path in ("", "/"):
        router.add_api_route(path, run, methods=["GET", "POST"], include_in_schema=False)
    return router


def _named(request: Request) -> dict[str, str]:
    return {"default_format": request.headers.get("x-clickhouse-format", ""), **request.query_params}


def _answer(
    sql: DashboardSql, database: str, named: Mapping[str, str], body: bytes, query_id: str
) -> Response:
    wanted = named.get("database") or database
    if wanted not in (database, "default"):
        return _error(404, 81, f"Database {wanted!r} does not exist; it holds {database}. (UNKNOWN_DATABASE)")
    parameters = {
        name.removeprefix(_PARAMETER): value for name, value in named.items() if name.startswith(_PARAMETER)
    }
    try:
        text = "\n".join(part for part in (named.get("query", ""), body.decode()) if part)
        if not text:
            return Response("Ok.\n", media_type="text/plain")
        if named.get("compress", "0") not in ("", "0"):
            return _error(400, 48, _NO_BLOCKS)
        form = named.get("default_format") or "TabSeparated"
        if asks_greeting(text, form, named.get("client_protocol_version", "")):
            told, _ = sql.run("SELECT version(), timezone()", {})
            result = greeting(*told.decode().rstrip("\n").split("\t"))
        else:
            result, form = sql.run(text, parameters, form)
    except UnicodeDecodeError:
        return _error(400, 62, "the query is not UTF-8")
    except TooBusy as error:
        return _error(503, 202, str(error), {"Retry-After": "1"})
    except StatementRefused as error:
        return _error(403 if error.code == 497 else 400, error.code or 497, str(error))
    except StoreError as error:
        return _error(_STATUS.get(error.code or 0, 500), error.code or 1002, str(error))
    headers = {
        "X-ClickHouse-Format": form,
        "X-ClickHouse-Query-Id": "".join(c for c in query_id if c.isalnum() or c in "-_"),
        "X-ClickHouse-Server-Display-Name": "headcount",
        "X-ClickHouse-Timezone": "UTC",
        "X-ClickHouse-Summary": '{"read_rows":"0","read_bytes":"0","written_rows":"0","written_bytes":"0"}',
    }
    media = "application/json; charset=UTF-8" if form.startswith("JSON") else "application/octet-stream"
    return Response(result, headers=headers, media_type=media)


def _error(status: int, code: int, text: str, headers: Mapping[str, str] | None = None) -> Response:
    said = text if text.startswith("Code: ") else f"Code: {code}. DB::Exception: {text}"
    return Response(
        said + "\n",
        status,
        headers={"X-ClickHouse-Exception-Code": str(code), **(headers or {})},
        media_type="text/plain",
    )
