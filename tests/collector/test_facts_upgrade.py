"""A store that an older program filled: what it knew stays known, and what came since is read with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from headcount_collector.derive.loader import FactsLoader, RunKey
from headcount_collector.evidence.record import export_request
from headcount_collector.evidence.short_form import record_of
from headcount_collector.store import Store, migrate
from headcount_collector.store.migrate import apply, migrations

from .evidence_log import T0, at

OLDER = 54
"""The last migration before the facts were remembered between ticks."""
RUN = RunKey("s1", "r1")


def arrive(store: Store, when: float, **line: object) -> None:
    record = record_of({"at": when, "run": "r1", "session": "s1", **line}, T0)
    store.commit([export_request([record]).SerializeToString()], at(when))


@pytest.fixture
def older() -> Iterator[Store]:
    with closing(Store.open(":memory:")) as store:
        for migration in migrations():
            if migration.number <= OLDER:
                apply(store, migration, retention_days=3650)
        yield store


def test_what_an_older_program_stored_is_judged_with_what_comes_since(older: Store) -> None:
    arrive(older, 0, event="dispatch", agent="worker")
    arrive(older, 5, event="model_request", phase="ended", resolved_model="alpha", producer="p")
    applied = migrate(older, retention_days=3650)
    assert applied == [migration.number for migration in migrations() if migration.number > OLDER]
    loader = FactsLoader(older, teaches=True)
    assert RUN in loader.changed(at(-1), at(6)).runs
    facts = loader.load([RUN])[RUN]
    assert (facts.resolved_models, facts.neighbours.kind_heard_at) == (("alpha",), at(5))
    arrive(older, 9, event="model_request", phase="ended", resolved_model="zeta", producer="p")
    arrive(older, 12, event="model_request", phase="ended", resolved_model="beta", producer="p")
    assert RUN in loader.changed(at(6), at(12)).runs
    facts = loader.load([RUN])[RUN]
    assert facts.resolved_models == ("alpha", "zeta", "beta")
    assert facts == FactsLoader(older).load([RUN])[RUN]
    assert migrate(older, retention_days=3650) == []
