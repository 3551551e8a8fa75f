"""Expands a dismissal by matchers into one of each run that it matches; evidence always names its run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headcount_collector.evidence import wire
from headcount_collector.evidence.record import Record
from headcount_collector.judge.verdict import Verdict

SAID = (wire.DISMISS_REASON, wire.HANDED_TO)
"""Attributes of a dismissal that each of its runs keeps: why, and who took over."""


def matched_runs(record: Record, verdicts: Iterable[Verdict]) -> list[Record] | None:
    """Return the dismissals of every open run that a record without run matches; None for any other record."""
    if record.event != "dismiss" or record.run is not None:
        return None
    wanted = {
        "owner": record.attributes.get(wire.OWNER),
        "agent": record.attributes.get(wire.AGENT),
        "child": record.attributes.get(wire.CHILD_SESSION),
        "class": record.attributes.get(wire.DISMISS_CLASS),
    }
    said = {key: record.attributes[key] for key in SAID if key in record.attributes}
    return [
        replace(record, run=verdict.run, session=verdict.session, attributes=said)
        for verdict in verdicts
        if verdict.open
        and record.session in (None, verdict.session)
        and wanted["owner"] in (None, verdict.owner)
        and wanted["agent"] in (None, verdict.agent)
        and (wanted["child"] is None or wanted["child"] in verdict.child_sessions)
        and wanted["class"] in (None, verdict.failure_class)
    ]
