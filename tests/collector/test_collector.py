"""A collector's parts together: opened and closed in order, over any store, telling why it is not ready."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headcount_collector.api.collector import Collector
from headcount_collector.settings import load_settings
from headcount_collector.store import StoreError, StoreLocked
from tests.collector.running import eventually, running_collector

HOOK = {"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Agent", "tool_input": {}}


def test_a_store_in_memory_serves_and_locks_the_folder_of_hooks(tmp_path: Path) -> None:
    with running_collector(tmp_path, store=":memory:") as running:
        assert running.get("/api/v1/runs").json["total"] == 0
        with (
            pytest.raises(StoreLocked, match="in use by process"),
            Collector.open(load_settings(data=tmp_path, store=":memory:")),
        ):
            pass
    assert not (tmp_path / "engine").exists()


def test_hooks_that_wait_are_committed_before_the_end(tmp_path: Path) -> None:
    with Collector.open(load_settings(data=tmp_path)) as collector:
        for number in range(20):
            body = json.dumps({**HOOK, "tool_use_id": f"t{number}"})
            collector.hooks.take(body.encode(), collector.hooks.moment())
    assert collector.hooks.spool.committed == 20
    with Collector.open(load_settings(data=tmp_path)) as again:
        eventually(lambda: again.verdicts.count() == 20)


def test_a_store_that_does_not_answer_is_a_reason_and_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_collector(tmp_path) as running:

        def refuse(sql: str, parameters: object = None) -> list[tuple[object, ...]]:
            raise StoreError("query failed: nobody there")

        monkeypatch.setattr(running.collector.store, "query", refuse)
        assert "the store does not answer: query failed: nobody there" in running.collector.unready()
        answer = running.get("/api/v1/runs")
        monkeypatch.undo()
    assert answer.status == 503
    assert answer.headers["retry-after"] == "2"
    assert answer.json["detail"] == "the store did not answer: query failed: nobody there"


def test_a_failed_evaluation_and_waiting_hooks_are_reasons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Collector.open(load_settings(data=tmp_path, tick_s=60)) as collector:
        eventually(lambda: not collector.unready())
        monkeypatch.setattr(collector.watch, "_failure", "ValueError: odd")
        collector.hooks.spool.failure = "Busy: full"
        assert collector.unready() == [
            "the last evaluation failed: ValueError: odd",
            "0 hooks wait for the store: Busy: full",
        ]


def test_content_is_kept_only_when_capture_is_on(tmp_path: Path) -> None:
    body = b"""{"resourceSpans": [{"scopeSpans": [{"spans": [{
        "traceId": "0102030405060708090a0b0c0d0e0f10", "spanId": "0102030405060708", "name": "chat",
        "startTimeUnixNano": "%d", "endTimeUnixNano": "%d",
        "attributes": [{"key": "gen_ai.input.messages", "value": {"stringValue": "the words"}},
                       {"key": "mine", "value": {"stringValue": "my words"}}]}]}]}]}"""
    for capture, attributes, kept in (
        (False, None, "{'mine':'my words'}"),
        (True, None, "{'gen_ai.input.messages':'the words','mine':'my words'}"),
        (False, ["mine"], "{'gen_ai.input.messages':'the words'}"),
    ):
        data = tmp_path / f"{capture}-{attributes}"
        with running_collector(data, capture_content=capture, content_attributes=attributes) as running:
            moment = running.collector.hooks.moment()
            assert running.post("/v1/traces", body % (moment, moment)).status == 200
            rows = running.collector.store.query("SELECT toString(SpanAttributes) FROM otel_traces")
        assert rows == [(kept,)]
