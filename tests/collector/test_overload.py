"""Ten times more senders than the queue has room for: refusals, an API that answers, judgement, and all of it in the end."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import grpc
import pytest

from headcount_collector.api.server import grpc_edge
from tests.collector.dispatched import dispatch
from tests.collector.intake_server import PROTOBUF
from tests.collector.running import PATIENCE_S, Running, eventually, running_collector

TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
SENDERS = 40
REQUESTS = 1


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_collector(tmp_path_factory.mktemp("data"), queue_requests=4) as found:
        yield found


def over_http(running: Running, body: bytes, answers: Counter[str]) -> bool:
    answer = running.post("/v1/traces", body, PROTOBUF["content-type"])
    answers[f"http {answer.status}"] += 1
    assert answer.status in (200, 503)
    assert answer.status == 200 or answer.headers["retry-after"] == "1"
    return answer.status == 200


def over_grpc(channel: grpc.Channel, body: bytes, answers: Counter[str]) -> bool:
    export: Any = channel.unary_unary(TRACES)
    try:
        export(body, timeout=PATIENCE_S)
    except grpc.RpcError as error:
        code: Any = error
        answers[f"grpc {code.code().name}"] += 1
        assert code.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        return False
    answers["grpc OK"] += 1
    return True


def test_what_is_too_much_is_refused_and_taken_in_the_end(running: Running) -> None:
    answers: Counter[str] = Counter()
    failed: list[BaseException] = []
    with grpc_edge(running.collector) as address:
        assert address is not None
        with grpc.insecure_channel(address) as channel:

            def sender(number: int) -> None:
                pause = threading.Event()
                try:
                    for request in range(REQUESTS):
                        body = dispatch(f"r{number}.{request}", f"service {number % 8}")
                        while not (
                            over_http(running, body, answers)
                            if number % 2
                            else over_grpc(channel, body, answers)
                        ):
                            pause.wait(0.2)  # an exporter waits a second
                except BaseException as error:  # noqa: BLE001  # the test's own thread must see it
                    failed.append(error)

            threads = [threading.Thread(target=sender, args=(number,)) for number in range(SENDERS)]
            for thread in threads:
                thread.start()
            asked, judged = 0, running.collector.watch.health["last_evaluation_at"]
            while any(thread.is_alive() for thread in threads):
                assert running.get("/api/v1/runs?limit=1").status == 200
                assert running.get("/healthz").status == 200
                asked += 1
            for thread in threads:
                thread.join()
    assert failed == []
    assert running.collector.watch.health["last_evaluation_at"] != judged
    assert asked > 0
    assert answers["http 503"] > 0
    assert answers["grpc RESOURCE_EXHAUSTED"] > 0
    assert answers["http 200"] + answers["grpc OK"] == SENDERS * REQUESTS
    total = SENDERS * REQUESTS
    assert eventually(lambda: running.get("/api/v1/runs?limit=1").json["total"] == total)
    assert running.collector.store.query("SELECT count() FROM evidence FINAL") == [(total,)]
    assert running.collector.watch.health["failures"] == 0
