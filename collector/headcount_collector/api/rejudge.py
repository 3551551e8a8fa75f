"""What another policy would have made of the runs of the past: asked of the collector, since it holds the store."""

from __future__ import annotations

import threading
import time
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema

from headcount_collector.api.health import Running
from headcount_collector.api.problems import Problem
from headcount_collector.evidence.moment import moment_ns
from headcount_collector.judge.policy import Policy, PolicyError
from headcount_collector.replay.rejudge import MOST, rejudge
from headcount_collector.watch.documents import Document

routes = APIRouter(prefix="/api/v1", tags=["observer"])

_ONE_AT_A_TIME = threading.Lock()
"""It takes processor time from the judge, so there is never more than one."""


def _is_moment(text: str) -> str:
    moment_ns(text)
    return text


Moment = Annotated[str, AfterValidator(_is_moment), WithJsonSchema({"type": "string", "format": "date-time"})]


class Rejudge(BaseModel):
    """A range of dispatches, and a policy to judge them by."""

    model_config = ConfigDict(extra="forbid")
    begin: Moment = Field(alias="from", description="First moment of the range, RFC 3339.")
    end: Moment | None = Field(None, alias="to", description="End of the range; now, if left out.")
    policy: dict[str, Any] = Field(description="What would stand in the table [policy].")
    limit: int = Field(MOST, ge=1, le=MOST, description="At most so many runs, the earliest.")


@routes.post("/rejudge", responses={409: {"description": "Another range is being judged."}})
def judge_again(asked: Rejudge, collector: Running) -> Document:
    """Judge the runs dispatched in a range under another policy; say what would have changed. Writes nothing."""
    begin = moment_ns(asked.begin)
    end = time.time_ns() if asked.end is None else min(moment_ns(asked.end), time.time_ns())
    if begin >= end:
        raise Problem(422, "the range is empty: `from` is not before `to`, or lies in the future")
    try:
        other = Policy.from_mapping(asked.policy)
    except PolicyError as error:
        raise Problem(422, f"policy: {error}") from None
    if not _ONE_AT_A_TIME.acquire(blocking=False):
        raise Problem(409, "another range is being judged just now: try again when that is done")
    try:
        found = rejudge(
            collector.store,
            begin,
            end,
            present=collector.settings.judged_by,
            other=other,
            limit=asked.limit,
            sleeps=tuple(collector.watch.tick.observer.sleeps),
        )
    finally:
        _ONE_AT_A_TIME.release()
    return found.document()
