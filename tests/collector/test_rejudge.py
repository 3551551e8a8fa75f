"""What another policy would have made of stored runs: by a collector, from a folder, and what is refused."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from headcount_collector.evidence import wire
from headcount_collector.evidence.record import Record, export_request
from headcount_collector.judge.policy import SECOND, Policy
from headcount_collector.replay.rejudge import rejudge
from headcount_collector.store import Store, migrate
from headcount_collector.watch.documents import rfc3339
from headcount_collector.watch.tick import Tick

T0 = 1_796_000_000 * SECOND
PRESENT = Policy.from_mapping({"expected": "60s"})


def dispatched(run: str, at_ns: int, agent: str = "worker") -> Record:
    return Record("dispatch", at_ns, run, "s1", {wire.AGENT: agent}, service="here")


def forwarded(run: str, at_ns: int) -> Record:
    return Record("completion_forwarded", at_ns, run, "s1", {wire.FORWARDED: True}, service="here")


def commit(store: Store, records: list[Record], received_ns: int) -> None:
    store.commit([export_request(records).SerializeToString()], received_ns)


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with contextlib.closing(Store.open(":memory:")) as opened:
        migrate(opened, retention_days=3650)
        at = T0 + 40 * SECOND
        records = [
            dispatched("quick", T0),
            dispatched("slow", T0 + SECOND),
            dispatched("open", T0 + 2 * SECOND),
        ]
        commit(opened, [*records, forwarded("quick", T0 + 5 * SECOND), forwarded("slow", at)], at)
        tick = Tick(opened, PRESENT)
        tick.evaluate(T0 + 50 * SECOND, at)
        yield opened


def test_a_shorter_deadline_tells_which_runs_it_would_have_called_late(store: Store) -> None:
    other = Policy.from_mapping({"expected": "20s"})
    found = rejudge(store, T0, T0 + 50 * SECOND, present=PRESENT, other=other).document()
    assert (found["runs"], found["changed"], found["truncated"]) == (3, 2, False)
    assert found["ever_abnormal"] == {"before": 0, "after": 2}
    changes = {change["run"]: change for change in found["changes"]}
    assert set(changes) == {"slow", "open"}
    assert {change["change"] for change in changes.values()} == {"newly_abnormal"}
    assert changes["open"]["after"]["first_abnormal_at"] == rfc3339(T0 + 22 * SECOND)
    assert (changes["open"]["before"]["status"], changes["open"]["after"]["status"]) == (
        "active",
        "suspect_delivery_failure",
    )
    assert (changes["slow"]["before"]["status"], changes["slow"]["after"]["status"]) == (
        "completed",
        "recovered",
    )


def test_the_same_policy_changes_nothing(store: Store) -> None:
    found = rejudge(store, T0, T0 + 50 * SECOND, present=PRESENT, other=PRESENT)
    assert (found.runs, found.changes, found.before) == (3, [], found.after)


def test_sooner_and_no_longer_are_told_apart(store: Store) -> None:
    strict, stricter = (Policy.from_mapping({"expected": length}) for length in ("20s", "10s"))
    found = rejudge(store, T0, T0 + 50 * SECOND, present=strict, other=stricter).document()
    assert found["kinds"] == {"sooner": 2}
    found = rejudge(store, T0, T0 + 50 * SECOND, present=strict, other=PRESENT).document()
    assert found["kinds"] == {"no_longer_abnormal": 2}


def test_only_the_range_counts_and_the_limit_is_told(store: Store) -> None:
    found = rejudge(store, T0 + SECOND, T0 + 2 * SECOND, present=PRESENT, other=PRESENT)
    assert found.runs == 1
    found = rejudge(store, T0, T0 + 50 * SECOND, present=PRESENT, other=PRESENT, limit=2)
    assert (found.runs, found.truncated) == (2, True)


def test_nothing_is_written(store: Store) -> None:
    def rows() -> list[tuple[object, ...]]:
        return store.query("SELECT (SELECT count() FROM verdict), (SELECT count() FROM transition)")

    before = rows()
    rejudge(store, T0, T0 + 50 * SECOND, present=PRESENT, other=Policy.from_mapping({"expected": "1s"}))
    assert rows() == before
