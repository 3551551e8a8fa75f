"""Recorded sessions of Qwen Code, through the real store and judge, come out as what happened in them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from headcount_collector.evidence import TranscriptFolder, export_request
from headcount_collector.evidence.moment import moment_ns
from headcount_collector.evidence.qwen_code import records_from_qwen_hook
from headcount_collector.judge.policy import SECOND, Policy
from headcount_collector.judge.verdict import Verdict
from headcount_collector.store.client import Store
from headcount_collector.store.migrate import migrate
from headcount_collector.watch.tick import Tick

CAPTURES = Path(__file__).parents[1] / "captures" / "qwen-code"
ENDLESS_DAYS = 100 * 365
DATABASES = count(1)


class Session:
    """A recorded session, its transcript laid out where its hooks say that it lies."""

    def __init__(self, case: str, home: Path) -> None:
        text = (CAPTURES / case / "hooks.jsonl").read_text().replace("/home/user", str(home))
        self.bodies: list[dict[str, Any]] = [json.loads(line)["body"] for line in text.splitlines()]
        self.chat = Path(self.bodies[0]["transcript_path"])
        self.end_ns = max(moment_ns(body["timestamp"]) for body in self.bodies)
        for chat in (CAPTURES / case).glob("chats/*.jsonl"):
            self.chat.parent.mkdir(parents=True)
            self.chat.write_text(chat.read_text())

    def forget_notices(self) -> None:
        """Leave nothing of the notices in the transcript, as where they were never put to the model."""
        lines = self.chat.read_text().splitlines(keepends=True)
        self.chat.write_text("".join(line for line in lines if "<task-notification>" not in line))

    def first(self, event: str, **more: object) -> int:
        """Return the moment of the first hook of a kind."""
        wanted = {"hook_event_name": event, **more}
        return next(moment_ns(body["timestamp"]) for body in self.bodies if wanted.items() <= body.items())


class Judged:
    """A collector without its HTTP edge: hooks in, verdicts by run out."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.tick = Tick(store, Policy.from_mapping({}))
        self.believed: dict[str, Verdict] = {}

    def take(self, session: Session, *, disk: bool = True) -> None:
        read = TranscriptFolder() if disk else None
        requests = [
            export_request(records_from_qwen_hook(body, session.end_ns + place, disk=read))
            for place, body in enumerate(session.bodies)
        ]
        self.store.commit([request.SerializeToString() for request in requests], session.end_ns + SECOND)

    def at(self, moment: int, received: int) -> list[Verdict]:
        for (_, run), verdict in self.tick.evaluate(moment, received).verdicts.items():
            if verdict.dispatched:
                self.believed[run] = verdict
        return list(self.believed.values())


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = Store.open(tmp_path_factory.mktemp("store"))
    yield store
    store.close()


@pytest.fixture
def judged(engine: Store) -> Iterator[Judged]:
    store = engine.with_database(f"qwen_{next(DATABASES)}")
    migrate(store, retention_days=ENDLESS_DAYS)
    yield Judged(store)
    store.command(f"DROP DATABASE `{store.database}`")
    store.close()


@pytest.mark.parametrize("disk", [True, False], ids=["its transcripts here", "on another machine"])
@pytest.mark.parametrize(
    ("case", "runs", "mode", "outcome", "tools"),
    [
        ("plain", 1, "foreground", "ok", 1),
        ("parallel", 2, "foreground", "ok", 1),
        ("background-two", 2, "background", "ok", 1),
        ("child-error", 1, "foreground", "error", 0),
        ("background-error", 1, "background", "error", 0),
        ("nested", 2, "foreground", "ok", 1),
    ],
)
def test_a_session_in_which_every_result_came_back_ends_completed(
    judged: Judged, tmp_path: Path, case: str, runs: int, mode: str, outcome: str, tools: int, disk: bool
) -> None:
    session = Session(case, tmp_path)
    judged.take(session, disk=disk)
    verdicts = judged.at(session.end_ns + 3600 * SECOND, session.end_ns + SECOND)
    assert len(verdicts) == runs
    for verdict in verdicts:
        assert (verdict.status, verdict.failure_class) == ("completed", None)
        assert (verdict.mode, verdict.outcome, verdict.tool_calls) == (mode, outcome, tools)
        assert verdict.agent == "general-purpose"
        assert [signal.name for signal in verdict.signals if signal.severity != "info"] == []


def test_a_child_of_a_child_is_owed_to_the_child(judged: Judged, tmp_path: Path) -> None:
    session = Session("nested", tmp_path)
    judged.take(session)
    found = {v.owner: v for v in judged.at(session.end_ns + SECOND, session.end_ns + SECOND)}
    assert set(found) == {"", "general-purpose-call_2cbe000d600e431886e6"}
    assert "general-purpose-call_2cbe000d600e431886e6" in found[""].names


