"""The API's own description: what each route answers when it does not do what was asked, as the routes cannot all say."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from headcount_collector.api.guard import OPEN_PATHS
from headcount_collector.api.problems import MEDIA_TYPE

Document = dict[str, Any]

_PROBLEM: Document = {
    "type": "object",
    "title": "Problem",
    "description": "RFC 9457: what was wrong, and what to do.",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string", "description": "The status in words."},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What was wrong and what to do."},
        "instance": {"type": "string", "description": "The path that was asked."},
    },
}
_ALWAYS = {
    "401": "The token is missing or wrong.",
    "403": "Another host or site asks, or a change without the collector's own origin.",
    "429": "The token's rate is used up: `Retry-After` says for how long.",
    "503": "The store did not answer: `Retry-After` says when to try again.",
}
_INVALID = "A parameter or the body is not what is described here."
_UNREADABLE = "The body is not UTF-8."
_UNKNOWN = "Nothing goes by this name."
_SEVERAL = "Several runs go by this name: `runs` lists them; say which with `session`."


def describe(app: FastAPI, *, token: bool) -> None:
    """Let the application's OpenAPI document tell of problem documents, and of the token where one is wanted."""
    app.openapi = partial(_document, app, token)  # type: ignore[method-assign]  # FastAPI's own way to extend it


def _document(app: FastAPI, token: bool) -> Document:
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, routes=app.routes)
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        for own in ("HTTPValidationError", "ValidationError"):
            schemas.pop(own, None)
        schemas["Problem"] = _PROBLEM
        for path, operation in _operations(document):
            operation["responses"] = _responses(path, operation)
            if path in OPEN_PATHS:
                operation["security"] = []
        if token:
            document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            document["security"] = [{"token": []}]
        app.openapi_schema = document
    return app.openapi_schema


def _operations(document: Document) -> Iterator[tuple[str, Document]]:
    for path, operations in document["paths"].items():
        for operation in operations.values():
            yield path, operation


def _responses(path: str, operation: Document) -> Document:
    """Return the answers of a route by status; what it declares itself without content is a problem document, too."""
    found = dict(operation["responses"])
    told = dict(_ALWAYS)
    if "422" in found:
        told["422"] = _INVALID
    if "requestBody" in operation:
        told["400"] = _UNREADABLE
    if any(parameter["in"] == "path" for parameter in operation.get("parameters", ())):
        told["404"] = _UNKNOWN
    if path.startswith("/api/v1/runs/{"):
        told["300"] = _SEVERAL
    told |= {
        status: answer["description"]
        for status, answer in found.items()
        if not status.startswith("2") and status != "422"
    }
    return {
        **{status: answer for status, answer in found.items() if status.startswith("2")},
        **{status: _problem(told[status]) for status in sorted(told)},
    }


def _problem(description: str) -> Document:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": description, "content": {MEDIA_TYPE: {"schema": schema}}}
