"""Evidence with its corrected moment, and two witnesses of one event made one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

from headcount_collector.derive.rows import EvidenceRow
from headcount_collector.evidence import wire
from headcount_collector.judge.facts import Result
from headcount_collector.values import value

NO_RESULT = Result()


@value(frozen=True, slots=True)
class Dated:
    """One record: `at` its corrected moment, `began` the corrected start of its span."""

    at: int
    began: int
    row: EvidenceRow
    attributes: dict[str, str]

    def text(self, name: str) -> str | None:
        """Return a text attribute; None where it is absent or empty."""
        return self.attributes.get(name) or None

    def number(self, name: str) -> int | None:
        """Return an integer attribute; None where it is absent or no integer."""
        try:
            return int(self.attributes[name])
        except (KeyError, ValueError):
            return None

    def flag(self, name: str) -> bool | None:
        value = self.attributes.get(name)
        return None if value not in ("true", "false") else value == "true"

    def milliseconds(self, name: str) -> int | None:
        """Return a duration given in milliseconds, in nanoseconds."""
        value = self.number(name)
        return None if value is None else value * 1_000_000

    def result(self) -> Result:
        """Return what the record says of a result."""
        if not any(name.startswith("subagent.result.") for name in self.attributes):
            return NO_RESULT
        return Result(
            size=self.number(wire.RESULT_SIZE),
            digest=self.text(wire.RESULT_DIGEST),
            form=self.text(wire.RESULT_FORM),
            location=self.text(wire.RESULT_LOCATION),
            partial=self.flag(wire.RESULT_PARTIAL),
        )


# Records of one event that say different things of these are different events.
_TELLING = {
    "launch": wire.LAUNCH_STATE,
    "start": wire.ATTEMPT,
    "completion_forwarded": wire.FORWARDED,
    "message": wire.MESSAGE_FROM,
    "nudge": wire.MESSAGE_FROM,
}
# These are paired by their own ids, and what two report is two waits or turns.
_OWN_WAY = frozenset({"wait", "owner_turn"})


def one_of_two_witnesses(records: Sequence[Dated], skew_ns: int) -> list[Dated]:
    """Return the records of one run by time, with what two named producers report within `skew_ns` as one.

    The earlier moment stays, and what the earlier record does not say is taken from the later. A further attempt
    between the two makes them two events.
    """
    ordered = sorted(records, key=lambda record: (record.at, record.row.event, record.row.identity))
    if len({record.row.producer for record in ordered}) < 2:
        return ordered
    restarts = [r.at for r in ordered if r.row.event == "start" and (r.number(wire.ATTEMPT) or 1) > 1]
    kept: list[Dated] = []
    open_groups: dict[tuple[str, str], list[tuple[int, set[str]]]] = {}
    for record in ordered:
        event, producer = record.row.event, record.row.producer
        if not producer or event in _OWN_WAY:
            kept.append(record)
            continue
        telling = record.attributes.get(_TELLING[event], "") if event in _TELLING else ""
        groups = open_groups.setdefault((event, telling), [])
        place = _first_witness(record, kept, groups, restarts, skew_ns)
        if place is None:
            groups.append((len(kept), {producer}))
            kept.append(record)
        else:
            kept[place] = _completed(kept[place], record)
    return kept


def _first_witness(
    record: Dated,
    kept: list[Dated],
    groups: list[tuple[int, set[str]]],
    restarts: Iterable[int],
    skew_ns: int,
) -> int | None:
    for place, heard in groups:
        first = kept[place]
        if record.at - first.at > skew_ns or record.row.producer in heard:
            continue
        if any(first.at < restart <= record.at for restart in restarts) and record.row.event != "start":
            continue
        heard.add(record.row.producer)
        return place
    return None


def _completed(first: Dated, second: Dated) -> Dated:
    said = {name: value for name, value in first.attributes.items() if value != ""}
    row = first.row._replace(
        owner=first.row.owner or second.row.owner,
        agent=first.row.agent or second.row.agent,
        parent=first.row.parent or second.row.parent,
        child=first.row.child or second.row.child,
        tokens=first.row.tokens or second.row.tokens,
    )
    return replace(first, row=row, attributes={**second.attributes, **first.attributes, **said})


def texts(value: str | None) -> list[str]:
    """Read a list of texts, which the trace table keeps as JSON; anything else is no list."""
    if not value:
        return []
    try:
        found = json.loads(value)
    except ValueError:
        return []
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []
