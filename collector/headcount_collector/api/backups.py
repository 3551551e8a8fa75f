"""POST /api/v1/backups: a backup of the embedded store while it serves."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body

from headcount_collector.api.health import Running
from headcount_collector.api.problems import Problem
from headcount_collector.store import StoreError
from headcount_collector.store.backup import back_up

routes = APIRouter(prefix="/api/v1/backups", tags=["operation"])


@routes.post(
    "",
    status_code=201,
    responses={409: {"description": "There is one of this name, or the store is a server."}},
)
def create_backup(
    collector: Running, name: Annotated[str | None, Body(embed=True, max_length=100)] = None
) -> dict[str, str]:
    """Write a backup on the collector's machine and name its folder; 409 says why not."""
    try:
        return {"path": str(back_up(collector.store, name))}
    except StoreError as error:
        raise Problem(503 if error.code is not None else 409, str(error)) from None
