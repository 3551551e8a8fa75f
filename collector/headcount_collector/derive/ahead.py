"""The work of runs, read before it is asked for: the engine answers while it is still made out who is who."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from headcount_collector.derive import rows
from headcount_collector.derive.rows import ActivityRow, Asked, CallRow, Places, RunKey
from headcount_collector.store.client import Store

Question = tuple[tuple[str, ...], Asked]
"""The names of a run, and what is asked of its calls besides."""

WORTHWHILE = 100
"""For fewer runs it is not done: what turns out to be missing takes further questions."""
_MOST = 2_000


@dataclass(slots=True)
class Ahead:
    """What is being read, and for which runs."""

    questions: Mapping[RunKey, Question]
    places: Places
    _calls: Future[list[CallRow]]
    _activity: Future[list[ActivityRow]]

    @classmethod
    def begin(cls, store: Store, questions: Mapping[RunKey, Question]) -> Ahead:
        """Begin to read, in a thread, what runs did whose names are all their own."""
        questions = dict(list(questions.items())[:_MOST])
        homes = {RunKey(key.session, name): key for key, (names, _) in questions.items() for name in names}
        places = Places.of(homes)
        wakers = {waker for _, (of_waits, _) in questions.values() for waker in of_waits}
        owners = {key for key, (_, (_, owner)) in questions.items() if owner}
        with_a_thread = ThreadPoolExecutor(1, "headcount-ahead")
        try:
            return cls(
                questions,
                places,
                with_a_thread.submit(rows.calls, store, places, list(wakers), owners=owners, several=()),
                with_a_thread.submit(rows.activity, store, places, beside=True),
            )
        finally:
            with_a_thread.shutdown(wait=False)

    def result(self) -> tuple[list[ActivityRow], list[CallRow]]:
        """Return the rows, as soon as they are there. Raises StoreError."""
        return self._activity.result(), self._calls.result()

    def end(self) -> None:
        """Wait until the handle is free again; what was read is of no use any more."""
        wait([self._calls])
        wait([self._activity])
