"""An open run as it stands at the moment of reading: what grows with time alone is not judged again for it."""

from __future__ import annotations

from collections.abc import Sequence

from headcount_collector.judge.facts import Facts
from headcount_collector.judge.judge import judge
from headcount_collector.judge.policy import Policy
from headcount_collector.watch.documents import Document, document_of
from headcount_collector.watch.neighbours import Surroundings
from headcount_collector.watch.sleep import Sleep, with_sleep, without_sleep

_CLOSED = ("completed", "recovered")


def present(
    document: Document, facts: Facts | None, policy: Policy, sleeps: Sequence[Sleep], now: int
) -> Document:
    """Return the document of a judged run with its time account as of `now`, and its words while the same rule holds.

    Status and signals stay those of the last evaluation, which may have withheld a change.
    """
    if facts is None or document["status"] in _CLOSED:
        return document
    key = document["session"], document["run"]
    known, slept = without_sleep(Surroundings({key: facts}, policy, now).of(key), sleeps)
    verdict = judge(known, policy, now)
    fresh = document_of(with_sleep(verdict, slept) if slept else verdict)
    kept = ("account", "evidence", "in_flight") if fresh["rule"] == document["rule"] else ("account",)
    return {**document, **{name: fresh[name] for name in kept}}