@pytest.mark.parametrize("noticed", [True, False])
def test_a_child_that_its_owner_stops_is_void(judged: Judged, tmp_path: Path, noticed: bool) -> None:
    session = Session("stop", tmp_path)
    if not noticed:
        session.forget_notices()
    judged.take(session)
    (verdict,) = judged.at(session.end_ns + 3600 * SECOND, session.end_ns + SECOND)
    assert (verdict.status, verdict.outcome) == ("completed", "cancelled")
    assert [s.name for s in verdict.signals if s.severity != "info"] == []


@pytest.mark.parametrize("disk", [True, False], ids=["its transcripts here", "on another machine"])
@pytest.mark.parametrize("backwards", [False, True])
def test_an_agent_that_is_asked_again_works_in_a_run_of_its_own(
    judged: Judged, tmp_path: Path, disk: bool, backwards: bool
) -> None:
    """Recorded: a background agent ends, a message continues it, both notices name the first call."""
    session = Session("resume", tmp_path)
    if backwards:
        session.bodies.reverse()
    judged.take(session, disk=disk)
    verdicts = judged.at(session.end_ns + 3600 * SECOND, session.end_ns + SECOND)
    first, second = "call_a53c3cc3c80e4697af13", "call_103f7bd01db847049dd2"
    assert {v.run: (v.status, v.mode, v.outcome, v.tool_calls) for v in verdicts} == {
        first: ("completed", "background", "ok", 1),
        second: ("completed", "background", "ok", 0),
    }
    assert [s.name for v in verdicts for s in v.signals if s.severity != "info"] == []


def test_the_second_answer_of_an_agent_is_missed_while_its_notice_is(judged: Judged, tmp_path: Path) -> None:
    session = Session("resume", tmp_path)
    lines = session.chat.read_text().splitlines(keepends=True)
    lines.remove([line for line in lines if "<remaining>" in line][-1])
    session.chat.write_text("".join(lines))
    judged.take(session)
    verdicts = judged.at(session.end_ns + 31 * SECOND, session.end_ns + SECOND)
    assert {v.run: v.status for v in verdicts} == {
        "call_a53c3cc3c80e4697af13": "completed",
        "call_103f7bd01db847049dd2": "done_but_not_forwarded",
    }


def test_a_child_that_hangs_is_found_at_its_second(judged: Judged, tmp_path: Path) -> None:
    session = Session("hang", tmp_path)
    judged.take(session)
    asked = session.first("PreToolUse", tool_name="agent")
    (before,) = judged.at(asked + 899 * SECOND, session.end_ns + SECOND)
    (after,) = judged.at(asked + 900 * SECOND, session.end_ns + SECOND)
    assert (before.status, after.status) == ("active", "suspect_delivery_failure")
    assert "zero_progress" in {signal.name for signal in after.signals}


def test_a_result_whose_notice_never_reached_the_model_is_found(judged: Judged, tmp_path: Path) -> None:
    session = Session("background-two", tmp_path)
    session.forget_notices()
    judged.take(session)
    received = session.end_ns + SECOND
    ended = min(v.ended_at or 0 for v in judged.at(session.end_ns, received))
    # The owner's turn that was open when they ended is over by the last hook.
    assert {v.status for v in judged.at(ended + 29 * SECOND, received)} == {"active"}
    assert {v.status for v in judged.at(session.end_ns + 31 * SECOND, received)} == {"done_but_not_forwarded"}


@pytest.mark.parametrize("disk", [True, False], ids=["its transcripts here", "on another machine"])
def test_a_result_of_a_session_that_was_killed_is_found(judged: Judged, tmp_path: Path, disk: bool) -> None:
    """Recorded: the owner's turn was over, its child ended, and the session was killed before the notice."""
    session = Session("killed", tmp_path)
    judged.take(session, disk=disk)
    received = session.end_ns + SECOND
    ended = session.first("SubagentStop")
    assert [v.status for v in judged.at(ended + 29 * SECOND, received)] == ["active"]
    assert [v.status for v in judged.at(ended + 31 * SECOND, received)] == ["done_but_not_forwarded"]


def test_hooks_that_overtake_each_other_are_read_by_their_own_times(judged: Judged, tmp_path: Path) -> None:
    session = Session("background-two", tmp_path)
    session.bodies.reverse()
    judged.take(session)
    verdicts = judged.at(session.end_ns + 3600 * SECOND, session.end_ns + SECOND)
    assert [verdict.status for verdict in verdicts] == ["completed", "completed"]
