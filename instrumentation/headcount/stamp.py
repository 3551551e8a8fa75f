"""Stamps the run on every span that starts inside a run's context, whoever made it."""

from __future__ import annotations

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

from headcount import frame, wire
from headcount.guard import guarded, nothing

_MARK = "_headcount_stamp"


class StampProcessor(SpanProcessor):
    """Set `subagent.run.id` and `session.id` at a span's start, and again at its end if they were pushed out.

    The SDK keeps 128 attributes and drops the oldest, which the stamp is. At the end the SDK has already closed the
    attributes against its public setters, so the stamp is put back underneath them, without pushing out another.
    """

    @guarded(nothing)
    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        inside = frame.of_span(parent_context)
        if inside is None or inside.run_id is None:
            return
        stamp = {wire.RUN_ID: inside.run_id}
        present = span.attributes
        if present is None or wire.SESSION_ID not in present:
            stamp[wire.SESSION_ID] = inside.session
        span.set_attributes(stamp)
        setattr(getattr(span, "_attributes", span), _MARK, stamp)

    @guarded(nothing)
    def _on_ending(self, span: Span) -> None:
        _restamp(span)

    @guarded(nothing)
    def on_end(self, span: ReadableSpan) -> None:
        # The attributes are one object with the span's: SDKs before 1.40 never call `_on_ending`.
        _restamp(span)


def _restamp(span: ReadableSpan) -> None:
    attributes = getattr(span, "_attributes", None)
    stamp = getattr(attributes, _MARK, None)
    values = getattr(attributes, "_dict", None)
    if not stamp or not isinstance(values, dict):
        return
    for key, value in stamp.items():
        values.setdefault(key, value)
