"""Hooks: always answered well and at once, never lost once answered, and what is of no use is counted."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from headcount_collector.api.hooks import LARGEST
from headcount_collector.api.spool import Spool
from headcount_collector.receive.errors import Busy, Malformed
from tests.collector.running import Running, eventually, running_collector

DISPATCH = {
    "session_id": "s1",
    "hook_event_name": "PreToolUse",
    "tool_name": "Agent",
    "tool_use_id": "toolu_1",
    "tool_input": {"description": "secret words", "prompt": "secret prompt", "subagent_type": "reviewer"},
}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_collector(tmp_path_factory.mktemp("data")) as found:
        yield found


def unusable(running: Running) -> int:
    return running.collector.hooks.unusable


def test_a_dispatch_becomes_a_judged_run_without_its_words(running: Running) -> None:
    answer = running.post("/hooks/claude-code", json.dumps(DISPATCH).encode())
    assert (answer.status, answer.body) == (204, b"")
    run = eventually(lambda: (found := running.get("/api/v1/runs/toolu_1")).status == 200 and found)
    assert run.json["agent"] == "reviewer"
    stored = running.collector.store.query("SELECT toString(SpanAttributes) FROM otel_traces")
    assert stored
    assert "secret" not in str(stored)
    assert b"secret" not in run.body


def test_a_note_that_is_written_after_the_child_began_joins_it_though_it_says_nothing_more(
    running: Running, tmp_path: Path
) -> None:
    session = {"session_id": "late", "transcript_path": str(tmp_path / "late.jsonl")}
    start = {"hook_event_name": "SubagentStart", "agent_id": "a0", "agent_type": "reviewer", **session}
    running.post(
        "/hooks/claude-code", json.dumps({**DISPATCH, **session, "tool_use_id": "toolu_late"}).encode()
    )
    running.post("/hooks/claude-code", json.dumps(start).encode())
    note = tmp_path / "late" / "subagents" / "agent-a0.meta.json"
    note.parent.mkdir(parents=True)
    note.write_text(json.dumps({"agentType": "reviewer", "toolUseId": "toolu_late"}))
    found = eventually(
        lambda: (run := running.get("/api/v1/runs/a0")).status == 200 and run.json["dispatched"] and run
    )
    assert found.json["run"] == "toolu_late"
    page = running.get("/api/v1/runs?session=late").json["runs"]
    assert [run["run"] for run in page] == ["toolu_late"]


def test_qwen_codes_hooks_have_a_route_and_a_service_of_their_own(running: Running) -> None:
    dispatch = {**DISPATCH, "tool_name": "agent", "tool_use_id": "call_qwen"}
    assert running.post("/hooks/qwen-code", json.dumps(dispatch).encode()).status == 204
    run = eventually(lambda: (found := running.get("/api/v1/runs/call_qwen")).status == 200 and found)
    assert (run.json["agent"], run.json["service"]) == ("reviewer", "qwen-code")


@pytest.mark.parametrize(
    "body",
    [b"", b"no json", b"\xff\xfe", b"[1]", b"null", b"{}", b'{"hook_event_name": "Unheard"}', b"9" * 5000],
)
def test_what_is_of_no_use_is_answered_well(body: bytes, running: Running) -> None:
    answer = running.post("/hooks/claude-code", body)
    assert (answer.status, answer.body) == (204, b"")


def test_a_body_that_is_no_json_is_counted(running: Running) -> None:
    before = unusable(running)
    running.post("/hooks/claude-code", b"no json")
    assert unusable(running) == before + 1
    assert f"headcount_hooks_unusable_total {before + 1}" in running.get("/metrics").body.decode()


def test_a_body_over_the_limit_is_answered_well_and_counted(running: Running) -> None:
    before = unusable(running)
    assert running.post("/hooks/claude-code", b" " * (LARGEST + 1)).status == 204
    assert unusable(running) == before + 1


class Taker:
    """Stands for the store's side: takes, refuses or keeps waiting, as told."""

    def __init__(self) -> None:
        self.taken: list[bytes] = []
        self.answer: Exception | None = None
        self.asked = threading.Event()

    def __call__(self, message: bytes) -> Future[int]:
        self.asked.set()
        if isinstance(self.answer, Busy):
            raise self.answer
        done: Future[int] = Future()
        if self.answer is not None:
            done.set_exception(self.answer)
        else:
            self.taken.append(message)
            done.set_result(1)
        return done


@pytest.mark.parametrize("failure", [Busy("full"), OSError("gone")])
def test_what_was_kept_is_committed_by_the_next_process(failure: Exception, tmp_path: Path) -> None:
    taker = Taker()
    taker.answer = failure
    first = Spool(tmp_path, taker)
    first.start()
    assert first.put(b"one")
    assert first.put(b"two")
    assert taker.asked.wait(10)
    eventually(lambda: first.failure)
    first.close()
    assert first.waiting == 2
    (tmp_path / "0-torn.part").write_bytes(b"half a mess")

    taker.answer = None
    second = Spool(tmp_path, taker)
    second.start()
    eventually(lambda: second.committed == 2)
    second.close()
    assert taker.taken == [b"one", b"two"]
    assert second.failure is None
    assert list(tmp_path.iterdir()) == []


def test_what_can_never_be_stored_is_counted_and_let_go(tmp_path: Path) -> None:
    taker = Taker()
    taker.answer = Malformed("never")
    spool = Spool(tmp_path, taker)
    spool.start()
    spool.put(b"one")
    eventually(lambda: spool.refused == 1)
    spool.close()
    assert (spool.waiting, spool.committed) == (0, 0)
    assert list(tmp_path.iterdir()) == []


def test_a_full_spool_drops_and_counts(tmp_path: Path) -> None:
    tmp_path.joinpath("spool").mkdir()
    spool = Spool(tmp_path / "spool", Taker(), most=2)
    assert [spool.put(b"x") for _ in range(3)] == [True, True, False]
    assert spool.dropped == 1


def test_a_disk_that_refuses_drops_and_counts(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "missing", Taker())
    assert not spool.put(b"x")
    assert spool.dropped == 1
