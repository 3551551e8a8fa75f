"""What the shim costs its host: time per lifecycle span against the SDK's own span, import time, memory.

    python benchmarks/shim.py

Export goes to an exporter that throws away, in the shim's worker thread, and every lifecycle span is kept on disk until then; every figure is the least of several rounds,
since other work on the machine only adds to it.
"""

from __future__ import annotations

import gc
import os
import platform
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Sequence

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.version import __version__ as otel_version

import headcount

ROUNDS = 9
SPANS = 2_000


class Nowhere(SpanExporter):
    """Takes everything and keeps nothing."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        pass


def least_us(work: Callable[[], object], settle: Callable[[], object]) -> float:
    """Return the least time of one of `SPANS` calls, in microseconds; `settle` empties queues between rounds."""
    rounds = []
    for _ in range(ROUNDS):
        settle()
        gc.collect()
        gc.disable()
        begun = time.perf_counter_ns()
        for _ in range(SPANS):
            work()
        rounds.append(time.perf_counter_ns() - begun)
        gc.enable()
    settle()
    return min(rounds) / SPANS / 1000


def import_ms(module: str) -> float:
    """Return the least time of importing a module in a new interpreter, compiled before, in milliseconds."""
    code = f"import time; t = time.perf_counter(); import {module}; print((time.perf_counter() - t) * 1000)"
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as compiled:
        environment["PYTHONPYCACHEPREFIX"] = compiled
        command = [sys.executable, "-c", code]
        runs = [
            subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
            for _ in range(ROUNDS)
        ]
    return min(float(run.stdout) for run in runs)


def machine() -> str:
    """Return the machine in a line."""
    return (
        f"{os.cpu_count()} x {platform.machine()}, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, OpenTelemetry {otel_version}"
    )


def main() -> None:
    """Measure and print the table."""
    bare = TracerProvider()
    bare_processor = BatchSpanProcessor(Nowhere(), max_queue_size=4 * SPANS)
    bare.add_span_processor(bare_processor)
    bare_tracer = bare.get_tracer("bare")

    host = TracerProvider()
    host_processor = BatchSpanProcessor(Nowhere(), max_queue_size=4 * SPANS)
    host.add_span_processor(host_processor)
    trace.set_tracer_provider(host)
    host_tracer = host.get_tracer("host")
    folder = tempfile.TemporaryDirectory()
    headcount.configure(exporter=Nowhere, queue_size=8 * SPANS, spool=folder.name)

    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "Read",
        "gen_ai.tool.call.id": "c1",
    }

    def bare_span() -> None:
        with bare_tracer.start_as_current_span("execute_tool Read", attributes=attributes):
            pass

    def host_span() -> None:
        with host_tracer.start_as_current_span("execute_tool Read", attributes=attributes):
            pass

    run = headcount.dispatch("reviewer")

    with headcount.child(run) as ctx:

        def tool() -> None:
            with ctx.tool("Read", "c1"):
                pass

        settle_bare, settle_host = bare_processor.force_flush, host_processor.force_flush
        settle = headcount.flush
        base = least_us(bare_span, settle_bare)
        rows = [
            ("span of the bare SDK", base),
            ("the same, stamped with the run (`StampProcessor`)", least_us(host_span, settle_host)),
            ("tool call: span, pending twin, stamp", least_us(tool, settle)),
            ("heartbeat (an event of zero length)", least_us(ctx.heartbeat, settle)),
            ("output (told once a second)", least_us(lambda: ctx.output(1), settle)),
            ("completion receipt", least_us(run.received, settle)),
            ("dispatch", least_us(lambda: headcount.dispatch("reviewer"), settle)),
        ]
    print(f"\n{machine()}\n")
    print(f"{'on the thread of the host':52} {'µs':>7} {'x bare':>7}")
    for name, cost in rows:
        print(f"{name:52} {cost:7.1f} {cost / base:7.2f}")

    sdk, shim = import_ms("opentelemetry.sdk.trace"), import_ms("headcount")
    print(
        f"\nimport opentelemetry.sdk.trace {sdk:.1f} ms; import headcount {shim:.1f} ms (+ {shim - sdk:.1f} ms)"
    )

    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    open_runs = [headcount.child(headcount.dispatch("reviewer")) for _ in range(1000)]
    for child in open_runs:
        child.start()
    headcount.flush()
    gc.collect()
    print(f"memory of one open run: {(tracemalloc.get_traced_memory()[0] - before) / 1000 / 1024:.1f} KiB")
    print(f"dropped: {headcount.stats().dropped}; faults: {dict(headcount.stats().faults)}")
    headcount.shutdown()
    folder.cleanup()


if __name__ == "__main__":
    main()
