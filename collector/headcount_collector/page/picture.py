"""Draws courses and sessions as SVG: every place along time in percent, so that one picture fits any width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from headcount_collector.evidence.moment import moment_ns
from headcount_collector.judge.policy import SECOND
from headcount_collector.judge.words import span

Document = dict[str, Any]

LANE_WORDS = {
    "owner": "owner",
    "launch": "launch and session",
    "model": "model",
    "tools": "tools and progress",
    "waits": "waits",
    "result": "result on its way back",
}
_TOP = 46
_LANE = 34
_BAR = 12
_LABEL_ROWS = 3
_CHARACTER = 0.85
"""Width of a character of a label, in percent of a picture as narrow as labels are shown on."""
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800)
_TICKS = 6
_NAMED = frozenset(
    {
        "dispatch",
        "start",
        "first_token",
        "end",
        "kill",
        "received",
        "forwarded",
        "refused",
        "consumed",
        "dismiss",
        "gone",
        "deadline",
        "grace",
        "abnormal",
    }
)
"""Kinds of marks that are named in the picture; of the others the tables tell."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Moments to percent of the width."""

    begins: int
    ends: int

    def x(self, moment: str) -> float:
        """Return where a moment lies."""
        part = (moment_ns(moment) - self.begins) / max(1, self.ends - self.begins)
        return round(min(100.0, max(0.0, part * 100)), 3)

    def ticks(self) -> Iterator[tuple[float, str]]:
        """Yield a few round times after the beginning."""
        length_s = (self.ends - self.begins) / SECOND
        step = next(
            (step for step in _STEPS if length_s / step <= _TICKS),
            _STEPS[-1] * (1 + int(length_s / _STEPS[-1] / _TICKS)),
        )
        for number in range(int(length_s // step) + 1):
            yield (
                round(number * step / length_s * 100, 3),
                "0" if not number else f"+{span(number * step * SECOND)}",
            )


@dataclass(frozen=True, slots=True)
class Bar:
    x: float
    width: float
    y: int
    kind: str
    text: str
    is_open: bool


@dataclass(frozen=True, slots=True)
class Mark:
    x: float
    y: int
    kind: str
    text: str
    label: str
    label_y: int
    anchor: str


@dataclass(frozen=True, slots=True)
class Picture:
    """All that the template draws."""

    height: int
    top: int
    bottom: int
    lanes: tuple[tuple[int, str], ...]
    bars: tuple[Bar, ...]
    marks: tuple[Mark, ...]
    lines: tuple[Mark, ...]
    gap: Bar | None
    gap_length: str
    now: float | None
    """Where the present lies, if the picture goes beyond it."""
    ticks: tuple[tuple[float, str], ...]
    key: tuple[tuple[str, str], ...]
    """(kind, words) of the marks that have a name, where there is no room for names in the picture."""
    text: str


def picture_of(course: Document) -> Picture | None:
    """Return the picture of a run's course; None where nothing is known of it."""
    if course["begins"] is None:
        return None
    scale = Scale(moment_ns(course["begins"]), moment_ns(course["ends"]))
    used = [
        lane
        for lane in course["lanes"]
        if any(thing["lane"] == lane for thing in (*course["bars"], *course["marks"]))
    ]
    places = {lane: _TOP + number * _LANE for number, lane in enumerate(used)}
    bottom = _TOP + len(used) * _LANE
    marks, lines = _marks(course["marks"], places, scale)
    gap = course["gap"]
    shaded, length = None, ""
    if gap is not None:
        x = scale.x(gap["from"])
        shaded = Bar(x, max(0.3, scale.x(gap["to"]) - x), _TOP - 4, "gap", gap["text"], False)
        length = span(moment_ns(gap["to"]) - moment_ns(gap["from"]))
    return Picture(
        height=bottom + 22,
        top=_TOP,
        bottom=bottom,
        lanes=tuple((places[lane], LANE_WORDS.get(lane, lane)) for lane in used),
        bars=tuple(_bar(bar, places[bar["lane"]] + 15, scale, course["until"]) for bar in course["bars"]),
        now=scale.x(course["until"]) if course["until"] != course["ends"] else None,
        marks=tuple(marks),
        lines=tuple(lines),
        gap=shaded,
        gap_length=length,
        ticks=tuple(scale.ticks()),
        key=tuple({mark.text: (mark.kind, mark.text) for mark in marks if mark.kind in _NAMED}.values()),
        text=_told(course, length),
    )


def _bar(bar: Document, y: int, scale: Scale, until: str) -> Bar:
    x = scale.x(bar["from"])
    length = between_ns(bar["from"], bar["to"])
    text = bar["text"] + (f", {span(length)}" if length is not None else ", still under way")
    return Bar(x, max(0.25, scale.x(bar["to"] or until) - x), y, bar["kind"], text, bar["to"] is None)


def between_ns(begin: str, end: str | None) -> int | None:
    """Return a length in nanoseconds; None without an end."""
    return None if end is None else moment_ns(end) - moment_ns(begin)


def _marks(found: Sequence[Document], places: dict[str, int], scale: Scale) -> tuple[list[Mark], list[Mark]]:
    """Place marks on their lanes and name the important ones above, in rows in which no name covers another."""
    ends = [-1.0] * _LABEL_ROWS
    marks: list[Mark] = []
    lines: list[Mark] = []
    named: set[str] = set()
    for mark in found:
        x, kind, text = scale.x(mark["at"]), mark["kind"], mark["text"]
        label, row, anchor = "", 0, "start"
        if kind in _NAMED and text not in named:
            width = len(text) * _CHARACTER + 1
            anchor = "end" if x + width > 100 else "start"
            begin = x - width if anchor == "end" else x
            row = next((row for row, end in enumerate(ends) if end <= begin), -1)
            if row >= 0:
                ends[row] = begin + width
                label = text
                named.add(text)
        y = places.get(mark["lane"], _TOP)
        placed = Mark(x, y + 21, kind, text, label, 12 + row * 13, anchor)
        (marks if mark["lane"] else lines).append(placed)
    return marks, lines


def _told(course: Document, gap_length: str) -> str:
    """Return the picture in words, for those who do not see it."""
    length = span(moment_ns(course["ends"]) - moment_ns(course["begins"]))
    said = [
        f"The course of the run over {length}: {len(course['bars'])} stretches, {len(course['marks'])} events."
    ]
    if course["gap"] is not None:
        said.append(f"Decisive: {course['gap']['text']} for {gap_length}.")
    return " ".join(said)


@dataclass(frozen=True, slots=True)
class Row:
    """One run of a session: how deep below the root owner, its verdict, and its bars."""

    depth: int
    document: Document
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A session in time."""

    rows: tuple[Row, ...]
    ticks: tuple[tuple[float, str], ...]
    begins: str
    length: str


def chart_of(runs: Sequence[Document], lines: Sequence[Document], now: str) -> Chart | None:
    """Return the chart of a session: runs below the run in which their owner works, each with its stretches."""
    known = [line["from"] for line in lines if line["from"]]
    if not known:
        return None
    ends = [
        now
        if run["status"] not in ("completed", "recovered")
        else (line["delivered"] or line["ended"] or now)
        for run, line in zip(runs, lines, strict=True)
    ]
    begins = min(known, key=moment_ns)
    last = max(moment_ns(end) for end in ends)
    scale = Scale(moment_ns(begins), max(last, moment_ns(begins) + SECOND))
    drawn = {
        (run["session"], run["run"]): tuple(_row_bars(line, end, scale))
        for run, line, end in zip(runs, lines, ends, strict=True)
    }
    rows = [Row(depth, run, drawn[run["session"], run["run"]]) for depth, run in tree(runs)]
    return Chart(tuple(rows), tuple(scale.ticks()), begins, span(scale.ends - scale.begins))


def _row_bars(line: Document, end: str, scale: Scale) -> Iterator[Bar]:
    if line["from"] is None:
        return
    stop = line["ended"] or end

    def bar(kind: str, begin: str, until: str, text: str) -> Bar:
        x = scale.x(begin)
        length = max(0, moment_ns(until) - moment_ns(begin))
        return Bar(x, max(0.25, scale.x(until) - x), 0, kind, f"{text}, {span(length)}", False)

    started = line["started"] or stop
    if moment_ns(started) > moment_ns(line["from"]):
        yield bar("pending", line["from"], started, "dispatched, not started")
    if line["started"] and moment_ns(stop) > moment_ns(started):
        yield bar("idle", started, stop, "there, without progress where nothing else is drawn")
    for wait in line["waits"]:
        yield bar("wait", wait["from"], wait["to"] or stop, f"waits ({wait['reason']})")
    for begin, until in line["worked"]:
        yield bar("worked", begin, until, "progress")
    if line["ended"] and moment_ns(end) > moment_ns(line["ended"]):
        yield bar("delivery", line["ended"], end, "ended, until its owner had the result")


def tree(runs: Sequence[Document]) -> list[tuple[int, Document]]:
    """Return runs depth first, each below the run that its owner works in; what has no known owner stands at the top."""
    serving: dict[str, str] = {}
    for run in runs:
        for child in (*run["child_sessions"], run["run"]):
            serving.setdefault(child, run["run"])
    known = {run["run"] for run in runs}
    below: dict[str | None, list[Document]] = {}
    for run in runs:
        above = run["parent"] if run["parent"] in known else None
        above = above or (serving.get(run["owner"]) if run["owner"] else None)
        below.setdefault(above if above != run["run"] else None, []).append(run)
    found: list[tuple[int, Document]] = []
    seen: set[str] = set()

    def walk(above: str | None, depth: int) -> None:
        for run in below.get(above, []):
            if run["run"] not in seen:
                seen.add(run["run"])
                found.append((depth, run))
                walk(run["run"], depth + 1)

    walk(None, 0)
    found += [(0, run) for run in runs if run["run"] not in seen]
    return found
