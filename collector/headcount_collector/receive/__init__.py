"""The HTTP edge of OTLP: bodies in, one insert a group, an answer after the commit."""

from headcount_collector.receive.admission import Admission, Admitted
from headcount_collector.receive.commit import GroupCommitter
from headcount_collector.receive.counters import Counters
from headcount_collector.receive.errors import Busy, Malformed, Refused
from headcount_collector.receive.intake import Intake, create_intake
from headcount_collector.receive.otlp import otlp_router

__all__ = [
    "Admission",
    "Admitted",
    "Busy",
    "Counters",
    "GroupCommitter",
    "Intake",
    "Malformed",
    "Refused",
    "create_intake",
    "otlp_router",
]
