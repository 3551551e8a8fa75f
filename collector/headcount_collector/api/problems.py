"""Errors on the way out: every one is an RFC 9457 problem document that says what was wrong and what to do."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match

from headcount_collector.errors import HeadcountError
from headcount_collector.store import StoreError

MEDIA_TYPE = "application/problem+json"
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


class Problem(HeadcountError):
    """An error with its HTTP status; `members` are added to the problem document."""

    def __init__(self, status: int, detail: str, **members: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.members = members


def problem_response(
    status: int, detail: str, *, headers: dict[str, str] | None = None, **members: Any
) -> JSONResponse:
    """Return a problem document; the title is the status in words, `detail` is for the person who asked."""
    body = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        **members,
    }
    return JSONResponse(body, status_code=status, headers=headers, media_type=MEDIA_TYPE)


def install_problems(app: FastAPI) -> None:
    """Let every error of the application leave as a problem document."""
    app.add_exception_handler(Problem, _problem)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(StoreError, _store)
    app.add_exception_handler(Exception, _unexpected)


async def _problem(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, Problem)
    return problem_response(error.status, str(error), instance=request.url.path, **error.members)


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    headers = {name.lower(): value for name, value in (error.headers or {}).items()}
    detail = error.detail
    if error.status_code == 404 and detail == HTTPStatus.NOT_FOUND.phrase:
        detail = f"there is nothing at {request.url.path}; / lists what there is"
    elif error.status_code == 405:
        headers["allow"] = allowed = _methods(request)
        detail = f"{request.url.path} does not take {request.method}; it takes {allowed}"
    elif error.status_code == 400 and error.__cause__ is not None:
        detail = f"the body cannot be read: {error.__cause__}"
    return problem_response(error.status_code, detail, headers=headers, instance=request.url.path)


def _methods(request: Request) -> str:
    """Name what the routes at this path take together; the framework tells of the first one only."""
    return ", ".join(
        method
        for method in _METHODS
        if any(
            route.matches({**request.scope, "method": method})[0] is Match.FULL
            for route in request.app.routes
        )
    )


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    wrong = [f"{'.'.join(str(part) for part in e['loc'][1:])}: {e['msg']}" for e in error.errors()]
    return problem_response(422, "; ".join(wrong), instance=request.url.path)


async def _store(request: Request, error: Exception) -> JSONResponse:
    return problem_response(
        503,
        f"the store did not answer: {error}",
        headers={"Retry-After": "2"},
        instance=request.url.path,
    )


async def _unexpected(request: Request, error: Exception) -> JSONResponse:
    return problem_response(
        500,
        f"{type(error).__name__} in the collector; its log has the details, and the request can be tried again",
        instance=request.url.path,
    )
