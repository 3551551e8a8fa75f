"""The pipeline of this process: `configure`, `flush`, `shutdown`, and what happens at a fork and at exit."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.sdk.trace.export import SpanExporter

from headcount import guard, producer, settings
from headcount.guard import complain, guarded, nothing
from headcount.heartbeat import heartbeat
from headcount.outbox import Outbox
from headcount.pipeline import Pipeline
from headcount.settings import Settings

_lock = threading.RLock()
_pipeline: Pipeline | None = None
_retired: list[Pipeline] = []
_decided = False
_exit_hooked_for = 0


@guarded(nothing)
def configure(
    endpoint: str | None = None,
    service_name: str | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    capture_content: bool | None = None,
    disabled: bool | None = None,
    queue_size: int | None = None,
    linger_s: float | None = None,
    exit_timeout_s: float | None = None,
    spool: str | os.PathLike[str] | bool | None = None,
    heartbeat_s: float | None = None,
    exporter: Callable[[], SpanExporter] | None = None,
    span_processors: Sequence[SpanProcessor] = (),
    clock: Callable[[], int] | None = None,
) -> None:
    """Start reporting. No argument is needed: `OTEL_…` and `HEADCOUNT_…` variables fill what is left open.

    Lifecycle spans go to `endpoint` (base URL or full OTLP/HTTP traces URL; HEADCOUNT_ENDPOINT, else the
    OTEL_EXPORTER_OTLP_… variables, else http://localhost:4318), from a queue and a thread of their own. The process's
    `TracerProvider`, whether set before or later, gets the stamping processor and lends its resource; if there is
    none, none is made.

    `headers` are added to every export (HEADCOUNT_TOKEN or HEADCOUNT_TOKEN_FILE gives a bearer token).
    `capture_content` exports prompts, results and tool arguments too
    (OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT; off).
    `disabled` makes everything a no-op (OTEL_SDK_DISABLED, HEADCOUNT_DISABLED).
    `queue_size` bounds the spans held while the collector is away (HEADCOUNT_QUEUE_SIZE, 8192), `linger_s` how long
    a span may wait for company (0.1), `exit_timeout_s` how long the process's end may wait for the export
    (HEADCOUNT_EXIT_TIMEOUT, 3).
    `spool` is the folder in which spans wait on disk until they are exported, by this process or the next one
    (HEADCOUNT_SPOOL, a folder below the user's state folder; False or "off": none; HEADCOUNT_SPOOL_MB, 64, bounds it).
    `heartbeat_s` is the interval in which every open child says that its process lives (HEADCOUNT_HEARTBEAT, 30; 0:
    never).
    `exporter` makes another exporter than OTLP, anew in each forked process; its spans are kept on disk only if `spool`
    names a folder. `span_processors` also get the spans with a length (`invoke_agent …`, `execute_tool …`), for a second
    backend. `clock` gives nanoseconds since the epoch.

    Without `configure` every function of the API is a no-op, unless HEADCOUNT_ENDPOINT is set: then the first event
    configures. A second call replaces the first; what was queued is still exported.
    """
    destination = _checked_endpoint(endpoint or settings.endpoint_from_environment())
    chosen = Settings(
        endpoint=destination,
        service_name=service_name,
        headers={**settings.headers_from_environment(), **(headers or {})},
        capture_content=settings.capture_from_environment() if capture_content is None else capture_content,
        disabled=settings.disabled_by_environment() if disabled is None else disabled,
        queue_size=queue_size or int(settings.number("HEADCOUNT_QUEUE_SIZE", 8192, least=1)),
        linger_s=0.1 if linger_s is None else max(0.0, linger_s),
        exit_timeout_s=(
            settings.number("HEADCOUNT_EXIT_TIMEOUT", 3.0, least=0.0)
            if exit_timeout_s is None
            else exit_timeout_s
        ),
        spool=_spool_folder(spool, destination, own_exporter=exporter is not None),
        spool_bytes=int(settings.number("HEADCOUNT_SPOOL_MB", 64, least=1) * (1 << 20)),
        heartbeat_s=(
            settings.number("HEADCOUNT_HEARTBEAT", 30.0, least=0.0) if heartbeat_s is None else heartbeat_s
        ),
        exporter=exporter,
        span_processors=span_processors,
        clock=clock or Settings().clock,
    )
    replaced = install(None if chosen.disabled else Pipeline(chosen))
    if replaced is not None:
        replaced.sink.retire()
        _retired.append(replaced)


def install(pipeline: Pipeline | None) -> Pipeline | None:
    """Make a pipeline (None: no-op) the process's own; return the one before."""
    global _pipeline, _decided
    with _lock:
        replaced, _pipeline, _decided = _pipeline, pipeline, True
    if pipeline is not None:
        _hook_exit()
        _prepare(pipeline)
    return replaced


@guarded(nothing)
def _prepare(pipeline: Pipeline) -> None:
    """Join the host and detect the resource now: it can take a while, and no event should wait for it."""
    pipeline.tracer()


def current() -> Pipeline | None:
    """Return the pipeline, or None where events go nowhere: not configured, or disabled."""
    if _pipeline is None:
        if not _decided:
            _configure_by_environment()
    elif _exit_hooked_for != os.getpid():
        _hook_exit()
    return _pipeline


def _configure_by_environment() -> None:
    global _decided
    with _lock:
        if _decided:
            return
        if settings.endpoint_from_environment() and not settings.disabled_by_environment():
            configure()
            return
        _decided = True
    if not settings.disabled_by_environment():
        complain(
            "not configured", "headcount: events are not recorded before headcount.configure() is called"
        )


@guarded(lambda: False)
def flush(timeout_s: float = 5.0) -> bool:
    """Export what was emitted so far, at once; return whether all of it went within the time."""
    return _pipeline is None or _pipeline.sink.flush(timeout_s)


@guarded(lambda: False)
def shutdown(timeout_s: float | None = None) -> bool:
    """Export what is left and stop; return whether all of it went. Called at the process's end by itself."""
    pipeline = install(None)
    left = [*_retired, *([pipeline] if pipeline is not None else [])]
    _retired.clear()
    if not left:
        return True
    allowed_s = left[-1].settings.exit_timeout_s if timeout_s is None else timeout_s
    deadline_s = time.monotonic() + allowed_s
    complete = True
    for one in left:
        complete = one.sink.close(max(0.0, deadline_s - time.monotonic())) and complete
    return complete


class Stats(NamedTuple):
    """How the export goes: spans `sent`, `queued` and `dropped`, caught faults by kind, and spans left to the disk."""

    sent: int
    queued: int
    dropped: int
    faults: Mapping[str, int]
    spooled: int = 0


@guarded(lambda: Stats(0, 0, 0, {}))
def stats() -> Stats:
    """Return how the export goes; zeros where nothing is configured."""
    faults = dict(guard.faults)
    outbox = _pipeline.sink if _pipeline is not None else None
    if not isinstance(outbox, Outbox):
        return Stats(0, 0, 0, faults)
    return Stats(outbox.sent, outbox.queued, outbox.dropped, faults, outbox.spooled)


def _spool_folder(
    spool: str | os.PathLike[str] | bool | None, endpoint: str | None, *, own_exporter: bool
) -> Path | None:
    if spool is False or (own_exporter and (spool is None or spool is True)):
        return None
    if spool is None or spool is True:
        return settings.spool_from_environment(endpoint)
    return settings.destination_folder(Path(spool), endpoint)


def _checked_endpoint(endpoint: str | None) -> str | None:
    if endpoint is not None:
        try:
            settings.traces_url(endpoint)
        except ValueError as error:
            complain("endpoint", "headcount: %s; the OTEL_… variables or the default hold", error)
            return None
    return endpoint


def _hook_exit() -> None:
    """See to it that this process's end exports what is queued, once a process."""
    global _exit_hooked_for
    with _lock:
        if _exit_hooked_for == os.getpid():
            return
        if not _exit_hooked_for:
            atexit.register(shutdown)
        _exit_hooked_for = os.getpid()
    # Forked children of multiprocessing end by os._exit: their finalizers are run, atexit is not.
    process = sys.modules.get("multiprocessing.process")
    if process is not None and process.parent_process() is not None:
        from multiprocessing.util import Finalize

        Finalize(None, shutdown, exitpriority=0)


def _after_fork() -> None:
    global _lock
    _lock = threading.RLock()
    producer.start_anew()
    heartbeat.after_fork()
    _retired.clear()
    if _pipeline is not None:
        _pipeline.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
