"""A run's way to another process and back, whatever its ids are made of."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.trace import SpanContext, TraceFlags

import headcount
from headcount import carrier
from headcount.run import Run
from headcount.testing import Recorder

text = st.text(min_size=1, max_size=40)
places = st.builds(
    SpanContext,
    st.integers(1, 2**128 - 1),
    st.integers(1, 2**64 - 1),
    st.just(False),
    st.sampled_from([TraceFlags(0), TraceFlags(1)]),
)
runs = st.builds(
    Run,
    text,
    text,
    owner=st.text(max_size=40),
    agent=st.none() | text,
    mode=st.sampled_from(["foreground", "background", "teammate"]),
    attended=st.none() | st.booleans(),
    span_context=places,
)


def parts(run: Run) -> tuple[object, ...]:
    place = run.span_context
    where = (place.trace_id, place.span_id, int(place.trace_flags))
    return (run.id, run.session, run.owner, run.agent, run.mode, run.attended, where)


@given(runs)
def test_a_run_comes_back_from_headers_and_environment_as_it_went(run: Run) -> None:
    for carried in (run.carrier(), run.environ()):
        assert all(value.isascii() and value.isprintable() for value in carried.values())
        back = headcount.extract(carried)
        assert back is not None
        assert parts(back) == parts(run)


@given(
    st.dictionaries(
        st.text(max_size=20) | st.sampled_from([carrier.RUN, carrier.MODE, "traceparent"]), st.text()
    )
)
def test_any_carrier_gives_a_run_or_none(headers: dict[str, str]) -> None:
    found = headcount.extract(headers)
    assert found is None or found.id


def test_inject_writes_the_current_run_and_trace_into_a_carrier(recorder: Recorder) -> None:
    headers = {"accept": "text/plain"}
    with headcount.child(headcount.dispatch("reviewer")) as ctx:
        written = headcount.inject(headers)
    assert headers == {"accept": "text/plain", **written}
    done = recorder.events_of("child_done")[0].span.get_span_context()
    assert done is not None
    assert headers["traceparent"].split("-")[2] == f"{done.span_id:016x}"
    assert headers["headcount-run-id"] == ctx.run.id


def test_outside_of_a_run_only_the_trace_is_written(recorder: Recorder) -> None:
    assert headcount.inject() == {}


def test_headers_are_found_in_any_case() -> None:
    found = headcount.extract({"Headcount-Run-Id": "r1", "Headcount-Session-Id": "s1"})
    assert found is not None
    assert (found.id, found.session, found.mode) == ("r1", "s1", "background")
