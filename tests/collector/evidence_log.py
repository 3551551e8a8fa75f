"""Evidence for tests of the facts: short lines or hand-made spans, committed at the moment they arrive."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from headcount_collector.derive.loader import FactsLoader, RunKey
from headcount_collector.evidence.record import export_request
from headcount_collector.evidence.short_form import record_of
from headcount_collector.judge.facts import Facts
from headcount_collector.store import Store

SECOND = 1_000_000_000
T0 = 1_790_000_000 * SECOND

_ids = itertools.count(1)


def at(seconds: float) -> int:
    """Return a moment, nanoseconds, `seconds` after T0."""
    return T0 + round(seconds * 1000) * 1_000_000


def seconds(moment: int | None) -> float | None:
    """Return a moment as seconds after T0."""
    return None if moment is None else (moment - T0) / SECOND


class Log:
    """One session of a store that tests share; names of other sessions and producers are told apart by it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.session = f"s{next(_ids)}"

    @property
    def loader(self) -> FactsLoader:
        """A loader that has seen nothing yet."""
        return FactsLoader(self.store)

    def arrive(self, when: float, *lines: Mapping[str, object]) -> None:
        """Commit short-form lines that all arrive at `when`; `time` is their event time (default: `when`)."""
        records = [record_of(self._complete(when, line), T0) for line in lines]
        self.store.commit([export_request(records).SerializeToString()], at(when))

    def arrive_spans(self, when: float, *spans: Span, service: str = "other") -> None:
        request = ExportTraceServiceRequest()
        resource = request.resource_spans.add()
        resource.resource.attributes.append(
            KeyValue(key="service.name", value=AnyValue(string_value=service))
        )
        resource.scope_spans.add().spans.extend(spans)
        self.store.commit([request.SerializeToString()], at(when))

    def facts(self, run: str = "r1", session: str | None = None) -> Facts:
        loader, key = self.loader, RunKey(session or self.session, run)
        return loader.load([key])[loader.resolve([key])[key]]

    def _complete(self, when: float, line: Mapping[str, object]) -> dict[str, object]:
        complete: dict[str, object] = {"at": when, "session": self.session, **line}
        if "producer" in line:
            complete["producer"] = f"{self.session}/{line['producer']}"
        if "run" not in line and not str(line["event"]).startswith("owner_"):
            complete["run"] = "r1"
        return complete


def span(
    name: str,
    start: float,
    end: float | None = None,
    attributes: Mapping[str, str | bool | int | float] | None = None,
    *,
    parent: bytes = b"",
    span_id: bytes | None = None,
) -> Span:
    """Return a span as others make them; zero length without `end`."""
    number = next(_ids)
    return Span(
        name=name,
        trace_id=number.to_bytes(16, "big"),
        span_id=span_id or number.to_bytes(8, "big"),
        parent_span_id=parent,
        start_time_unix_nano=at(start),
        end_time_unix_nano=at(start if end is None else end),
        attributes=[KeyValue(key=key, value=_value(value)) for key, value in (attributes or {}).items()],
    )


def _value(value: str | bool | float) -> AnyValue:
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    return AnyValue(string_value=value)
