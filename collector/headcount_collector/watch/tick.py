"""One evaluation: what changed or is due is loaded, judged, compared with what was believed, and written back."""

from __future__ import annotations

import gc
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from headcount_collector.derive.loader import FactsLoader, RunKey
from headcount_collector.judge.facts import Facts
from headcount_collector.judge.judge import judge
from headcount_collector.judge.policy import SECOND, Policy
from headcount_collector.judge.verdict import ACTIVE, Signal, Verdict
from headcount_collector.store.client import Store
from headcount_collector.watch.index import Key, Known, WatchIndex
from headcount_collector.watch.neighbours import Surroundings
from headcount_collector.watch.observer import ABSENCE_RULES, ABSENCE_SIGNALS, MISSED, OUTAGE_AFTER, Observer
from headcount_collector.watch.sleep import with_sleep, without_sleep
from headcount_collector.watch.verdicts import Evaluation, Transition, VerdictStore

_LATE_AFTER = 5 * SECOND
_LOADED_AT_ONCE = 2000
_STEP_SETTLES = 60 * SECOND
_FOREVER = 2**63 - 1
_WRITTEN_AFTER = OUTAGE_AFTER // 2
"""So long an evaluation without a verdict may wait for its record: a restart takes the last record for the last look."""


@dataclass(frozen=True, slots=True)
class TickReport:
    """What one evaluation did."""

    evaluation: Evaluation
    verdicts: dict[Key, Verdict]
    transitions: tuple[Transition, ...]
    forgotten: tuple[Key, ...] = ()
    """Runs that turned out to be other names of dispatched ones."""
    sleeps: tuple[tuple[int, int], ...] = ()
    """(asleep from, awake again) of this host, as far back as is remembered."""


