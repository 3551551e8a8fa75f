"""`headcount replay --from` over the folder of a collector that was stopped, and over one that an older program left."""

from __future__ import annotations

import json
import time
from contextlib import closing
from pathlib import Path

import pytest

from headcount_collector.evidence.moment import moment_text
from headcount_collector.evidence.record import export_request
from headcount_collector.judge.policy import SECOND
from headcount_collector.store import Store
from tests.collector.running import eventually, running_collector
from tests.collector.test_cli import headcount
from tests.collector.test_rejudge import dispatched


@pytest.fixture
def stricter(tmp_path: Path) -> str:
    file = tmp_path / "new.toml"
    file.write_text('[policy]\nexpected = "30s"\nblocked_after = "1m"\n')
    return str(file)


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    """Return the folder of a collector that saw one run ten minutes old, another of now, and was stopped."""
    folder = tmp_path / "data"
    with running_collector(folder) as found:
        now = time.time_ns()
        sent = [dispatched("old", now - 600 * SECOND), dispatched("new", now - SECOND)]
        assert (
            found.post(
                "/v1/traces", export_request(sent).SerializeToString(), "application/x-protobuf"
            ).status
            == 200
        )
        eventually(lambda: found.collector.verdicts.count({}) == 2)
    return folder


def test_a_range_of_a_stopped_collector_is_judged_from_its_folder(stopped: Path, stricter: str) -> None:
    arguments = [
        "replay",
        "--from",
        "1h",
        "--to",
        moment_text(time.time_ns()),
        "--policy",
        stricter,
        "--data",
        str(stopped),
    ]
    shown = headcount(*arguments)
    assert shown.exit_code == 0, shown.output
    for said in ("old", "newly abnormal", "0 now, 1 under"):
        assert said in shown.output
    found = json.loads(headcount(*arguments, "--json").output)
    assert (found["runs"], found["changed"], found["kinds"]) == (2, 1, {"newly_abnormal": 1})
    (change,) = found["changes"]
    assert (change["run"], change["before"]["status"], change["after"]["status"]) == (
        "old",
        "active",
        "blocked",
    )
    earlier = moment_text(time.time_ns() - 1800 * SECOND)
    nothing = json.loads(
        headcount(
            "replay", "--from", "2h", "--to", earlier, "--policy", stricter, "--data", str(stopped), "--json"
        ).output
    )
    assert (nothing["runs"], nothing["changed"]) == (0, 0)


def test_a_folder_of_an_older_program_is_refused_with_the_way_out(stopped: Path, stricter: str) -> None:
    with closing(Store.open(stopped)) as store:
        store.command("TRUNCATE TABLE schema_migrations")
        store.insert("schema_migrations", [(52, "collector_number")], ["number", "name"])
    refused = headcount("replay", "--from", "1h", "--policy", stricter, "--data", str(stopped))
    assert refused.exit_code == 1
    assert "start headcount serve on it once" in " ".join(refused.stderr.split())
