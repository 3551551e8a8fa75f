"""Finds the one run that a name in a URL means, or says what to do about it."""

from __future__ import annotations

from headcount_collector.api.collector import Collector
from headcount_collector.api.problems import Problem
from headcount_collector.watch.documents import Document


def run_named(collector: Collector, run: str, session: str | None = None) -> Document:
    """Return the verdict of the run that goes by this name. Raises Problem 404, or 300 where several do."""
    found = collector.verdicts.named(run, session)
    if not found:
        where = "" if session is None else f" in session {session!r}"
        raise Problem(404, f"no run goes by {run!r}{where}; GET /api/v1/runs lists those that are known")
    if len(found) > 1:
        raise Problem(
            300,
            f"{len(found)} runs go by {run!r}: add ?session= with one of these, or use the run's own id",
            runs=[{"session": other["session"], "run": other["run"]} for other in found],
        )
    return found[0]