class Tick:
    """The judge's loop body, without a clock of its own: `at` is now, `read_until` the last commit that may be read."""

    def __init__(self, store: Store, policy: Policy, *, overlap_ns: int = 0) -> None:
        """`overlap_ns`: how far back each tick reads once more, where others write into the store."""
        self._overlap_ns = overlap_ns
        self._policy = policy
        self._loader = FactsLoader(store, skew_ns=policy.default.skew, teaches=True)
        self.verdicts = VerdictStore(store)
        self.index = WatchIndex()
        self.observer = Observer(policy.default.warm_up)
        self._read_until = 0
        self._before_step: tuple[int, int] | None = None
        self._last_at = 0
        self._version = 0
        self._held: set[Key] = set()
        self._forgotten: list[Key] = []
        self._unwritten: list[Evaluation] = []
        self._wrote_at = 0

    def remembers(self, session: str) -> bool:
        """Tell whether facts of a session are in memory."""
        return self._loader.remembers(session)

    def resume(self, at: int) -> None:
        """Take up where the last collector stopped: its open runs are due, and a gap since its last tick is an outage.

        Where the clock was set back meanwhile, all counts from now on, and new verdicts still replace the old ones.
        """
        last = self.verdicts.last_evaluation()
        if last is not None:
            self._last_at, self._read_until = last
            if at < self._last_at:
                self._last_at, self._read_until = at, min(at, self._read_until)
                self._version = self.verdicts.last_version()
            elif at - self._last_at > OUTAGE_AFTER:
                self.observer.was_blind(self._last_at, at)
        for seen in self.verdicts.watched():
            known = Known(
                seen.status,
                seen.failure_class or None,
                seen.leaning or None,
                seen.severity or None,
                next_due=0,
                since=seen.since,
            )
            self.index.known[seen.session, seen.run] = known

    def set_back(self, step_ns: int, now: int) -> None:
        """Hear that the clock was set back and is `now`: all that is watched is judged again by it.

        What is received from now on is dated before what was received until now. News of before the step that were
        not read yet are looked for by their own dates for a while, since a commit may have been under way.
        """
        self._before_step = (self._read_until, now + _STEP_SETTLES)
        self.observer.set_back(step_ns, now)
        self._read_until -= step_ns
        self._last_at -= step_ns
        for key, known in self.index.known.items():
            self.index.known[key] = replace(known, next_due=0)

    def look_again(self, keys: Collection[Key]) -> None:
        """Have runs judged in the next evaluation, though nothing may have changed and nothing be due."""
        for seen in self.verdicts.watched(list(keys)) if keys else ():
            self.index.known[seen.session, seen.run] = Known(
                seen.status,
                seen.failure_class or None,
                seen.leaning or None,
                seen.severity or None,
                next_due=0,
                since=seen.since,
            )

    def evaluate(self, at: int, read_until: int, *, late_ns: int = 0) -> TickReport:
        """Judge everything that news up to `read_until` or time up to `at` may have turned, and store the outcome."""
        began = time.perf_counter_ns()
        # A thousand runs are a hundred thousand objects without a circle among them: the collector of circles would look at
        # all that is watched, again and again, and find nothing.
        collects = gc.isenabled()
        gc.disable()
        try:
            return self._evaluate(at, read_until, late_ns, began)
        finally:
            if collects:
                gc.enable()

    def _evaluate(self, at: int, read_until: int, late_ns: int, began: int) -> TickReport:
        changed = self._changed(read_until, at)
        due = {*self.index.due(at), *(() if self.observer.degraded(at) else self._held)}
        asked = {*changed, *due}
        facts = dict(self._load(asked))
        self._listen(facts, at)
        concerned = self.index.concerned(facts[key] for key in asked if key in facts) - asked
        if concerned:
            facts |= self._load(concerned)
        verdicts = self._judge(asked | concerned, facts, at)
        transitions = self._compare(verdicts, at)
        self._version = max(self._version + 1, at)
        self.verdicts.write(list(verdicts.values()), transitions, self._version)
        for key, verdict in verdicts.items():
            self.index.put(key, facts[key], verdict)
        self._loader.keep({session for session, _ in self.index.known})
        self._held = {key for key in self._held if key not in verdicts}
        self._held |= {key for key, verdict in verdicts.items() if verdict.held}
        self._read_until, self._last_at = max(self._read_until, read_until), at
        took = time.perf_counter_ns() - began
        evaluation = Evaluation(
            at=at,
            took_ns=took,
            late_ns=late_ns,
            changed=len(changed),
            due=len(due),
            judged=len(verdicts),
            transitions=len(transitions),
            open_runs=len(self.index.known),
            observer=self.observer.state(at),
            read_until=self._read_until,
        )
        self._unwritten.append(evaluation)
        if verdicts or began - self._wrote_at > _WRITTEN_AFTER:
            self.flush()
        forgotten, self._forgotten = tuple(self._forgotten), []
        return TickReport(evaluation, verdicts, tuple(transitions), forgotten, tuple(self.observer.sleeps))

    def flush(self) -> None:
        """Write the records of evaluations that found nothing to judge: they go several at once."""
        self.verdicts.write_evaluations(self._unwritten)
        self._unwritten, self._wrote_at = [], time.perf_counter_ns()

    @property
    def next_due(self) -> int | None:
        """The earliest moment at which time alone may turn a verdict, or the state of the observer."""
        moments = [known.next_due for known in self.index.known.values() if known.next_due is not None]
        lost = [last + MISSED * interval for interval, last in self.index.keepalives()]
        if len(lost) >= 2 and max(lost) > self._last_at:
            moments.append(max(lost))
        return min(moments, default=None)

    def _listen(self, facts: Mapping[Key, Facts], at: int) -> None:
        """Let the observer hear what the producers of all watched runs last said."""
        for key, known in facts.items():
            if key in self.index.known:
                self.index.hear(key, known)
        self.observer.listen(self.index.keepalives(), at)

    def _changed(self, read_until: int, at: int) -> set[Key]:
        runs: set[Key] = set()
        for after, until in self._to_read(read_until, at):
            touched = self._loader.changed(after, until)
            for session, run in touched.runs:
                runs.add((session, run))
            for session, owner in touched.owners:
                runs |= self.index.of_owner(session, owner)
        if not runs:
            return set()
        resolved = self._loader.resolve([RunKey(*key) for key in runs])
        aliases = {(key.session, key.run) for key, target in resolved.items() if key != target}
        stale = [key for key in aliases if key in self.index.known]
        if stale:
            self.verdicts.forget(stale)
            self._forgotten += stale
            for key in stale:
                self.index.drop(key)
        return {(target.session, target.run) for target in resolved.values()}

    def _to_read(self, read_until: int, at: int) -> Iterator[tuple[int, int]]:
        """Yield (after, until) of the receiver's times from which news are to be read."""
        if read_until > self._read_until:
            yield self._read_until - self._overlap_ns, read_until
        if self._before_step is not None:
            former, until = self._before_step
            if at < until:
                yield former, _FOREVER
            else:
                self._before_step = None

    def _load(self, keys: Collection[Key]) -> dict[Key, Facts]:
        """Load facts, whole sessions together and no more than a few thousand runs at a time."""
        found: dict[Key, Facts] = {}
        ordered = sorted(keys)
        for first in range(0, len(ordered), _LOADED_AT_ONCE):
            batch = [RunKey(*key) for key in ordered[first : first + _LOADED_AT_ONCE]]
            for run, facts in self._loader.load(batch).items():
                found[run.session, run.run] = facts
        return found

    def _judge(self, keys: Collection[Key], facts: dict[Key, Facts], at: int) -> dict[Key, Verdict]:
        surroundings = Surroundings(facts, self._policy, at)
        verdicts: dict[Key, Verdict] = {}
        for key in sorted(keys):  # in an order that does not hang on how names are hashed
            if key not in facts:
                continue
            known, slept = without_sleep(surroundings.of(key), self.observer.sleeps)
            verdict = judge(known, self._policy, at)
            verdicts[key] = self._withheld(key, with_sleep(verdict, slept) if slept else verdict, at)
        return verdicts

    def _withheld(self, key: Key, verdict: Verdict, at: int) -> Verdict:
        """Withhold what rests on absence while the observer may be blind: a turn to abnormal, a signal that opens."""
        if not self.observer.degraded(at):
            return verdict
        due = min(self.observer.warm_at, verdict.next_due or self.observer.warm_at)
        signals = tuple(signal for signal in verdict.signals if not self._is_news_of_absence(signal))
        if len(signals) < len(verdict.signals):
            verdict = replace(verdict, signals=signals, held=True, next_due=due)
        former = self.index.known.get(key)
        known = former is not None and former.failure_class is not None
        if known or not verdict.abnormal or verdict.rule not in ABSENCE_RULES:
            return verdict
        return replace(
            verdict,
            status=former.status if former is not None else ACTIVE,
            failure_class=None,
            leaning=None,
            severity=None,
            held=True,
            next_due=due,
        )

    def _is_news_of_absence(self, signal: Signal) -> bool:
        """Tell whether a signal opened since the observer was blind; what was open before stays so."""
        return signal.name in ABSENCE_SIGNALS and signal.since >= self.observer.blind_from

    def _compare(self, verdicts: dict[Key, Verdict], at: int) -> list[Transition]:
        strangers = [key for key in verdicts if key not in self.index.known]
        former = (
            {(seen.session, seen.run): seen for seen in self.verdicts.watched(strangers)} if strangers else {}
        )
        transitions = []
        for key, verdict in verdicts.items():
            before = self.index.known.get(key) or former.get(key)
            now = (verdict.status, verdict.failure_class or "", verdict.leaning or "", verdict.severity or "")
            if before is not None and now == (
                before.status,
                before.failure_class or "",
                before.leaning or "",
                before.severity or "",
            ):
                continue
            # A class may turn while its rule holds on: then the last evaluation knew all there was to know.
            began = before is None or before.since != verdict.since
            late = began and verdict.since < (self._last_at or at) - _LATE_AFTER
            transitions.append(Transition(before.status if before is not None else None, verdict, at, late))
        return transitions
