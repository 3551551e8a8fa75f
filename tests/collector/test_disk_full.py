"""A disk that is full: requests are refused for a later try, nothing acknowledged is missing, and room heals it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from headcount_collector.receive import create_intake
from headcount_collector.receive.errors import StoreFailed
from headcount_collector.store import Store, migrate
from tests.collector.otlp_messages import request, span

_SPANS = 100


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 40 MB, where this process may mount one."""
    folder = tmp_path / "small"
    folder.mkdir()
    if os.name != "posix" or shutil.which("mount") is None:
        pytest.skip("there is no mount command")
    mount = ["mount", "-t", "tmpfs", "-o", "size=40m", "headcount-test", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this process may not mount a small file system")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def large() -> bytes:
    """A request of dispatches, each of a run of its own, that takes much room."""
    spans = [span() for _ in range(_SPANS)]
    for one in spans:
        one.attributes.add(key="k").value.string_value = os.urandom(3000).hex()
        for key, value in (
            ("subagent.event", "dispatch"),
            ("subagent.run.id", one.span_id.hex()),
            ("session.id", "s"),
        ):
            one.attributes.add(key=key).value.string_value = value
    return request(spans).SerializeToString()


def once(store: Store, spans: int) -> bool:
    """Tell whether the facts hold the dispatches of so many spans, each once."""
    return store.query("SELECT count(), uniqExact(run_id) FROM evidence FINAL") == [(spans, spans)]


def test_a_full_disk_refuses_loses_nothing_and_recovers(small_disk: Path) -> None:
    store = Store.open(small_disk / "data")
    try:
        migrate(store)
        intake = create_intake(store)
        taken = 0

        refused_body = b""

        def fill() -> None:
            nonlocal taken, refused_body
            for _ in range(400):
                refused_body = large()
                intake.committer.submit(refused_body, _SPANS).result(60)
                taken += _SPANS

        with pytest.raises(StoreFailed) as refused:
            fill()
        assert (refused.value.status, refused.value.retry_after_s) == (503, 1)
        # What was refused may stand in part: it was not acknowledged, and its sender will send it again.
        ((kept,),) = store.query("SELECT count() FROM otel_traces")
        assert taken <= kept <= taken + _SPANS
        subprocess.run(["mount", "-o", "remount,size=200m", str(small_disk)], check=True)
        intake.committer.submit(refused_body, _SPANS).result(60)  # as its sender does
        assert store.query("SELECT count() FROM otel_traces") == [(kept + _SPANS,)]
        assert store.query("SELECT uniqExact(SpanId) FROM otel_traces") == [(taken + _SPANS,)]
        assert once(store, taken + _SPANS)
        intake.close()
    finally:
        store.close()
    again = Store.open(small_disk / "data")
    try:
        assert again.query("SELECT count() FROM otel_traces") == [(kept + _SPANS,)]
        assert once(again, taken + _SPANS)
    finally:
        again.close()
