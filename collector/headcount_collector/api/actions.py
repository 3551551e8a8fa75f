"""What people may do to a run: dismiss it. A dismissal is evidence like any other, and goes the way of all evidence."""

from __future__ import annotations

import threading
import time
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from headcount_collector.api.collector import Collector
from headcount_collector.api.health import Running
from headcount_collector.api.lookup import run_named
from headcount_collector.api.problems import Problem
from headcount_collector.evidence import wire
from headcount_collector.evidence.moment import moment_ns
from headcount_collector.evidence.record import AttributeValue, Record, export_request
from headcount_collector.watch.documents import Document, rfc3339

routes = APIRouter(prefix="/api/v1", tags=["runs"])

_COMMIT_S = 30.0
_JUDGED_S = 5.0
SERVICE = "headcount"


class Dismissal(BaseModel):
    """Why a run is void from now on, and who says so."""

    model_config = ConfigDict(extra="forbid")
    reason: str = Field(default="", max_length=500)
    handed_to: str = Field(default="", max_length=200, description="Who has taken the work over, if anybody.")
    by: str = Field(default="", max_length=200, description="Who dismisses it.")


@routes.post("/runs/{run:path}/dismiss")
def dismiss_run(
    run: str, dismissal: Dismissal, collector: Running, session: str | None = None
) -> dict[str, Any]:
    """Declare a run void: nobody waits for it any more. Answers when that is stored, and judged if it is soon."""
    document = run_named(collector, run, session)
    return dismiss(collector, document, dismissal)


def dismiss(collector: Collector, document: Document, dismissal: Dismissal) -> dict[str, Any]:
    """Commit the `dismiss` record of a run; return when, and the verdict after it."""
    reason = dismissal.reason.strip()
    if dismissal.by.strip():
        reason = f"{reason} (by {dismissal.by.strip()})" if reason else f"by {dismissal.by.strip()}"
    attributes: dict[str, AttributeValue] = {}
    if reason:
        attributes[wire.DISMISS_REASON] = reason
    if dismissal.handed_to.strip():
        attributes[wire.HANDED_TO] = dismissal.handed_to.strip()
    record = Record(
        "dismiss",
        time.time_ns(),
        run=document["run"],
        session=document["session"] or None,
        attributes=attributes,
        service=SERVICE,
    )
    admitted = collector.intake.admission.admit(export_request([record]).SerializeToString())
    if not admitted.spans:
        raise Problem(422, f"the dismissal of {document['run']!r} was refused: {admitted.message}")
    received_ns = collector.intake.committer.submit(admitted.body, admitted.spans).result(timeout=_COMMIT_S)
    judged = _judged_after(collector, document, received_ns)
    return {"dismissed_at": rfc3339(record.at_ns), "judged": judged is not None, "run": judged or document}


def _judged_after(collector: Collector, document: Document, received_ns: int) -> Document | None:
    """Wait a moment for the verdict that knows of it, so that a person sees what they did."""
    ends = time.monotonic() + _JUDGED_S
    pause = threading.Event()
    while time.monotonic() < ends:
        found = collector.verdicts.named(document["run"], document["session"])
        if found and moment_ns(found[0]["judged_at"]) > received_ns - 1_000_000 and found[0]["void_at"]:
            return found[0]
        pause.wait(0.05)
    return None
