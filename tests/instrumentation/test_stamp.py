"""The run's stamp on the host's own spans, the host's limits, and the host's sampling."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased, TraceIdRatioBased

import headcount
from headcount.testing import Recorder

from .conftest import Host


def test_every_span_that_starts_inside_a_run_is_stamped(recorder: Recorder, host: Host) -> None:
    with headcount.child(headcount.dispatch("reviewer")) as ctx:
        with host.tracer.start_as_current_span("inside"), host.tracer.start_as_current_span("deeper"):
            pass
        with host.tracer.start_as_current_span("own root", context=Context()):
            pass
    with host.tracer.start_as_current_span("outside"):
        pass
    for name in ("inside", "deeper", "own root"):
        assert host.attributes_of(name)["subagent.run.id"] == ctx.run.id
        assert host.attributes_of(name)["session.id"] == ctx.run.session
    assert "subagent.run.id" not in host.attributes_of("outside")


def test_a_span_of_two_hundred_attributes_keeps_its_stamp(
    recorder: Recorder, host: Host, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    with (
        headcount.child(headcount.dispatch("reviewer")) as ctx,
        host.tracer.start_as_current_span("wide") as span,
    ):
        for number in range(200):
            span.set_attribute(f"k{number}", number)
    said = host.attributes_of("wide")
    assert said["subagent.run.id"] == ctx.run.id
    assert said["session.id"] == ctx.run.session
    assert said["k199"] == 199
    assert len(said) == 130, "the stamp comes on top of the host's 128 and pushes none of them out"


def test_a_session_id_of_the_host_stays(recorder: Recorder, host: Host) -> None:
    with headcount.child(headcount.dispatch("reviewer")):
        host.tracer.start_span("theirs", attributes={"session.id": "theirs"}).end()
    assert host.attributes_of("theirs")["session.id"] == "theirs"


def test_lifecycle_spans_share_the_resource_of_the_host_and_not_its_exporter(
    recorder: Recorder, host: Host
) -> None:
    with headcount.child(headcount.dispatch("reviewer")) as ctx, ctx.tool("Read"):
        pass
    assert host.exported.get_finished_spans() == ()
    assert {event.span.resource.attributes["team"] for event in recorder.events} == {"blue"}


def test_a_host_that_comes_later_is_joined(recorder: Recorder, make_host: Callable[..., Host]) -> None:
    headcount.dispatch("before")
    host = make_host()
    with headcount.child(headcount.dispatch("after")) as ctx, host.tracer.start_as_current_span("inside"):
        pass
    assert host.attributes_of("inside")["subagent.run.id"] == ctx.run.id
    services = [event.span.resource.attributes["service.name"] for event in recorder.events_of("dispatch")]
    assert str(services[0]).startswith("unknown_service")
    assert services[1] == "the-host"


def test_a_host_is_stamped_once_however_often_it_is_configured(recorder: Recorder, host: Host) -> None:
    headcount.configure(exporter=_unused)
    headcount.configure(exporter=_unused)
    headcount.shutdown()
    processors = host.provider._active_span_processor._span_processors
    assert [type(processor).__name__ for processor in processors].count("StampProcessor") == 1


def _unused() -> SpanExporter:
    raise AssertionError("nothing was emitted")


def test_without_a_host_none_is_made(recorder: Recorder, make_host: Callable[..., Host]) -> None:
    headcount.dispatch("reviewer")
    assert not isinstance(trace.get_tracer_provider(), TracerProvider)


def test_a_sampled_out_parent_silences_no_lifecycle_span(
    recorder: Recorder, make_host: Callable[..., Host]
) -> None:
    host = make_host(ParentBased(ALWAYS_OFF))
    with host.tracer.start_as_current_span("dropped"):
        run = headcount.dispatch("reviewer", mode="foreground")
        with headcount.child(run) as ctx, ctx.tool("Read"), host.tracer.start_as_current_span("below"):
            pass
    assert recorder.names() == ["dispatch", "start", "tool_call…", "tool_call", "child_done"]
    assert host.exported.get_finished_spans() == (), (
        "the host exports not one span more than without headcount"
    )


def test_a_remote_parent_without_the_sampled_flag_does_not_either(recorder: Recorder) -> None:
    carrier = {
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",
        "headcount-run-id": "r1",
        "headcount-mode": "foreground",
    }
    with headcount.child(carrier):
        pass
    assert recorder.names() == ["start", "child_done"]
    assert "-00" in headcount.inject(run=headcount.extract(carrier))["traceparent"]


def test_a_background_trace_is_sampled_as_the_host_samples(
    recorder: Recorder, make_host: Callable[..., Host]
) -> None:
    host = make_host(ParentBased(TraceIdRatioBased(0.0)))
    with headcount.child(headcount.dispatch("reviewer")), host.tracer.start_as_current_span("below"):
        pass
    assert host.exported.get_finished_spans() == ()
    assert recorder.names() == ["dispatch", "start", "child_done"]


def test_a_thread_is_outside_until_it_is_brought_inside(recorder: Recorder, host: Host) -> None:
    def work(name: str) -> None:
        with host.tracer.start_as_current_span(name):
            pass

    def joined(name: str) -> None:
        with headcount.inside(ctx):
            work(name)

    with headcount.child(headcount.dispatch("reviewer")) as ctx, ThreadPoolExecutor(1) as pool:
        pool.submit(work, "stray").result()
        pool.submit(joined, "joined").result()
    assert "subagent.run.id" not in host.attributes_of("stray")
    assert host.attributes_of("joined")["subagent.run.id"] == ctx.run.id


def test_a_context_that_leaked_out_of_a_run_no_longer_stamps(recorder: Recorder, host: Host) -> None:
    ctx = headcount.child(headcount.dispatch("reviewer"))
    ctx.start(attach=True)
    leaked = context.get_current()
    ctx.finish()
    with host.tracer.start_as_current_span("late", context=leaked):
        pass
    assert "subagent.run.id" not in host.attributes_of("late")
