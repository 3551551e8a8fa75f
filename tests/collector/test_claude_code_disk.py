"""What lies beside Claude Code's transcripts joins a child early and shows what it took up in the middle of a turn."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount_collector.evidence import Record, TranscriptFolder, records_from_hook, wire
from headcount_collector.evidence.moment import moment_text

T0 = 1_796_040_000_000_000_000
AGENT = "a4e9b8ee9009aabb6"
CALL = "toolu_3c3f2566c34946268e05"


class Session:
    """A session whose transcripts lie in a folder, as the harness lays them out."""

    def __init__(self, folder: Path) -> None:
        self.main = folder / "s1.jsonl"
        self.agents = folder / "s1" / "subagents"
        self.agents.mkdir(parents=True)
        self.disk = TranscriptFolder()

    def note(self, content: object, agent: str = AGENT) -> Path:
        path = self.agents / f"agent-{agent}.meta.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def hook(self, event: str, **fields: object) -> list[Record]:
        body = {"hook_event_name": event, "session_id": "s1", "transcript_path": str(self.main), **fields}
        return records_from_hook(body, T0, disk=self.disk)

    def child(self, event: str, **fields: object) -> Record:
        return self.hook(event, agent_id=AGENT, agent_type="general-purpose", **fields)[0]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


def test_a_child_is_joined_to_its_call_from_its_start_on(session: Session) -> None:
    session.note({"agentType": "general-purpose", "toolUseId": CALL, "spawnDepth": 1})
    start = session.child("SubagentStart")
    assert start.run == CALL
    assert start.attributes[wire.ALIAS] == (AGENT,)


def test_a_note_that_comes_late_joins_the_child_from_then_on_and_stays_known(session: Session) -> None:
    assert session.child("SubagentStart").run == AGENT
    path = session.note({"toolUseId": CALL})
    assert session.child("PreToolUse", tool_name="Bash").run == CALL
    path.unlink()
    later = session.child("PostToolUse", tool_name="Bash")
    assert later.run == CALL


def test_the_agent_id_is_named_once_by_frequent_events_and_always_by_rare_ones(session: Session) -> None:
    session.note({"toolUseId": CALL})
    told = [session.child("PreToolUse", tool_name="Bash") for _ in (1, 2)]
    assert [r.attributes.get(wire.ALIAS) for r in told] == [(AGENT,), None]
    stopped = session.hook("SubagentStop", agent_id=AGENT, agent_type="x", last_assistant_message="y")
    assert stopped[-1].attributes[wire.ALIAS] == (AGENT,)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "null", {"toolUseId": 5}, {"toolUseId": ""}, {}, "[" * 9999]
)
def test_a_note_that_tells_nothing_leaves_the_child_under_its_own_id(
    session: Session, content: object
) -> None:
    session.note(content)
    assert session.child("SubagentStart").run == AGENT


def test_only_notes_with_the_harness_names_in_the_sessions_own_folder_are_read(session: Session) -> None:
    (session.agents.parent / "agent-x.meta.json").write_text(json.dumps({"toolUseId": CALL}))
    for agent in ("../x", "x/../../x", "", "x" * 200):
        assert session.disk.join_of_agent(str(session.main), "s1", agent) is None
    session.note({"toolUseId": CALL})
    for path in ("s1.jsonl", str(session.main.with_name("other.jsonl")), "/nowhere/s1.jsonl", "\0", ""):
        assert session.disk.join_of_agent(path, "s1", AGENT) is None


def test_a_pipe_or_a_link_in_place_of_a_note_is_not_waited_for_or_followed(
    session: Session, tmp_path: Path
) -> None:
    os.mkfifo(session.agents / "agent-pipe.meta.json")
    secret = tmp_path / "secret"
    secret.write_text(json.dumps({"toolUseId": CALL}))
    (session.agents / "agent-link.meta.json").symlink_to(secret)
    (session.agents / "agent-folder.meta.json").mkdir()
    for agent in ("pipe", "link", "folder"):
        assert session.disk.join_of_agent(str(session.main), "s1", agent) is None


XML = (
    "<task-notification>\n<task-id>a1</task-id>\n<tool-use-id>toolu_1</tool-use-id>\n<status>completed</status>\n"
    '<summary>Agent "x" finished</summary>\n<result>abc</result>\n</task-notification>'
)


def taken_up(at_ns: int, prompt: object = XML, kind: str = "queued_command") -> str:
    attachment = {"type": kind, "commandMode": "task-notification", "prompt": prompt}
    return json.dumps({"type": "attachment", "attachment": attachment, "timestamp": moment_text(at_ns)})


def test_a_notice_taken_up_in_the_middle_of_a_turn_is_told_at_its_end_with_its_own_time(
    session: Session,
) -> None:
    session.main.write_text("\n".join(["{}", taken_up(T0 - 5_000_000_000), '{"type": "user"}', ""]))
    first, second = (session.hook("Stop", background_tasks=[]) for _ in (1, 2))
    assert first == second
    received, forwarded, consumed = first[:3]
    assert (received.event, received.run) == ("completion_received", "toolu_1")
    assert received.attributes[wire.RESULT_SIZE] == 3
    assert {r.at_ns for r in (received, forwarded, consumed)} == {T0 - 5_000_000_000}
    assert [r.event for r in first[3:]] == ["owner_turn", "owner_final"]


def test_a_child_takes_up_what_it_owns_from_its_own_transcript(session: Session) -> None:
    path = session.agents / f"agent-{AGENT}.jsonl"
    path.write_text(taken_up(T0 - 1, [{"type": "text", "text": XML}]))
    told = session.hook(
        "SubagentStop",
        agent_id=AGENT,
        agent_type="general-purpose",
        agent_transcript_path=str(path),
        last_assistant_message="ok",
    )
    assert told[0].attributes[wire.RECEIVER] == told[0].attributes[wire.OWNER] == AGENT


@pytest.mark.parametrize(
    "line",
    [
        taken_up(T0 + 1),
        taken_up(T0 - 2 * 86_400_000_000_000),
        taken_up(T0 - 1, kind="file"),
        taken_up(T0 - 1, prompt=f"please explain {XML}"),
        taken_up(T0 - 1, prompt=7),
        taken_up(T0 - 1).replace("Z", "X"),
        taken_up(T0 - 1)[:-1],
    ],
    ids=["future", "days old", "other kind", "quoted", "no text", "no time", "cut"],
)
def test_what_proves_no_delivery_is_passed_over(session: Session, line: str) -> None:
    session.main.write_text(line)
    assert [r.event for r in session.hook("Stop")] == ["owner_turn", "owner_final"]


def test_a_long_transcript_is_searched_from_its_end(session: Session) -> None:
    with session.main.open("w") as file:
        file.write(taken_up(T0 - 2, XML.replace("toolu_1", "toolu_0")) + "\n")
        file.write("x" * 5_000_000 + "\n" + taken_up(T0 - 1))
    assert [r.run for r in session.hook("Stop") if r.event == "completion_received"] == ["toolu_1"]


@given(st.binary(max_size=200), st.text(max_size=20))
def test_no_content_and_no_path_makes_it_raise(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, path: str
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.jsonl"
    file.write_bytes(b'{"queued_command", <task-notification>' + data)
    disk = TranscriptFolder()
    assert disk.absorbed(str(file), T0) == []
    assert disk.absorbed(path, T0) == []
    assert disk.join_of_agent(path, "s", "a") is None
