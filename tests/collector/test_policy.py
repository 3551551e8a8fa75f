"""The policy: who gets which times, what is refused, deadlines from history, and the commands about it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from headcount_collector.judge.accounts import Account
from headcount_collector.judge.facts import Dispatch, Facts, Wait
from headcount_collector.judge.judge import judge
from headcount_collector.judge.policy import SECOND, Policy, PolicyError, parse_duration
from headcount_collector.judge.verdict import Receipts, Verdict
from headcount_collector.replay.export import policy_table
from headcount_collector.watch.deadlines import toml_of
from tests.collector.running import Running, running_collector
from tests.collector.test_cli import headcount

T0 = 1_796_000_000 * SECOND
TABLE: dict[str, object] = {
    "expected": "10m",
    "idle": "20m",
    "service": {"here": {"expected": "11m", "idle": "21m"}},
    "agent": {"reviewer": {"expected": "12m"}, "build-*": {"expected": "13m"}, "*": {"consume": "1m"}},
    "unattended": {"liveness": "4m"},
    "attended": {"human_wait": "2h", "expected": "14m"},
    "session": {"s1": {"expected": "15m"}, "ci-*": {"expected": "16m", "overdue": "2x"}},
    "tool": {"Bash": {"tool_max": "2h"}},
}
POLICY = Policy.from_mapping(TABLE)


@pytest.mark.parametrize(
    ("session", "agent", "service", "attended", "minutes"),
    [
        ("s", None, "", False, 10),
        ("s", None, "here", False, 11),
        ("s", "reviewer", "here", False, 12),
        ("s", "build-wheels", "here", False, 13),
        ("s", "reviewer", "here", True, 14),
        ("s1", "reviewer", "here", True, 15),
        ("ci-77", "reviewer", "here", True, 16),
    ],
)
def test_the_nearest_table_wins(
    session: str, agent: str | None, service: str, attended: bool, minutes: int
) -> None:
    assert POLICY.times(session, agent, service, attended).expected == minutes * 60 * SECOND


def test_tables_add_to_each_other_and_the_first_pattern_that_matches_holds_alone() -> None:
    times = POLICY.times("s", "build-wheels", "here")
    assert (times.idle, times.liveness, times.consume) == (21 * 60 * SECOND, 240 * SECOND, 300 * SECOND)
    assert POLICY.times("s", "another", "").consume == 60 * SECOND
    assert POLICY.times("s", None, "").tool_limit("Bash") == 7200 * SECOND


def test_a_run_of_an_attended_session_is_judged_by_its_times() -> None:
    policy = Policy.from_mapping({"attended": {"human_wait": "2m"}})
    for attended, status in ((True, "blocked"), (False, "active")):
        known = Facts(
            "s",
            "r",
            first_at=T0,
            dispatch=Dispatch(T0, attended=attended),
            heard_at=T0,
            waits=(Wait(T0 + SECOND, "approval"),),
        )
        assert judge(known, policy, T0 + 200 * SECOND).status == status


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"expcted": "1m"}, "expcted is no policy key; did you mean expected? known keys: ack_for"),
        ({"agent": {"x": {"idle": "soon"}}}, "agent.x.idle = 'soon' is no duration"),
        ({"agent": {"x": "1m"}}, "policy.agent.x must be a table of keys, not '1m'"),
        ({"agent": "1m"}, "policy.agent must be a table of names, not '1m'"),
        ({"attended": "1m"}, "policy.attended must be a table of keys, not '1m'"),
        ({"attended": {"mood": 1}}, "attended.mood is no policy key"),
        ({"tool": {"Bash": {"idle": "1m"}}}, "policy.tool.Bash takes tool_max and nothing else"),
        ({"tool": {"Bash": {}}}, "policy.tool.Bash takes tool_max and nothing else"),
        ({"repeat_limit": 0}, "repeat_limit = 0 is no count"),
        ({"overdue": "manyx"}, "overdue = 'manyx' is no multiple"),
        ({"idle": True}, "idle = True is no duration"),
        ({"idle": -1}, "idle = -1 is no duration"),
    ],
)
def test_what_cannot_be_used_is_named(table: Mapping[str, object], says: str) -> None:
    with pytest.raises(PolicyError) as raised:
        Policy.from_mapping(table)
    assert str(raised.value).startswith(says)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("1h30m", 5400), ("500ms", 0.5), (" 2 D ", 172800), (1.5, 1.5), (0, 0)]
)
def test_durations_are_read(text: object, seconds: float) -> None:
    assert parse_duration(text, "key") == seconds * SECOND


@pytest.mark.parametrize("attended", [False, True])
@pytest.mark.parametrize("agent", ["reviewer", "build-wheels", "another"])
def test_the_policy_of_an_exported_replay_gives_the_same_times(agent: str, attended: bool) -> None:
    # Records of a replay file name no service, and its header is read as any policy is.
    exported = Policy.from_mapping(policy_table(POLICY, "ci-77", {agent: "here"}))
    assert exported.times("ci-77", agent, "", attended) == POLICY.times("ci-77", agent, "here", attended)


def delivered(run: str, agent: str, took_s: float, **other: object) -> Verdict:
    end = T0 + round(took_s * SECOND)
    made = Verdict(
        "s1",
        run,
        at=end,
        status="completed",
        rule="2",
        since=T0,
        agent=agent,
        names=(run,),
        receipts=Receipts(run, dispatch_at=T0),
        ended_at=end,
        delivered_at=end,
    )
    return replace(made, **other)  # type: ignore[arg-type]  # fields of Verdict, by name


HISTORY = [
    *(delivered(f"r{second}", "reviewer", second) for second in range(101)),
    delivered("late", "code finder", 9000, status="recovered", ended_at=T0 + 100 * SECOND),
    delivered("waited", "code finder", 900, account=Account(900 * SECOND, 100, {"approval": 750 * SECOND})),
    delivered("open", "code finder", 5000, status="blocked", delivered_at=None),
    delivered("unnamed", "", 7000),
    delivered("at the desk", "designer", 60, attended=True),
]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    # As in test_api_runs: these verdicts rest on no evidence.
    with running_collector(tmp_path_factory.mktemp("data"), tick_s=60, policy=TABLE) as found:
        found.collector.verdicts.write(HISTORY, [], version=1)
        yield found


def test_show_tells_the_times_and_where_each_comes_from(running: Running) -> None:
    said = json.loads(
        headcount("policy", "show", "--url", running.url, "--agent", "build-1", "--attended", "--json").output
    )
    found = {row["name"]: (row["value"], row["from"]) for row in said["times"]}
    assert found["expected"] == ("14m", "attended")
    assert found["human_wait_attended"] == ("2h", "attended")
    assert found["idle"] == ("20m", "settings")
    assert found["skew"] == ("30s", "default")
    printed = headcount(
        "policy", "show", "--url", running.url, "--session", "ci-1", "--service", "here"
    ).output
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    for line in (
        "expected 16m session",
        "overdue 2x session",
        "idle 21m service",
        "tool_max of Bash 2h settings",
    ):
        assert line in lines
    assert "sessions with times of their own: ci-*, s1" in printed


def test_suggest_rests_on_what_delivered_runs_took_and_warns_where_they_are_few(running: Running) -> None:
    found = {one["agent"]: one for one in running.get("/api/v1/policy/suggest").json["agents"]}
    assert set(found) == {"reviewer", "code finder", "designer"}
    reviewer, finder = found["reviewer"], found["code finder"]
    assert (reviewer["runs"], reviewer["p50_s"], reviewer["p95_s"], reviewer["longest_s"]) == (
        101,
        50,
        95,
        100,
    )
    assert (reviewer["expected"], reviewer["thin"], reviewer["current_s"]) == ("120s", False, 720)
    # The recovered one counts until its end, and of the other the wait for a person does not count.
    assert (finder["runs"], finder["recovered"], finder["longest_s"], finder["thin"]) == (2, 1, 150, True)
    assert finder["expected_s"] == 240


def test_suggest_compares_with_the_deadline_that_holds_where_such_runs_were(running: Running) -> None:
    found = {one["agent"]: one for one in running.get("/api/v1/policy/suggest").json["agents"]}
    policy = Policy.from_mapping(TABLE)
    assert found["designer"]["current_s"] == policy.times("", "designer", "", True).expected / SECOND
    assert found["designer"]["current_s"] != policy.times("", "designer", "").expected / SECOND


def test_what_suggest_prints_can_be_pasted(running: Running) -> None:
    result = headcount("policy", "suggest", "--url", running.url)
    assert result.exit_code == 0, result.output
    policy = Policy.from_mapping(tomllib.loads(result.stdout)["policy"])
    assert policy.times("", "reviewer", "").expected == 120 * SECOND
    assert policy.times("", "code finder", "").expected == 240 * SECOND
    assert result.stdout.count("WARNING") == 2
    assert "few runs of code finder" in result.stderr


def test_without_history_nothing_is_suggested() -> None:
    assert toml_of([]) == ""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[policy.agent.x]\nidel = '1m'\n", "agent.x.idel is no policy key; did you mean idle?"),
        ("expected = '1m'\n", "has no table [policy]"),
        ("[policy\n", "is not TOML"),
    ],
)
def test_check_refuses_and_names_the_file(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "headcount.toml"
    file.write_text(text)
    result = headcount("policy", "check", str(file))
    assert result.exit_code == 1
    assert str(file) in result.stderr
    assert says in result.stderr


def test_check_accepts_what_can_be_used_and_warns_of_what_contradicts_itself(tmp_path: Path) -> None:
    file = tmp_path / "headcount.toml"
    file.write_text('retention_days = 3\n[policy]\nexpected = "20m"\n[policy.agent.x]\nidle = "2h"\n')
    result = headcount("policy", "check", str(file))
    assert result.exit_code == 0, result.output
    assert "can be used: expected 20m, with times of their own for 1 agent type" in result.stdout
    assert "warning: policy.agent.x: idle (2h) is longer than tool_max (30m)" in result.stderr
    file.write_text("[policy]\n")
    assert "warning" not in headcount("policy", "check", str(file)).stderr
