"""A nudge is evidence: each run that it named was stirred up by the observer, and no progress follows from that."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future

from headcount_alerts.channels.channel import Parcel
from headcount_collector.evidence import wire
from headcount_collector.evidence.record import Record, export_request
from headcount_collector.receive.errors import Refused
from headcount_collector.store.errors import StoreError

log = logging.getLogger(__name__)

_COMMIT_S = 30.0


class Nudged:
    """Submits one `nudge` event for each run that a nudge named; the same nudge sent again is the same event."""

    def __init__(self, submit: Callable[[bytes], Future[int]]) -> None:
        self._submit = submit

    def __call__(self, parcel: Parcel) -> None:
        """Record a nudge. That it cannot be recorded does not take it back: the failure is logged."""
        at = time.time_ns()
        records = [
            Record(
                "nudge",
                at,
                run["run"],
                run["session"] or None,
                {wire.MESSAGE_FROM: "observer"},
                service="headcount",
                identity=f"{parcel.id}/{run['run']}",
            )
            for run in parcel.document["runs"]
        ]
        if not records:
            return
        try:
            self._submit(export_request(records).SerializeToString()).result(timeout=_COMMIT_S)
        except (Refused, StoreError, TimeoutError) as error:
            log.warning("nudge %s is not recorded as evidence: %s", parcel.id, error)
