"""By what the routes about runs narrow: one set of query parameters, and an error for a name that is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from fastapi import Query, Request

from headcount_collector.api.problems import Problem

Status = Literal[
    "active", "suspect_delivery_failure", "done_but_not_forwarded", "completed", "recovered", "blocked"
]
Severity = Literal["info", "warn", "page"]
Mode = Literal["foreground", "background", "teammate"]

_NAMES = (
    "session",
    "owner",
    "agent",
    "service",
    "status",
    "class",
    "severity",
    "mode",
    "open",
    "abnormal",
    "attention",
)


def filters_beside(*others: str) -> Callable[..., dict[str, str]]:
    """Return the dependency that gathers the filters of a route which takes the parameters `others`, too."""

    def gather(
        request: Request,
        session: str | None = None,
        owner: Annotated[str | None, Query(description="Empty: the root owner.")] = None,
        agent: str | None = None,
        service: str | None = None,
        status: Status | None = None,
        failure_class: Annotated[str | None, Query(alias="class")] = None,
        severity: Severity | None = None,
        mode: Mode | None = None,
        is_open: Annotated[bool | None, Query(alias="open")] = None,
        abnormal: bool | None = None,
        attention: Annotated[
            bool | None, Query(description="Whether the verdict or a signal is of severity warn or page.")
        ] = None,
    ) -> dict[str, str]:
        """Gather the filters that were given. A name that is none is an error: it would show too much in silence."""
        unknown = set(request.query_params) - {*_NAMES, *others}
        if unknown:
            raise Problem(422, f"no such filter: {', '.join(sorted(unknown))}; there are {', '.join(_NAMES)}")
        given = {
            "session": session,
            "owner": owner,
            "agent": agent,
            "service": service,
            "status": status,
            "class": failure_class,
            "severity": severity,
            "mode": mode,
            "open": _word(is_open),
            "abnormal": _word(abnormal),
            "attention": _word(attention),
        }
        return {name: value for name, value in given.items() if value is not None}

    return gather


def _word(value: bool | None) -> str | None:
    return None if value is None else str(value).lower()
