"""Drop-in instrumentation that counts delegated agent work out and back in."""

from headcount.carrier import environ, extract, inject
from headcount.child import Child, child, current_child
from headcount.configuration import Stats, configure, flush, shutdown, stats
from headcount.decorator import subagent
from headcount.dispatch import dispatch
from headcount.interval import Interval, ModelRequest, Tool
from headcount.owner import owner_final, owner_gone, owner_turn
from headcount.run import Run
from headcount.scope import Scope, inside, session
from headcount.version import __version__

__all__ = [
    "Child",
    "Interval",
    "ModelRequest",
    "Run",
    "Scope",
    "Stats",
    "Tool",
    "__version__",
    "child",
    "configure",
    "current_child",
    "dispatch",
    "environ",
    "extract",
    "flush",
    "inject",
    "inside",
    "owner_final",
    "owner_gone",
    "owner_turn",
    "session",
    "shutdown",
    "stats",
    "subagent",
]
