"""The smallest evidence that a judge has something to say about."""

from __future__ import annotations

import time

from headcount_collector.evidence.record import Record, export_request


def dispatch(run: str, service: str = "tests") -> bytes:
    """Return an export request of one dispatch that happens now."""
    record = Record(
        event="dispatch",
        at_ns=time.time_ns(),
        run=run,
        session="s",
        attributes={},
        start_ns=None,
        phase=None,
        service=service,
        identity=run,
    )
    return export_request([record]).SerializeToString()
