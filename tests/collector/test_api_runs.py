"""The API of judged runs over a real store and a real server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from headcount_collector.judge.policy import SECOND
from headcount_collector.judge.verdict import Receipts, Verdict
from headcount_collector.watch.verdicts import Transition
from tests.collector.running import Running, running_collector

T0 = 1_796_000_000 * SECOND


def verdict(run: str, status: str = "active", session: str = "s1", **other: object) -> Verdict:
    made = Verdict(
        session=session,
        run=run,
        at=T0 + 60 * SECOND,
        status=status,
        rule="9",
        since=T0,
        agent="reviewer",
        service="here",
        names=(run,),
        counts=True,
        remaining=status == "active",
        receipts=Receipts(run, dispatch_at=T0),
        evidence=("rule 9: in time",),
    )
    return replace(made, **other)  # type: ignore[arg-type]  # fields of Verdict, by name


BLOCKED = verdict(
    "blocked-one",
    "blocked",
    severity="page",
    failure_class="owner_gone",
    abnormal_since=T0 + SECOND,
    owner="lead",
    names=("blocked-one", "task-7"),
)
VERDICTS = [
    verdict("slow-one"),
    BLOCKED,
    verdict("done-one", "completed", mode="foreground", counts=False),
    verdict("same", session="s1"),
    verdict("same", session="s2"),
    verdict("with/slash and space", session="s2", names=("with/slash and space", "shared-name")),
    verdict("other", session="s2", names=("other", "shared-name")),
]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    # The judge is told to look rarely: these verdicts rest on no evidence, and must not be judged again.
    with running_collector(tmp_path_factory.mktemp("data"), tick_s=60) as found:
        found.collector.verdicts.write(
            VERDICTS, [Transition("active", BLOCKED, T0 + 2 * SECOND, late=False)], version=1
        )
        yield found


def names(running: Running, query: str) -> list[str]:
    answer = running.get(f"/api/v1/runs?{query}")
    assert answer.status == 200, answer.body
    return [run["run"] for run in answer.json["runs"]]


def test_the_most_urgent_run_comes_first(running: Running) -> None:
    page = running.get("/api/v1/runs").json
    assert page["total"] == len(VERDICTS)
    assert page["runs"][0]["run"] == "blocked-one"
    assert page["observer"] == "ok"


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("status=blocked", {"blocked-one"}),
        ("severity=page", {"blocked-one"}),
        ("class=owner_gone", {"blocked-one"}),
        ("abnormal=true", {"blocked-one"}),
        ("owner=lead", {"blocked-one"}),
        ("mode=foreground", {"done-one"}),
        ("open=false", {"done-one"}),
        ("session=s2", {"same", "other", "with/slash and space"}),
        ("session=s1&open=true&abnormal=false", {"slow-one", "same"}),
        ("agent=nobody", set()),
        ("service=here&status=completed", {"done-one"}),
    ],
)
def test_each_filter_narrows(query: str, found: set[str], running: Running) -> None:
    assert set(names(running, query)) == found


def test_an_empty_owner_is_the_root_owner(running: Running) -> None:
    assert "blocked-one" not in names(running, "owner=")
    assert len(names(running, "owner=")) == len(VERDICTS) - 1


def test_pages_join_to_the_whole(running: Running) -> None:
    whole = names(running, "")
    pages = [names(running, f"limit=2&offset={offset}") for offset in range(0, len(whole), 2)]
    assert [run for page in pages for run in page] == whole
    assert names(running, f"offset={len(whole)}") == []


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("status=unwell", "status: Input should be 'active'"),
        ("limit=0", "limit: "),
        ("limit=1001", "limit: "),
        ("offset=-1", "offset: "),
        ("open=perhaps", "open: "),
        ("agnet=reviewer", "no such filter: agnet; there are session, owner, agent"),
    ],
)
def test_a_wrong_query_is_a_problem_that_names_it(query: str, says: str, running: Running) -> None:
    answer = running.get(f"/api/v1/runs?{query}")
    assert answer.status == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert says in answer.json["detail"]


def test_one_run_is_shown_with_timeline_and_transitions(running: Running) -> None:
    run = running.get("/api/v1/runs/blocked-one").json
    assert (run["status"], run["class"], run["receipts"]["runId"]) == ("blocked", "owner_gone", "blocked-one")
    assert run["timeline"] == []
    assert [change["to"] for change in run["transitions"]] == ["blocked"]


@pytest.mark.parametrize("name", ["task-7", "with%2Fslash%20and%20space", "with/slash%20and%20space"])
def test_a_run_is_found_by_any_of_its_names(name: str, running: Running) -> None:
    assert running.get(f"/api/v1/runs/{name}").status == 200


def test_an_unknown_run_is_a_problem(running: Running) -> None:
    answer = running.get("/api/v1/runs/nobody")
    assert answer.status == 404
    assert answer.json["detail"].startswith("no run goes by 'nobody'; GET /api/v1/runs lists")


@pytest.mark.parametrize("name", ["same", "shared-name"])
def test_an_ambiguous_name_lists_its_runs(name: str, running: Running) -> None:
    answer = running.get(f"/api/v1/runs/{name}")
    assert answer.status == 300
    assert "?session=" in answer.json["detail"]
    assert len(answer.json["runs"]) == 2


def test_a_session_tells_runs_of_one_name_apart(running: Running) -> None:
    run = running.get("/api/v1/runs/same?session=s2").json
    assert (run["session"], run["run"]) == ("s2", "same")
    assert running.get("/api/v1/runs/same?session=s3").status == 404


def test_groups_count_what_each_owner_is_owed(running: Running) -> None:
    groups = {
        (group["session"], group["owner"]): group for group in running.get("/api/v1/groups").json["groups"]
    }
    assert groups["s1", ""]["remaining"] == 2
    assert groups["s1", "lead"]["remaining"] == 0
    assert groups["s1", "lead"]["all_terminal"] is True
    assert groups["s2", ""]["runs"] == 3
    assert len(running.get("/api/v1/groups?session=s1").json["groups"]) == 2


def test_the_api_describes_itself(running: Running) -> None:
    paths = running.get("/api/v1/openapi.json").json["paths"]
    assert "/api/v1/runs" in paths
