"""What the shim's tests share: a recorder, a receiver, a host with an SDK of its own, and programs to run."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import Sampler

from headcount import configuration, guard, testing

from .receiver import Receiver


@pytest.fixture(autouse=True)
def _fresh_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Leave neither a pipeline nor counted faults to the next test, and nothing on disk outside its own folder."""
    for name in list(os.environ):
        if name.startswith(("OTEL_", "HEADCOUNT_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    guard.faults.clear()
    before = configuration.install(None)
    monkeypatch.setattr(configuration, "_decided", False)
    yield
    used = configuration.install(before)
    if used is not None:
        used.sink.close(5.0)


@pytest.fixture
def recorder() -> Iterator[testing.Recorder]:
    with testing.record() as recorded:
        yield recorded


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as listening:
        yield listening


@dataclass
class Host:
    """A program that already traces: its provider and what it exported."""

    provider: TracerProvider
    exported: InMemorySpanExporter

    @property
    def tracer(self) -> trace.Tracer:
        return self.provider.get_tracer("host")

    def attributes_of(self, name: str) -> dict[str, object]:
        found = [span for span in self.exported.get_finished_spans() if span.name == name]
        assert len(found) == 1, name
        return dict(found[0].attributes or {})


@pytest.fixture
def make_host(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Host]]:
    """Return a maker of hosts: it sets the global provider, which a process can do but once, for this test."""
    from opentelemetry.util._once import Once

    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER_SET_ONCE", Once())
    made: list[TracerProvider] = []

    def make(sampler: Sampler | None = None) -> Host:
        exported = InMemorySpanExporter()
        provider = TracerProvider(
            sampler=sampler, resource=Resource.create({"service.name": "the-host", "team": "blue"})
        )
        provider.add_span_processor(SimpleSpanProcessor(exported))
        trace.set_tracer_provider(provider)
        made.append(provider)
        return Host(provider, exported)

    yield make
    for provider in made:
        provider.shutdown()


@pytest.fixture
def host(make_host: Callable[..., Host]) -> Host:
    return make_host()


@pytest.fixture
def run_program() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a runner of programs in an interpreter of their own."""

    def run(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        clean = {
            key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "HEADCOUNT_"))
        }
        return subprocess.run(
            [sys.executable, "-W", "error", "-c", textwrap.dedent(code), *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**clean, **environment},
        )

    return run
