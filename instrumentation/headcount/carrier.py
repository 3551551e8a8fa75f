"""Carries a run to another process: as headers, as a dict, or as environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from typing import Final, cast, get_args
from urllib.parse import quote, unquote

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from headcount import frame, wire
from headcount.guard import guarded, guarded_or_none
from headcount.run import Run

RUN: Final = "headcount-run-id"
SESSION: Final = "headcount-session-id"
OWNER: Final = "headcount-owner-id"
AGENT: Final = "headcount-agent"
MODE: Final = "headcount-mode"
ATTENDED: Final = "headcount-attended"

_PLAIN: Final = " !#$&'()*+,/:;=?@[]~"
_w3c = TraceContextTextMapPropagator()


def inject(carrier: MutableMapping[str, str] | None = None, *, run: Run | None = None) -> dict[str, str]:
    """Write a run (by default the current one) and its W3C trace context into a carrier; return what was written.

    Values are percent-encoded where a header could not hold them. Outside a run only the trace context is written.
    """
    headers = _headers(run)
    if carrier is not None:
        carrier.update(headers)
    return headers


@guarded(dict[str, str])
def _headers(run: Run | None) -> dict[str, str]:
    headers: dict[str, str] = {}
    if run is None:
        _w3c.inject(headers)
        here = frame.current()
        run = here.run
        if run is None:
            return headers
    elif run.inert:
        return headers
    else:
        _w3c.inject(headers, trace.set_span_in_context(trace.NonRecordingSpan(run.span_context), Context()))
    about = {RUN: run.id, SESSION: run.session, OWNER: run.owner, AGENT: run.agent, MODE: run.mode}
    headers.update({key: quote(value, _PLAIN) for key, value in about.items() if value})
    if run.attended is not None:
        headers[ATTENDED] = str(run.attended).lower()
    return headers


def environ(run: Run | None = None) -> dict[str, str]:
    """Return the carrier as environment variables, to be added to those of a child process."""
    return {key.upper().replace("-", "_"): value for key, value in inject(run=run).items()}


@guarded_or_none
def extract(carrier: Mapping[str, str] | None = None) -> Run | None:
    """Return the run that a carrier (by default this process's environment) names; None if it names none."""
    headers = {
        key.lower().replace("_", "-"): value
        for key, value in (os.environ if carrier is None else carrier).items()
        if isinstance(key, str) and isinstance(value, str)
    }
    run_id = headers.get(RUN)
    if not run_id:
        return None
    mode = headers.get(MODE, "background")
    attended = headers.get(ATTENDED)
    agent = headers.get(AGENT)
    span = trace.get_current_span(_w3c.extract(headers, Context()))
    return Run(
        unquote(run_id),
        unquote(headers.get(SESSION, "")) or frame.current().session,
        owner=unquote(headers.get(OWNER, "")),
        agent=unquote(agent) if agent else None,
        mode=cast(wire.Mode, mode) if mode in get_args(wire.Mode) else "background",
        attended=None if attended is None else attended == "true",
        span_context=span.get_span_context(),
    )
