"""What waits on disk: sent by the next process, private, bounded, never doubled in the facts, never another's."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import SpanContext, TraceFlags

import headcount
from headcount import spooled
from headcount.outbox import Outbox
from headcount.spool import Spool

from .receiver import ReceivedSpan, Receiver

Program = Callable[..., "subprocess.CompletedProcess[str]"]

HEAD = """
import os, sys, headcount
headcount.configure(sys.argv[1], service_name="program")
"""


def span(number: int) -> ReadableSpan:
    context = SpanContext(number + 1, number + 1, False, TraceFlags(1))
    return ReadableSpan(
        f"span-{number}",
        context=context,
        attributes={"n": number},
        resource=Resource({}),
        start_time=1,
        end_time=1,
    )


class Door(SpanExporter):
    """An exporter that is shut or open."""

    def __init__(self, *, is_open: bool) -> None:
        self.is_open = is_open
        self.taken: list[int] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        if not self.is_open:
            return SpanExportResult.FAILURE
        self.taken += [int(str((span.attributes or {})["n"])) for span in spans]
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        pass


def outbox_on(folder: Path, door: Door, *, capacity: int = 100, limit_bytes: int = 1 << 20) -> Outbox:
    return Outbox(
        lambda: door,
        capacity=capacity,
        linger_s=0.0,
        first_retry_s=0.001,
        longest_retry_s=0.001,
        spool=Spool(folder, limit_bytes=limit_bytes),
    )


def once(spans: list[ReceivedSpan]) -> dict[bytes, str]:
    """Return the agents that were dispatched, each span once: what is sent again keeps its id."""
    return {span.span_id: str(span.attributes["gen_ai.agent.name"]) for span in list(spans)}


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_what_os_exit_left_is_sent_by_the_next_process(receiver: Receiver, run_program: Program) -> None:
    run_program(HEAD + "headcount.dispatch('first'); os._exit(0)", receiver.endpoint)
    assert receiver.spans == []
    run_program(HEAD + "headcount.dispatch('second')", receiver.endpoint, HEADCOUNT_EXIT_TIMEOUT="20")
    assert sorted(once(receiver.spans).values()) == ["first", "second"]


def test_a_journal_stays_small_while_the_queue_is_never_empty(tmp_path: Path) -> None:
    rounds = 200
    sizes: list[int] = []

    class Busy(Door):
        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            result = super().export(spans)
            if len(sizes) < rounds:
                outbox.put(span(len(self.taken)))
                outbox.put(span(len(self.taken) + 1))
            sizes.append(sum(file.stat().st_size for file in files(tmp_path)))
            return result

    door = Busy(is_open=True)
    outbox = outbox_on(tmp_path, door)
    outbox.put(span(0))
    wait_until(lambda: len(sizes) >= rounds)
    assert outbox.close(20)
    assert max(sizes) < 20 * len(spooled.encode(span(0)))


def test_what_an_end_without_a_collector_left_is_sent_with_its_resource_and_ids(run_program: Program) -> None:
    with Receiver() as gone:
        port = gone.port
    program = HEAD + "with headcount.child(headcount.dispatch('reviewer')) as ctx, ctx.tool('Read'): pass"
    ended = run_program(program, f"http://127.0.0.1:{port}", HEADCOUNT_EXIT_TIMEOUT="0.3")
    assert "stay on disk" in ended.stderr
    with Receiver(port) as back:
        headcount.configure(back.endpoint)
        headcount.dispatch("the next")
        spans = back.wait_for(6)
        headcount.shutdown()
    left = [span for span in spans if span.resource.get("service.name") == "program"]
    assert [span.event for span in left] == ["dispatch", "start", "tool_call", "tool_call", "child_done"]
    assert [span.attributes["subagent.producer.seq"] for span in left] == [1, 2, 3, 4, 5]
    assert left[4].links == [(left[0].trace_id, left[0].span_id)]
    assert left[3].name == "execute_tool Read"


def test_the_spool_is_for_its_user_alone_and_gone_after_a_clean_end(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "spool"
    door = Door(is_open=False)
    outbox = outbox_on(folder, door)
    outbox.put(span(0))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in files(folder)} == {0o600}
    door.is_open = True
    assert outbox.close(20)
    assert files(folder) == []


def test_a_folder_open_to_others_is_not_written_to(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tmp_path.chmod(0o777)
    door = Door(is_open=True)
    outbox = outbox_on(tmp_path, door)
    outbox.put(span(0))
    assert outbox.close(20)
    assert door.taken == [0]
    assert files(tmp_path) == []
    assert "chmod 700" in caplog.text


def test_what_the_queue_has_no_room_for_goes_to_disk_and_out_when_the_collector_is_back(
    tmp_path: Path,
) -> None:
    door = Door(is_open=False)
    outbox = outbox_on(tmp_path / "spool", door, capacity=10)
    for number in range(200):
        outbox.put(span(number))
    assert (outbox.dropped, outbox.spooled) == (0, 190)
    door.is_open = True
    wait_until(lambda: len(set(door.taken)) == 200)
    assert sorted(set(door.taken)) == list(range(200))
    assert outbox.close(20)
    assert files(tmp_path) == []


def test_the_disk_is_bounded_and_what_goes_beyond_is_counted(tmp_path: Path) -> None:
    outbox = outbox_on(tmp_path / "spool", Door(is_open=False), capacity=1, limit_bytes=5_000)
    for number in range(1000):
        outbox.put(span(number))
    assert outbox.spooled + outbox.dropped == 999
    assert outbox.dropped > 0
    assert sum(path.stat().st_size for path in files(tmp_path)) <= 5_500
    outbox.close(0.0)


def test_a_living_process_keeps_its_files_and_a_dead_ones_are_taken_once(tmp_path: Path) -> None:
    shut, opened = Door(is_open=False), Door(is_open=True)
    living = outbox_on(tmp_path / "spool", shut)
    living.put(span(1))
    dead = Spool(tmp_path / "spool", limit_bytes=1 << 20)
    dead.keep(span(2))
    dead.close(complete=False)
    other = outbox_on(tmp_path / "spool", opened)
    other.put(span(3))
    assert other.close(20)
    another = outbox_on(tmp_path / "spool", opened)
    another.put(span(4))
    wait_until(lambda: 2 in opened.taken)
    another.close(20)
    assert sorted(opened.taken) == [2, 3, 4]
    shut.is_open = True
    assert living.close(20)
    assert shut.taken == [1]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 1000), max_size=8), st.binary(max_size=40), st.integers(0, 400))
def test_torn_and_foreign_bytes_cost_no_whole_record(numbers: list[int], noise: bytes, cut: int) -> None:
    records = [spooled.encode(span(number)) for number in numbers]
    torn = spooled.encode(span(7))[:-1][:cut]
    content = noise + b"".join(records) + torn
    found = [int(str((read.attributes or {})["n"])) for read in spooled.decode(content)]
    assert found == numbers


def test_what_waits_for_one_collector_never_goes_to_another(receiver: Receiver, run_program: Program) -> None:
    with Receiver() as gone:
        endpoint = gone.endpoint
    run_program(HEAD + "headcount.dispatch('private')", endpoint, HEADCOUNT_EXIT_TIMEOUT="0.2")
    run_program(
        HEAD + "headcount.dispatch('public'); headcount.flush()\nimport time; time.sleep(0.5)",
        receiver.endpoint,
    )
    assert [span.attributes["gen_ai.agent.name"] for span in receiver.spans] == ["public"]


def test_a_fork_neither_keeps_nor_takes_the_files_of_its_parent(
    receiver: Receiver, run_program: Program, tmp_path: Path
) -> None:
    ended = run_program(
        HEAD
        + """
