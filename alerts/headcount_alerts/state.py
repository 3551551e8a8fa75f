"""An incident as the JSON document that the store keeps, and back: nothing that decides is left out."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from headcount_alerts.conditions import Condition
from headcount_alerts.incident import Acknowledgement, Deferral, Incident, Member

Document = dict[str, Any]

_PLAIN = [
    f.name
    for f in fields(Incident)
    if f.name not in ("members", "paged", "acknowledgement", "deferral", "parts")
]
_CONDITION = [f.name for f in fields(Condition)]
"""Written out: `asdict` copies each value deep, and a provider outage has ten thousand of them."""


def document_of(incident: Incident) -> Document:
    """Return an incident with its members; moments are nanoseconds since the epoch."""
    return {
        **{name: getattr(incident, name) for name in _PLAIN},
        "parts": list(incident.parts),
        "members": [_member_document(member) for member in incident.members.values()],
        "paged": sorted(incident.paged),
        "acknowledgement": None if incident.acknowledgement is None else asdict(incident.acknowledgement),
        "deferral": None if incident.deferral is None else asdict(incident.deferral),
    }


def incident_of(document: Document) -> Incident:
    """Return the incident of a document; what a newer program added is left out."""
    incident = Incident(**{name: document[name] for name in _PLAIN if name in document})
    for values in document["members"]:
        member = _member_of(values)
        incident.members[member.key] = member
    incident.paged = set(document["paged"])
    incident.parts = list(document["parts"])
    if document["acknowledgement"] is not None:
        incident.acknowledgement = Acknowledgement(**document["acknowledgement"])
    if document["deferral"] is not None:
        incident.deferral = Deferral(**document["deferral"])
    return incident


def _member_document(member: Member) -> Document:
    return {
        "session": member.session,
        "run": member.run,
        "conditions": [{name: getattr(c, name) for name in _CONDITION} for c in member.conditions],
        "settled": member.settled,
        "traffic_at": member.traffic_at,
        "facts": member.facts,
        "seen": member.seen,
        "confirmed": sorted(member.confirmed),
    }


def _member_of(values: Document) -> Member:
    return Member(
        values["session"],
        values["run"],
        tuple(Condition(**condition) for condition in values["conditions"]),
        values["settled"],
        values["traffic_at"],
        values["facts"],
        values["seen"],
        set(values["confirmed"]),
    )
