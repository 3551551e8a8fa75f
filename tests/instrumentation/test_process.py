"""What survives a process: its normal end, a fork, multiprocessing, os._exit, a signal, an exit without a collector."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

from .receiver import ReceivedSpan, Receiver

Program = Callable[..., "subprocess.CompletedProcess[str]"]

HEAD = """
import os, sys, headcount
headcount.configure(sys.argv[1], service_name="program")
"""


def sequences(spans: list[ReceivedSpan]) -> dict[object, list[object]]:
    """Return the numbers each producer gave, as they arrived."""
    numbered: dict[object, list[object]] = {}
    for span in spans:
        said = span.attributes
        numbered.setdefault(said["subagent.producer.id"], []).append(said["subagent.producer.seq"])
    return numbered


def succeeded(ended: subprocess.CompletedProcess[str]) -> None:
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""


def test_the_normal_end_of_a_process_exports_what_is_queued(receiver: Receiver, run_program: Program) -> None:
    succeeded(run_program(HEAD + "headcount.dispatch('reviewer').received()", receiver.endpoint))
    assert [span.event for span in receiver.spans] == ["dispatch", "completion_received"]
    assert list(sequences(receiver.spans).values()) == [[1, 2]]


def test_an_unhandled_exception_and_events_at_exit_are_exported_too(
    receiver: Receiver, run_program: Program
) -> None:
    ended = run_program(
        HEAD
        + """
import atexit
atexit.register(lambda: headcount.owner_gone("crash"))
with headcount.child(headcount.dispatch("reviewer")):
    raise ValueError("broken")
""",
        receiver.endpoint,
    )
    assert ended.returncode == 1
    assert [span.event for span in receiver.spans] == ["dispatch", "start", "child_done", "owner_gone"]


def test_a_first_event_at_exit_is_exported_though_no_thread_can_be_started(
    receiver: Receiver, run_program: Program
) -> None:
    ended = run_program(
        HEAD
        + """
import atexit
atexit.register(lambda: headcount.owner_gone("user_exit"))
""",
        receiver.endpoint,
    )
    assert ended.returncode == 0
    assert [span.event for span in receiver.spans] == ["owner_gone"]


def test_an_end_without_a_collector_is_bounded_and_quiet(run_program: Program) -> None:
    with Receiver() as gone:
        endpoint = gone.endpoint
    ended = run_program(HEAD + "headcount.dispatch('reviewer')", endpoint, HEADCOUNT_EXIT_TIMEOUT="0.5")
    assert ended.returncode == 0
    assert "Traceback" not in ended.stderr
    assert "headcount" in ended.stderr


def test_a_fork_is_another_producer_and_loses_and_doubles_nothing(
    receiver: Receiver, run_program: Program
) -> None:
    succeeded(
        run_program(
            HEAD
            + """
headcount.dispatch("parent-before")
child = os.fork()
if not child:
    headcount.dispatch("forked")
    headcount.dispatch("forked")
    headcount.flush()
    os._exit(0)
headcount.dispatch("parent-after")
os.waitpid(child, 0)
""",
            receiver.endpoint,
        )
    )
    agents = sorted(str(span.attributes["gen_ai.agent.name"]) for span in receiver.spans)
    assert agents == ["forked", "forked", "parent-after", "parent-before"]
    assert sorted(sequences(receiver.spans).values()) == [[1, 2], [1, 2]]


def test_a_fork_inside_a_run_leaves_its_end_to_the_parent(receiver: Receiver, run_program: Program) -> None:
    succeeded(
        run_program(
            HEAD
            + """
with headcount.child(headcount.dispatch("reviewer")) as ctx, ctx.tool("Bash"):
    child = os.fork()
    if child:
        os.waitpid(child, 0)
if not child:
    headcount.dispatch("after the block, in the fork")
    headcount.flush()
    os._exit(0)
""",
            receiver.endpoint,
        )
    )
    events = sorted(str(span.event) for span in receiver.spans)
    assert events == ["child_done", "dispatch", "dispatch", "start", "tool_call", "tool_call"]


def test_workers_of_multiprocessing_export_before_they_end(receiver: Receiver, run_program: Program) -> None:
    succeeded(
        run_program(
            """