headcount.dispatch("parent")
child = os.fork()
if not child:
    headcount.dispatch("forked")
    os._exit(0)
os.waitpid(child, 0)
headcount.dispatch("parent")
headcount.flush()
""",
        receiver.endpoint,
        HEADCOUNT_SPOOL=str(tmp_path),
    )
    assert ended.returncode == 0, ended.stderr
    headcount.configure(receiver.endpoint, spool=tmp_path)
    headcount.dispatch("next")
    wait_until(lambda: len(once(receiver.spans)) == 4)
    headcount.shutdown()
    assert sorted(once(receiver.spans).values()) == ["forked", "next", "parent", "parent"]


def test_off_means_off(tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    headcount.configure(receiver.endpoint, spool=False)
    headcount.dispatch("a")
    headcount.shutdown()
    monkeypatch.setenv("HEADCOUNT_SPOOL", "off")
    headcount.configure(receiver.endpoint)
    headcount.dispatch("b")
    headcount.shutdown()
    assert files(tmp_path) == []


HOST = """
import os, signal, sys, threading, time
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
import headcount

class Nowhere(SpanExporter):
    def export(self, spans):
        return SpanExportResult.SUCCESS
    def shutdown(self):
        pass

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(Nowhere()))
trace.set_tracer_provider(provider)
tracer = provider.get_tracer("host")
headcount.configure(sys.argv[1], exit_timeout_s=20)
ledger = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND)
going = True
def stop(number, frame):
    global going
    going = False
