"""The dispatch receipt: an owner asks a child for a result, and the obligation exists from here on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from headcount import configuration, digest, frame, wire
from headcount.guard import guarded, nothing
from headcount.pipeline import Pipeline
from headcount.producer import new_id
from headcount.result import milliseconds
from headcount.run import Run, aliases

DESCRIPTION_LIMIT = 200


@guarded(Run.nobody)
def dispatch(
    agent: str,
    *,
    owner: str | None = None,
    mode: wire.Mode = "background",
    description: str | None = None,
    prompt: str | None = None,
    expected: float | timedelta | datetime | None = None,
    max_runtime: float | timedelta | None = None,
    channel: wire.Channel | None = None,
    can_send: bool | None = None,
    replica: str | None = None,
    supersedes: str | Run | Sequence[str | Run] | None = None,
    model: str | None = None,
    attended: bool | None = None,
    alias: str | Sequence[str] | None = None,
    session: str | None = None,
    parent: str | Run | None = None,
    id: str | None = None,
) -> Run:
    """Tell that a child of type `agent` was asked for one result; return the run.

    Session, owner and parent run are those of the code's context (inside a child: that child) unless given; `owner`
    "" is the session's root. `mode` says how the result returns: as the call's value (foreground), by a later notice
    (background), or only if the child sends a message (teammate).

    `expected` is the deadline: seconds or a timedelta from now, or a moment. `max_runtime` (seconds) limits the child.
    `channel` is the way back, `can_send` whether the child has the means to use it. `replica` ("2/3") and
    `supersedes` (run ids) say that a second dispatch of the same prompt is on purpose. Of `prompt` and `description`
    only digests are exported, unless content is captured.
    """
    here = frame.current()
    run = Run(
        id or new_id(),
        session or here.session,
        owner=here.owner if owner is None else owner,
        agent=str(agent),
        mode=mode,
        attended=here.attended if attended is None else attended,
    )
    _tell(
        run,
        description,
        prompt,
        expected,
        {
            wire.RUN_ID: run.id,
            wire.SESSION_ID: run.session,
            wire.OWNER_ID: run.owner or None,
            wire.PARENT_RUN_ID: _run_id(parent) if parent is not None else here.run_id,
            wire.AGENT_NAME: run.agent,
            wire.MODE: mode,
            wire.ATTENDED: run.attended,
            wire.RUN_ALIAS: aliases(alias),
            wire.MAX_RUNTIME_MS: milliseconds(_seconds(max_runtime)),
            wire.RETURN_CHANNEL: channel,
            wire.RETURN_CAN_SEND: can_send,
            wire.REPLICA: replica,
            wire.SUPERSEDES: _run_ids(supersedes),
            wire.REQUEST_MODEL: model,
        },
    )
    return run


@guarded(nothing)
def _tell(
    run: Run,
    description: str | None,
    prompt: str | None,
    expected: float | timedelta | datetime | None,
    attributes: dict[str, wire.Value],
) -> None:
    pipeline = configuration.current()
    if pipeline is None:
        return
    attributes[wire.EXPECTED_BY] = _moment(expected, pipeline.now())
    attributes[wire.EXPORT_INTERVAL_MS] = pipeline.export_interval_ms
    attributes |= _content(pipeline, description, prompt)
    run.span_context = pipeline.event("dispatch", attributes)


def _content(pipeline: Pipeline, description: str | None, prompt: str | None) -> dict[str, wire.Value]:
    attributes: dict[str, wire.Value] = {
        wire.DESCRIPTION_DIGEST: None if description is None else digest.digest(description),
        wire.PROMPT_DIGEST: None if prompt is None else digest.digest(prompt),
    }
    if pipeline.settings.capture_content:
        if description is not None:
            attributes[wire.DESCRIPTION] = description[:DESCRIPTION_LIMIT]
        if prompt is not None:
            attributes[wire.INPUT_MESSAGES] = message("user", prompt)
    return attributes


def message(role: str, text: str) -> str:
    """Return one message in the JSON form of the GenAI conventions."""
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


def _moment(expected: float | timedelta | datetime | None, now_ns: int) -> str | None:
    if expected is None:
        return None
    if not isinstance(expected, datetime):
        expected = datetime.fromtimestamp(now_ns / 1e9, UTC) + timedelta(seconds=_seconds(expected) or 0.0)
    return expected.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _seconds(duration: float | timedelta | None) -> float | None:
    return duration.total_seconds() if isinstance(duration, timedelta) else duration


def _run_id(run: str | Run) -> str:
    return run.id if isinstance(run, Run) else run


def _run_ids(runs: str | Run | Sequence[str | Run] | None) -> Sequence[str] | None:
    if runs is None:
        return None
    return [_run_id(run) for run in ([runs] if isinstance(runs, str | Run) else runs)]
