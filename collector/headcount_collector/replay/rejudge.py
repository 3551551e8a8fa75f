"""Judges the stored runs of a time range under another policy, and tells what it would have changed; writes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from headcount_collector.derive.loader import FactsLoader, RunKey
from headcount_collector.judge.facts import Facts
from headcount_collector.judge.judge import judge
from headcount_collector.judge.policy import Policy
from headcount_collector.judge.verdict import Verdict
from headcount_collector.store.client import Store
from headcount_collector.watch.documents import Document, rfc3339
from headcount_collector.watch.neighbours import Surroundings
from headcount_collector.watch.sleep import with_sleep, without_sleep

MOST = 10_000
"""Runs that are judged anew at most."""
_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Change:
    """One run that another policy judges otherwise."""

    before: Verdict
    after: Verdict

    @property
    def kind(self) -> str:
        """How it differs: abnormal only under one of the policies, sooner or later so, or of another class."""
        was, would = self.before.first_abnormal_at, self.after.first_abnormal_at
        if was != would:
            if was is None:
                return "newly_abnormal"
            if would is None:
                return "no_longer_abnormal"
            return "sooner" if would < was else "later"
        return "otherwise"

    def document(self) -> Document:
        """Return the change as JSON."""
        return {
            "session": self.before.session,
            "run": self.before.run,
            "agent": self.before.agent,
            "change": self.kind,
            "before": _side(self.before),
            "after": _side(self.after),
        }


@dataclass(slots=True)
class Rejudgement:
    """What another policy would have changed. Moments in nanoseconds; judged as things stood at the end of the range."""

    begin: int
    end: int
    runs: int = 0
    truncated: bool = False
    """Whether there were more runs in the range than were judged: the latest are missing."""
    changes: list[Change] = field(default_factory=list)
    before: Counter[str] = field(default_factory=Counter)
    after: Counter[str] = field(default_factory=Counter)
    abnormal_before: int = 0
    """Runs that were abnormal at some time."""
    abnormal_after: int = 0

    def document(self) -> Document:
        """Return the whole as JSON, the runs that changed in order of their dispatch."""
        return {
            "from": rfc3339(self.begin),
            "to": rfc3339(self.end),
            "runs": self.runs,
            "truncated": self.truncated,
            "changed": len(self.changes),
            "kinds": dict(Counter(change.kind for change in self.changes)),
            "ever_abnormal": {"before": self.abnormal_before, "after": self.abnormal_after},
            "statuses": {"before": dict(self.before), "after": dict(self.after)},
            "changes": [change.document() for change in self.changes],
        }


def rejudge(
    store: Store,
    begin: int,
    end: int,
    *,
    present: Policy,
    other: Policy,
    limit: int = MOST,
    sleeps: Sequence[tuple[int, int]] = (),
) -> Rejudgement:
    """Judge the runs dispatched in [begin, end) at `end` under both policies and compare.

    What was withheld while the observer was blind plays no part. `sleeps` of the host are taken out, as live.
    """
    keys = _dispatched(store, begin, end, limit + 1)
    found = Rejudgement(begin, end, runs=min(len(keys), limit), truncated=len(keys) > limit)
    for first in range(0, found.runs, _AT_ONCE):
        batch = keys[first : min(first + _AT_ONCE, limit)]
        verdicts = {}
        for name, policy in (("before", present), ("after", other)):
            # Clocks are corrected by the policy's skew, so each policy has facts of its own.
            facts = FactsLoader(store, skew_ns=policy.default.skew).load(batch)
            verdicts[name] = dict(_judged(batch, facts, policy, end, sleeps))
        for key in batch:
            if key in verdicts["before"] and key in verdicts["after"]:
                _count(found, verdicts["before"][key], verdicts["after"][key])
    return found


def _dispatched(store: Store, begin: int, end: int, limit: int) -> list[RunKey]:
    rows = store.query(
        "SELECT session_id, run_id FROM verdict FINAL"
        " WHERE dispatched_at >= fromUnixTimestamp64Nano({begin:Int64})"
        " AND dispatched_at < fromUnixTimestamp64Nano({end:Int64})"
        " ORDER BY dispatched_at, session_id, run_id LIMIT {limit:UInt32}",
        {"begin": begin, "end": end, "limit": limit},
    )
    return [RunKey(session, run) for session, run in rows]


def _judged(
    keys: Sequence[RunKey],
    facts: Mapping[RunKey, Facts],
    policy: Policy,
    at: int,
    sleeps: Sequence[tuple[int, int]],
) -> Iterator[tuple[RunKey, Verdict]]:
    surroundings = Surroundings({(key.session, key.run): known for key, known in facts.items()}, policy, at)
    for key in keys:
        if key in facts:
            known, slept = without_sleep(surroundings.of((key.session, key.run)), sleeps)
            verdict = judge(known, policy, at)
            yield key, with_sleep(verdict, slept) if slept else verdict


def _count(found: Rejudgement, before: Verdict, after: Verdict) -> None:
    found.before[before.status] += 1
    found.after[after.status] += 1
    found.abnormal_before += before.first_abnormal_at is not None
    found.abnormal_after += after.first_abnormal_at is not None
    if _core(before) != _core(after):
        found.changes.append(Change(before, after))


def _core(verdict: Verdict) -> tuple[object, ...]:
    return (
        verdict.status,
        verdict.failure_class,
        verdict.leaning,
        verdict.severity,
        verdict.first_abnormal_at,
        sorted((signal.name, signal.severity) for signal in verdict.signals),
    )


def _side(verdict: Verdict) -> Document:
    return {
        "status": verdict.status,
        "class": verdict.failure_class,
        "leaning": verdict.leaning,
        "severity": verdict.severity,
        "first_abnormal_at": rfc3339(verdict.first_abnormal_at),
        "signals": sorted(signal.name for signal in verdict.signals),
    }
