"""The grants of docs/scale.md are enough, as the engine's own access control says, on one server and on a cluster."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from headcount_collector.store.size import shrink
from tests.alerts.peers import peer
from tests.collector.clickhouse_endpoint import CLUSTER, clickhouse_endpoint
from tests.collector.page_evidence import ASKED, commit, record, story
from tests.collector.running import eventually, running_collector
from tests.dashboards.asked import all_panels, all_rules, rule_queries
from tests.dashboards.conftest import scene_of
from tests.dashboards.macros import expand, expand_macros

SCALE = (Path(__file__).parents[2] / "docs" / "scale.md").read_text()


def granted(user: str) -> list[str]:
    """Return what the page says that `user` needs."""
    return re.findall(rf"(GRANT .+?) TO {user};", SCALE)


def profile(user: str) -> dict[str, str]:
    """Return the settings that the page makes `user` with."""
    (settings,) = re.findall(rf"CREATE USER IF NOT EXISTS {user} .*?SETTINGS (.+?);", SCALE)
    return dict(each.split(" = ") for each in settings.split(", "))


def alerts(url: str) -> dict[str, Any]:
    """Return the settings that tell `url` everything."""
    return {
        "receivers": {"hook": {"channels": [{"type": "webhook", "url": url}]}},
        "route": {"receiver": "hook"},
    }


def refused(url: str, sql: str) -> bool:
    """Ask; return whether the engine's access control, or `readonly`, refused it."""
    try:
        urlopen(url, sql.encode()).close()
    except HTTPError as error:
        with error:
            return error.headers["X-ClickHouse-Exception-Code"] in ("497", "164")
    return False


@pytest.fixture(params=[None, CLUSTER])
def cluster(request: pytest.FixtureRequest) -> str | None:
    found: str | None = request.param
    return found


def test_collector_and_grafana_need_no_more_than_is_granted(cluster: str | None, tmp_path: Path) -> None:
    folder = tmp_path / "server"
    options: dict[str, Any] = {
        "policy": {"delivery_grace": "300ms", "warm_up": "100ms"},
        **({} if cluster is None else {"cluster": cluster}),
    }
    with (
        peer() as told,
        clickhouse_endpoint(folder, granted("headcount"), profile("headcount")) as server,
        running_collector(
            tmp_path / "data", store=f"{server.url}/headcount", alerts=alerts(told.url), **options
        ) as running,
    ):
        old = record("dispatch", "old", 20 * 86400, "s0")
        commit(running.collector, [*story(), record("dispatch", "late", 5, "s2", agent="reviewer"), old])
        assert eventually(lambda: running.get("/api/v1/runs/reviewer-7?session=s1").status == 200)
        assert eventually(lambda: running.get("/api/v1/incidents").json["incidents"])
        told.wait_for(1)
        for path in (*running.plain_routes(), *ASKED):
            assert running.get(path).status in (200, 404, 422), path
        assert shrink(running.collector.store, 1)
        assert server.denied() == []
        ((engine,),) = running.collector.store.query(
            "SELECT engine FROM system.tables WHERE database = 'headcount' AND name = 'evidence'"
        )
        assert (engine == "Distributed") == (cluster is not None)
        assert refused(server.url, "CREATE DATABASE other")
        assert refused(server.url, "SELECT * FROM url('http://127.0.0.1:9/', 'CSV', 'a String')")
    with clickhouse_endpoint(folder, granted("grafana"), profile("grafana")) as server:
        scene = scene_of(int(time.time()), "s1", "reviewer-7")
        panels = [expand(target["rawSql"], scene) for _, panel in all_panels() for target in panel["targets"]]
        rules = [
            expand_macros(query["model"]["rawSql"], scene)
            for rule in all_rules()
            for query in rule_queries(rule)
        ]
        for sql in (*panels, *rules):
            urlopen(f"{server.url}/?database=headcount", sql.encode()).close()
        assert server.denied() == []
        assert refused(server.url, "INSERT INTO headcount.lease SELECT * FROM headcount.lease")
        assert refused(server.url, "DROP TABLE headcount.verdict")