import multiprocessing, sys, headcount

def work(environment):
    with headcount.child(environment):
        pass

if __name__ == "__main__":
    headcount.configure(sys.argv[1])
    run = headcount.dispatch("reviewer")
    worker = multiprocessing.get_context("fork").Process(target=work, args=(run.environ(),))
    worker.start()
    worker.join()
    sys.exit(worker.exitcode)
""",
            receiver.endpoint,
        )
    )
    assert sorted(str(span.event) for span in receiver.spans) == ["child_done", "dispatch", "start"]
    assert len({span.attributes["subagent.run.id"] for span in receiver.spans}) == 1
    assert len(sequences(receiver.spans)) == 2


def test_another_program_works_as_the_child_that_its_environment_names(
    receiver: Receiver, run_program: Program
) -> None:
    succeeded(
        run_program(
            HEAD
            + """
import subprocess
with headcount.session("chat-17"):
    run = headcount.dispatch("worker", mode="foreground", owner="lead")
code = '''
import headcount
with headcount.child() as ctx:
    headcount.dispatch("grandchild")
'''
subprocess.run([sys.executable, "-c", code], env={**os.environ, **run.environ(), "HEADCOUNT_ENDPOINT": sys.argv[1]})
""",
            receiver.endpoint,
        )
    )
    of = {(span.event, span.attributes.get("gen_ai.agent.name")): span for span in receiver.spans}
    dispatched, done = of["dispatch", "worker"], of["child_done", "worker"]
    grandchild = of["dispatch", "grandchild"]
    assert done.attributes["subagent.run.id"] == dispatched.attributes["subagent.run.id"]
    assert done.attributes["session.id"] == grandchild.attributes["session.id"] == "chat-17"
    assert (done.trace_id, done.parent_id) == (dispatched.trace_id, dispatched.span_id)
    assert grandchild.attributes["subagent.parent.run.id"] == dispatched.attributes["subagent.run.id"]


def test_os_exit_loses_at_most_what_was_not_flushed(receiver: Receiver, run_program: Program) -> None:
    succeeded(
        run_program(
            HEAD
            + """
headcount.dispatch("told")
headcount.flush()
os._exit(0)
""",
            receiver.endpoint,
        )
    )
    assert [span.attributes["gen_ai.agent.name"] for span in receiver.spans] == ["told"]


def test_a_signal_handler_may_tell_of_a_kill(receiver: Receiver, run_program: Program) -> None:
    succeeded(
        run_program(
            HEAD
            + """
import signal
run = headcount.dispatch("reviewer")
def stop(number, frame):
    run.kill("user", rule="SIGTERM")
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
with headcount.child(run):
    os.kill(os.getpid(), signal.SIGTERM)
    while True:
        run.nudge()
""",
            receiver.endpoint,
        )
    )
    events = [span.event for span in receiver.spans]
    assert events[:2] == ["dispatch", "start"]
    assert events[-2:] == ["kill", "child_done"]


def test_a_seeded_random_of_the_host_repeats_no_id(receiver: Receiver, run_program: Program) -> None:
    succeeded(
        run_program(
            HEAD
            + """
import random
for _ in range(3):
    random.seed(42)
    headcount.dispatch("reviewer")
""",
            receiver.endpoint,
        )
    )
    assert len({span.span_id for span in receiver.spans}) == 3
    assert len({span.trace_id for span in receiver.spans}) == 3
    assert len({span.attributes["subagent.run.id"] for span in receiver.spans}) == 3


def test_importing_headcount_loads_neither_exporter_nor_http(run_program: Program) -> None:
    ended = run_program(
        """
import sys, headcount
headcount.configure("http://127.0.0.1:1")
heavy = [name for name in sys.modules if name.split(".")[0] in ("requests", "google", "asyncio", "http")
         or name.startswith("opentelemetry.exporter")]
print(heavy)
"""
    )
    assert ended.stdout.strip() == "[]", ended.stderr
