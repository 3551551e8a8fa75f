"""`kill -9` at any moment: every span that was acknowledged is in the store afterwards."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from headcount_collector.store import Store
from tests.collector.intake_server import PROTOBUF
from tests.collector.otlp_messages import request, span

_ROUNDS = 4
_SENDERS = 4


@contextmanager
def receiver(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-m", "tests.collector.intake_process", str(folder)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def send_until_it_dies(url: str, name: str, acknowledged: list[str], enough: threading.Semaphore) -> None:
    with httpx2.Client(base_url=url, timeout=60) as client:
        for number in range(100_000):
            span_name = f"{name}.{number}"
            body = request([span(span_name), span(span_name)]).SerializeToString()
            try:
                response = client.post("/v1/traces", content=body, headers=PROTOBUF)
            except httpx2.TransportError:
                return
            if response.status_code == 200:
                acknowledged.append(span_name)
                enough.release()


def test_nothing_acknowledged_is_lost_however_often_the_receiver_is_killed(tmp_path: Path) -> None:
    acknowledged: list[str] = []
    moments = random.Random(7)
    for round_number in range(_ROUNDS):
        with receiver(tmp_path) as (process, url):
            enough = threading.Semaphore(0)
            senders = [
                threading.Thread(
                    target=send_until_it_dies, args=(url, f"r{round_number}.{sender}", acknowledged, enough)
                )
                for sender in range(_SENDERS)
            ]
            for sender in senders:
                sender.start()
            for _ in range(moments.randrange(1, 40)):
                assert enough.acquire(timeout=60)
            process.kill()
            for sender in senders:
                sender.join()
    store = Store.open(tmp_path)
    rows = store.query("SELECT SpanName, count() FROM otel_traces GROUP BY SpanName")
    stored = {str(name): int(count) for name, count in rows}
    store.close()
    assert len(acknowledged) > _ROUNDS
    assert [name for name in acknowledged if stored.get(name) != 2] == []
    assert not list((tmp_path / "tmp").iterdir())