signal.signal(signal.SIGTERM, stop)

def flood():
    while going:
        begun = time.perf_counter()
        for _ in range(20):
            tracer.start_span("other").end()
        time.sleep(max(0.0, 0.01 - (time.perf_counter() - begun)))

threading.Thread(target=flood, daemon=True).start()
while going:
    run = headcount.dispatch("reviewer")
    os.write(ledger, f"dispatch {run.id}\\n".encode())
    with headcount.child(run) as ctx:
        os.write(ledger, f"start {run.id}\\n".encode())
        with ctx.tool("Read"):
            os.write(ledger, f"tool_call {run.id}\\n".encode())
            time.sleep(0.002)
    os.write(ledger, f"child_done {run.id}\\n".encode())
headcount.flush(20)
"""


@contextmanager
def host(endpoint: str, ledger: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", HOST, endpoint, str(ledger)])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def grown(ledger: Path, by: int) -> None:
    """Wait until the host emitted so much more."""
    target = len(ledger.read_bytes().splitlines()) + by
    deadline = time.monotonic() + 60
    while len(ledger.read_bytes().splitlines()) < target:
        assert time.monotonic() < deadline, "the host emits nothing"
        time.sleep(0.01)


def arrived_of(told: set[str], *receivers: Receiver) -> None:
    """Wait until everything that was told has arrived."""
    deadline = time.monotonic() + 90
    while missing := told - heard_by(*receivers):
        assert time.monotonic() < deadline, f"{len(missing)} of {len(told)} never arrived"
        time.sleep(0.05)


def heard_by(*receivers: Receiver) -> set[str]:
    return {
        f"{span.event} {span.attributes['subagent.run.id']}"
        for receiver in receivers
        for span in list(receiver.spans)
    }


def test_a_host_under_load_killed_twice_in_an_outage_delivers_every_lifecycle_span(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADCOUNT_SPOOL", str(tmp_path / "spool"))
    ledger = tmp_path / "ledger"
    ledger.touch()
    with Receiver() as first:
        port, endpoint = first.port, first.endpoint
        process = host(endpoint, ledger)
        with process as one:
            first.wait_for(100)
            # Killed twice while nobody listens; what it says in the ledger, it had said to headcount.
            first.close()
            grown(ledger, 600)
            one.send_signal(signal.SIGKILL)
            one.wait()
    with host(endpoint, ledger) as two:
        grown(ledger, 600)
        two.send_signal(signal.SIGKILL)
        two.wait()
    left = set(ledger.read_text().splitlines())
    with Receiver(port) as back, host(endpoint, ledger) as three:
        grown(ledger, 200)
        arrived_of(left, first, back)
        three.send_signal(signal.SIGTERM)
        assert three.wait(60) == 0
        arrived = [*first.spans, *back.spans]
    told = set(ledger.read_text().splitlines())
    assert len(told) > 1400
    assert told - heard_by(first, back) == set()
    numbers: dict[object, set[int]] = {}
    for span in arrived:
        number = span.attributes["subagent.producer.seq"]
        assert isinstance(number, int)
        numbers.setdefault(span.attributes["subagent.producer.id"], set()).add(number)
    assert len(numbers) == 3
    assert all(seen == set(range(1, max(seen) + 1)) for seen in numbers.values()), "no number is missing"
    assert os.listdir(tmp_path / "spool") != []
    assert files(tmp_path / "spool") == []
