"""Builds the OTLP exporter on first use, so that importing headcount imports neither HTTP nor protobuf."""

from __future__ import annotations

import logging
import os

from opentelemetry.sdk.trace.export import SpanExporter

from headcount.guard import complain
from headcount.outbox import WORKER_NAME
from headcount.settings import Settings, traces_url

_EXPORTER_LOGGER = "opentelemetry.exporter.otlp.proto.http.trace_exporter"


class _OnlyOthers(logging.Filter):
    """Drop what the exporter logs in our worker: an outage is told once, by us, not with every attempt."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.threadName != WORKER_NAME


_only_others = _OnlyOthers()


def connect(settings: Settings) -> SpanExporter:
    """Return a new exporter for these settings; what they leave open is read from OTEL_EXPORTER_OTLP_…."""
    if settings.exporter is not None:
        return settings.exporter()
    protocol = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or os.environ.get(
        "OTEL_EXPORTER_OTLP_PROTOCOL"
    )
    if protocol == "grpc" and settings.endpoint is None:
        exporter = _connect_grpc(settings)
        if exporter is not None:
            return exporter
    return _connect_http(settings)


def _connect_http(settings: Settings) -> SpanExporter:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    logging.getLogger(_EXPORTER_LOGGER).addFilter(_only_others)
    endpoint = traces_url(settings.endpoint) if settings.endpoint else None
    return OTLPSpanExporter(endpoint=endpoint, headers=dict(settings.headers))


def _connect_grpc(settings: Settings) -> SpanExporter | None:
    try:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import (  # type: ignore[import-not-found,unused-ignore]  # optional package
            OTLPSpanExporter,
        )
    except ImportError:
        complain(
            "grpc",
            "headcount: OTEL_EXPORTER_OTLP_PROTOCOL is grpc and its exporter is missing; HTTP is used: "
            "pip install opentelemetry-exporter-otlp-proto-grpc, or set HEADCOUNT_ENDPOINT",
        )
        return None
    exporter: SpanExporter = OTLPSpanExporter(headers=dict(settings.headers) or None)
    return exporter
