"""Finds the one run that a name in a URL means, or says what to do about it."""

from __future__ import annotations

import time

from headcount_collector.api.collector import Collector
from headcount_collector.api.problems import Problem
from headcount_collector.judge.facts import Facts
from headcount_collector.watch.documents import Document
from headcount_collector.watch.present import present


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


def present_of(collector: Collector, document: Document, facts: Facts | None) -> Document:
    """Return the document of a run with what grows with time alone as it is now."""
    sleeps = collector.watch.tick.observer.sleeps
    return present(document, facts, collector.settings.judged_by, sleeps, time.time_ns())
