"""What grows with time alone is told as of now, though an open run is judged only when something may turn."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.collector.page_evidence import commit, record
from tests.collector.running import Running, eventually, running_collector


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with running_collector(tmp_path) as found:
        yield found


def shown(running: Running) -> Any:
    answer = running.get("/api/v1/runs/r?session=s1")
    return answer.json if answer.status == 200 else None


def test_the_account_of_an_open_run_grows_though_nobody_judges_it(running: Running) -> None:
    commit(running.collector, [record("dispatch", "r", 7, agent="reviewer"), record("start", "r", 6)])
    eventually(lambda: shown(running))
    first = shown(running)
    second = eventually(
        lambda: (
            found
            if (found := shown(running))["account"]["total_s"] > first["account"]["total_s"] + 0.3
            else None
        )
    )
    assert second["judged_at"] == first["judged_at"]
    since = datetime.fromisoformat(second["judged_at"]) - datetime.fromisoformat(
        second["receipts"]["dispatchAt"]
    )
    assert second["account"]["total_s"] > since.total_seconds()
    parts = second["account"]
    assert parts["total_s"] == pytest.approx(
        parts["working_s"] + sum(parts["waiting_s"].values()) + parts["idle_s"] + parts["delivery_s"],
        abs=0.01,
    )


def test_sums_say_until_when_open_runs_are_counted(running: Running) -> None:
    commit(running.collector, [record("dispatch", "r", 7, agent="reviewer")])
    eventually(lambda: shown(running))
    (account,) = running.get("/api/v1/accounts").json["accounts"]
    assert (account["open"], account["as_of"]) == (1, shown(running)["judged_at"])
    commit(running.collector, [record("dismiss", "r", 0)])
    (account,) = eventually(
        lambda: (
            found
            if (found := running.get("/api/v1/accounts").json["accounts"]) and not found[0]["open"]
            else None
        )
    )
    assert account["as_of"] is None
