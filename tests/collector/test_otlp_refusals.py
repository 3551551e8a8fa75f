"""What a sender is told when the receiver cannot take its request: whether, and when, to try again."""

from __future__ import annotations

import threading

import httpx2
import pytest
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]  # ships no stubs

from headcount_collector.receive import create_intake
from headcount_collector.store import StoreError
from tests.collector.intake_server import PROTOBUF, serving_intake
from tests.collector.otlp_messages import request, span
from tests.collector.recording_store import RecordingStore


def post(client: httpx2.Client) -> httpx2.Response:
    return client.post("/v1/traces", content=request([span()]).SerializeToString(), headers=PROTOBUF)


def test_a_full_queue_answers_503_and_to_try_again_in_a_second() -> None:
    store = RecordingStore()
    intake = create_intake(store, queue_requests=1)
    answers: list[int] = []
    with serving_intake(intake) as client:
        first = threading.Thread(target=lambda: answers.append(post(client).status_code))
        first.start()
        assert store.entered.acquire(timeout=30)
        refused = post(client)
        store.gate.set()
        first.join()
    intake.close()
    assert answers == [200]
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert refused.headers["content-type"] == PROTOBUF["content-type"]
    assert Status.FromString(refused.content).code == 8
    assert intake.counters.refused_requests == {"busy": 1}


@pytest.mark.parametrize(("code", "status", "retry_after"), [(117, 400, None), (243, 503, "1")])
def test_the_stores_failure_is_told_by_whose_fault_it_was(
    code: int, status: int, retry_after: str | None
) -> None:
    store = RecordingStore(lambda bodies: StoreError("out of order", code=code))
    store.gate.set()
    intake = create_intake(store)
    with serving_intake(intake) as client:
        response = post(client)
    intake.close()
    assert (response.status_code, response.headers.get("retry-after")) == (status, retry_after)
    assert "out of order" in Status.FromString(response.content).message
