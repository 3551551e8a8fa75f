"""Everything that is asked of a store can be planned where its tables are spread over a cluster's shards.

No server is to be had here. The embedded engine knows clusters, too, and plans a statement before it looks for a shard:
that is where it refuses what cannot be spread.
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from headcount_collector.store import Store
from tests.collector.page_evidence import ASKED, commit, record, story
from tests.collector.running import Running, eventually, running_collector
from tests.dashboards.asked import DASHBOARDS, all_panels, all_rules, rule_queries
from tests.dashboards.conftest import scene_of
from tests.dashboards.macros import expand, expand_macros

_ROOT = Path(__file__).parents[2]


class Statements:
    """What was asked, each text once, with the parameters of its first time."""

    def __init__(self) -> None:
        self.asked: dict[str, dict[str, Any]] = {}

    def watch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("query", "command"):
            monkeypatch.setattr(Store, name, self._kept(getattr(Store, name)))

    def _kept(self, run: Any) -> Any:
        def asked(store: Store, sql: str, parameters: Mapping[str, object] | None = None, **how: Any) -> Any:
            self.asked.setdefault(sql, dict(parameters or {}))
            return run(store, sql, parameters, **how)

        return asked


def plan(statements: dict[str, dict[str, Any]]) -> Any:
    """Return what a server of a cluster says to the statements."""
    command = [sys.executable, "-m", "tests.collector.cluster_planner"]
    given = pickle.dumps(list(statements.items()))
    run = subprocess.run(command, input=given, stdout=subprocess.PIPE, check=True, cwd=_ROOT)
    return json.loads(run.stdout)


def test_the_planner_refuses_what_a_cluster_refuses() -> None:
    told = plan({"SELECT no_such_column FROM verdict": {}, "SELECT run_id FROM verdict": {}})
    assert (told["planned"], [sql for sql, _ in told["refused"]]) == (
        2,
        ["SELECT no_such_column FROM verdict"],
    )


def test_what_the_collector_asks_can_be_planned_on_a_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements = Statements()
    statements.watch(monkeypatch)
    with running_collector(tmp_path) as running:
        commit(running.collector, [*story(), record("dispatch", "late", 5, "s2", agent="reviewer")])
        _judged(running)
        for path in (*running.plain_routes(), *ASKED):
            assert running.get(path).status in (200, 404, 422), path
    told = plan(statements.asked)
    assert told["planned"] > 50
    assert told["refused"] == []


def test_what_grafana_asks_can_be_planned_on_a_cluster() -> None:
    scene = scene_of(int(time.time()), "s1", "reviewer-7")
    panels = [target["rawSql"] for _, panel in all_panels() for target in panel["targets"]]
    around = [
        each["query"] if isinstance(each["query"], str) else each["query"]["rawSql"]
        for board in DASHBOARDS
        for each in board["templating"]["list"]
        if each["type"] == "query"
    ]
    rules = [
        expand_macros(query["model"]["rawSql"], scene) for rule in all_rules() for query in rule_queries(rule)
    ]
    told = plan({sql: {} for sql in (*(expand(sql, scene) for sql in (*panels, *around)), *rules)})
    assert told["planned"] > 50
    assert told["refused"] == []


def _judged(running: Running) -> None:
    assert eventually(lambda: running.get(f"/api/v1/runs/{quote('reviewer-7')}?session=s1").status == 200)
