"""`headcount replay`: judging files, checking them, and what it says of files that it cannot use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.collector.test_cli import CASES, headcount

MUTE = str(CASES / "03-mute-teammate-late-idle.jsonl")


def test_a_replay_shows_how_runs_turned() -> None:
    result = headcount("replay", MUTE)
    assert result.exit_code == 0, result.output
    assert "630.0 s  pc-opus is ■ done, not delivered" in result.output
    assert "✓ recovered" in result.output


def test_a_check_passes_where_all_holds() -> None:
    result = headcount("replay", "--check", MUTE, str(CASES / "05-first-of-three-done.jsonl"))
    assert result.exit_code == 0, result.output
    assert "2 files passed, 0 failed" in result.output


def test_a_check_fails_and_names_the_line_where_it_does_not(tmp_path: Path) -> None:
    file = tmp_path / "wrong.jsonl"
    file.write_text(
        '{"replay": 1, "t0": "2026-01-01T00:00:00Z", "title": "wrong", "tick_s": 1, "until_s": 5}\n'
        '{"at": 0, "event": "dispatch", "run": "r1", "session": "s1"}\n'
        '{"at": 2, "expect": {"run": "r1", "status": "blocked"}}\n'
    )
    result = headcount("replay", "--check", str(tmp_path))
    assert result.exit_code == 1
    assert "line 3, at 2 s: run r1: status is active, expected blocked" in result.output
    document = json.loads(headcount("replay", "--check", "--json", str(file)).output)["replays"][0]
    assert document["passed"] is False
    assert document["misses"][0]["line"] == 3
    assert document["runs"][0]["run"] == "r1"


def written(folder: Path, *lines: object, **header: object) -> str:
    file = folder / "f.jsonl"
    first = {"replay": 1, "t0": "2026-01-01T00:00:00Z", "tick_s": 1, "until_s": 5, **header}
    file.write_text("".join(json.dumps(line) + "\n" for line in (first, *lines)))
    return str(file)


def test_a_run_of_two_sessions_is_expected_by_its_session(tmp_path: Path) -> None:
    told = [{"at": 0, "event": "dispatch", "run": "r", "session": session} for session in ("s1", "s2")]
    told.append({"at": 1, "event": "dismiss", "run": "r", "session": "s2"})
    expected = [
        {"at": 2, "expect": {"run": "r", "session": "s1", "status": "active"}},
        {"at": 2, "expect": {"run": "r", "session": "s2", "status": "completed"}},
    ]
    assert headcount("replay", "--check", written(tmp_path, *told, *expected)).exit_code == 0
    result = headcount(
        "replay", "--check", written(tmp_path, *told, {"at": 2, "expect": {"run": "r", "status": "active"}})
    )
    assert result.exit_code == 1
    assert "run r: session is one of s1, s2, expected given" in result.output


def test_a_result_given_before_more_work_is_told_so_and_one_that_nobody_waits_for_is_not(
    tmp_path: Path,
) -> None:
    def said(*more: object, until_s: int) -> str:
        told = [
            {"at": 0, "event": "dispatch", "run": "r", "session": "s", "expected_s": 9000},
            {"at": 1, "event": "start", "run": "r", "session": "s"},
            *more,
        ]
        found = headcount("replay", "--json", written(tmp_path, *told, until_s=until_s)).output
        return " ".join(json.loads(found)["replays"][0]["runs"][0]["evidence"])

    done = [
        {"at": 98, "event": "child_done", "run": "r", "session": "s", "outcome": "ok", "size": 9},
        {"at": 100, "event": "completion_forwarded", "run": "r", "session": "s", "forwarded": True},
    ]
    worked = {"at": 140, "event": "tool_call", "run": "r", "session": "s", "tool": "Read", "phase": "ended"}
    assert "it worked on after its owner was given a result" in said(*done, worked, until_s=745)
    dismissed = {"at": 50, "event": "dismiss", "run": "r", "session": "s"}
    assert "worked on after" not in said(dismissed, *done, until_s=110)


def test_what_a_replay_cannot_do_is_said_with_its_line(tmp_path: Path) -> None:
    result = headcount("replay", written(tmp_path, {"at": 1, "ack": {"session": "s1", "owner": "lead"}}))
    assert result.exit_code != 0
    said = " ".join(result.output.split())
    assert "f.jsonl:2: there is nothing to acknowledge: lead of session 's1' has no incident by now" in said
    result = headcount("replay", written(tmp_path, policy={"expcted": "5s"}))
    assert result.exit_code != 0
    assert "f.jsonl: the header's policy: " in " ".join(result.output.split())


def test_a_replay_tells_of_incidents_with_every_decision_and_step() -> None:
    ladder = str(CASES / "50-notify-remind-escalate.jsonl")
    (incident,) = json.loads(headcount("replay", "--json", ladder).output)["replays"][0]["incidents"]
    assert (incident["session"], incident["state"], incident["runs"]) == ("s1", "closed", ["r1"])
    steps = [(step["at"], step["step"]) for step in incident["steps"]]
    assert steps == [
        ("2026-11-30T12:02:10.000Z", "notified"),
        ("2026-11-30T12:12:10.000Z", "reminded"),
        ("2026-11-30T12:22:10.000Z", "escalated"),
        ("2026-11-30T12:43:21.000Z", "closed"),
    ]
    decisions = [decision["decision"] for decision in incident["decisions"]]
    assert decisions == ["opened", "joined", "notified", "reminded", "escalated", "closed"]
    shown = headcount("replay", ladder).output
    assert "incident of root in s1: page, closed; notified at 130.0 s, reminded at 730.0 s" in shown


def test_another_policy_gives_another_verdict(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[policy]\nexpected = "10s"\n')
    result = headcount("replay", MUTE, "--policy", str(policy), "--json")
    believed = [change["to"] for change in json.loads(result.output)["replays"][0]["transitions"]]
    assert "suspect_delivery_failure" in believed


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["/does/not/exist.jsonl"], "/does/not/exist.jsonl"),
        ([__file__], "is not JSON"),
        ([MUTE, "--policy", "/does/not/exist.toml"], "--policy /does/not/exist.toml: No such file"),
        ([MUTE, "--policy", MUTE], "is not TOML"),
    ],
)
def test_what_cannot_be_used_is_named(arguments: list[str], says: str) -> None:
    result = headcount("replay", *arguments)
    assert result.exit_code == 1
    assert says in result.stderr


def test_an_empty_folder_and_a_policy_without_its_table_are_named(tmp_path: Path) -> None:
    assert "is a folder without *.jsonl" in headcount("replay", str(tmp_path)).stderr
    policy = tmp_path / "policy.toml"
    policy.write_text("expected = '1m'\n")
    assert "has no table [policy]" in headcount("replay", MUTE, "--policy", str(policy)).stderr
