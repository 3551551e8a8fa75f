"""Numbers as Prometheus text (exposition format 0.0.4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric; `values` by the value of its `label`, or under "" where it has none."""

    name: str
    kind: str
    """counter or gauge."""
    says: str
    values: Mapping[str, float]
    label: str = ""


def gauge(name: str, says: str, value: float) -> Metric:
    """Return a gauge without labels."""
    return Metric(name, "gauge", says, {"": value})


def counter(name: str, says: str, value: float) -> Metric:
    """Return a counter without labels; its name ends in `_total`."""
    return Metric(name, "counter", says, {"": value})


def exposition(metrics: Iterable[Metric]) -> str:
    """Return the metrics as one page of text."""
    return "".join(f"{line}\n" for metric in metrics for line in _lines(metric))


def _lines(metric: Metric) -> Iterator[str]:
    yield f"# HELP {metric.name} {metric.says}"
    yield f"# TYPE {metric.name} {metric.kind}"
    for value, number in metric.values.items():
        labels = f'{{{metric.label}="{_escaped(value)}"}}' if metric.label else ""
        yield (
            f"{metric.name}{labels} {float(number):g}"
            if number % 1
            else f"{metric.name}{labels} {int(number)}"
        )


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
