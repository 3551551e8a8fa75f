"""Draws a dashboard from its own definition and the answers to its own queries: a picture for review and README."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Any

from headcount_dashboards.panels import Json
from tests.dashboards.asked import Frame, is_number, is_text

WIDTH = 1440
_CELL, _GAP = WIDTH / 24, 8
_ROW = 32
_COLORS = {
    "green": "#56a64b", "light-green": "#96d98d", "red": "#e02f44", "dark-red": "#ad0317", "orange": "#ff780a",
    "blue": "#5794f2", "yellow": "#f2cc0c", "text": "#ccccdc", "purple": "#a352cc",
    "light-blue": "#8ab8ff", "dark-green": "#37872d",
}  # fmt: skip
_PALETTE = [
    "#73bf69",
    "#f2cc0c",
    "#8ab8ff",
    "#ff780a",
    "#f2495c",
    "#5794f2",
    "#b877d9",
    "#705da0",
    "#37872d",
    "#fade2a",
]
_INK, _DIM, _PAGE, _PANEL, _LINE = "#ccccdc", "#8e8e99", "#111217", "#181b1f", "#2c3235"


def draw(dashboard: Json, frames: dict[int, list[Frame]], start_s: int, end_s: int) -> str:
    """Return the dashboard as SVG; `frames` are the answers by panel id, in the order of its targets."""
    bottom = max(p["gridPos"]["y"] + p["gridPos"]["h"] for p in dashboard["panels"])
    height = 44 + bottom * _ROW + _GAP
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="Inter, Helvetica, Arial, sans-serif" font-size="12">'
    )
    parts = [
        head,
        f'<rect width="{WIDTH}" height="{height}" fill="{_PAGE}"/>',
        _text(14, 28, dashboard["title"], 18, _INK, bold=True),
    ]
    for panel in dashboard["panels"]:
        grid = panel["gridPos"]
        x, y = grid["x"] * _CELL + _GAP / 2, 44 + grid["y"] * _ROW + _GAP / 2
        w, h = grid["w"] * _CELL - _GAP, grid["h"] * _ROW - _GAP
        if panel["type"] == "row":
            parts.append(_text(x + 4, y + 17, panel["title"], 14, _INK, bold=True))
            continue
        parts.append(
            f'<svg x="{x:.0f}" y="{y:.0f}" width="{w:.0f}" height="{h:.0f}"><rect width="100%" height="100%" rx="3" '
            f'fill="{_PANEL}" stroke="{_LINE}"/>{_text(10, 19, panel["title"], 13, _INK, bold=True)}'
        )
        answers = frames[panel["id"]]
        if any(frame.rows for frame in answers):
            parts.append(_DRAW[panel["type"]](panel, answers, _Box(10, 30, w - 20, h - 38, start_s, end_s)))
        else:
            empty = panel["fieldConfig"]["defaults"]["noValue"]
            parts.append(_text(w / 2, h / 2 + 8, empty, 13, _DIM, middle=True))
        parts.append("</svg>")
    return "\n".join([*parts, "</svg>"]) + "\n"


class _Box:
    """Where to draw, and the time range that its width stands for."""

    def __init__(self, x: float, y: float, w: float, h: float, start_s: int, end_s: int) -> None:
        self.x, self.y, self.w, self.h = x, y, w, h
        self.start_s, self.end_s = start_s, end_s

    def at(self, moment: datetime) -> float:
        """Return the place of a moment."""
        seconds = moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
        share = (seconds - self.start_s) / max(self.end_s - self.start_s, 1)
        return self.x + min(max(share, 0), 1) * self.w


def _stat(panel: Json, frames: Sequence[Frame], box: _Box) -> str:
    frame = frames[0]
    parts = []
    width = box.w / len(frame.names)
    for index, (name, value) in enumerate(zip(frame.names, frame.rows[0], strict=True)):
        field = _field(panel, name)
        color = _color_of(field, value)
        filled = (
            panel["options"]["colorMode"] == "background" and color != _COLORS["text"] and value is not None
        )
        x = box.x + index * width
        if filled:
            parts.append(
                f'<rect x="{x:.0f}" y="{box.y}" width="{width - 6:.0f}" height="{box.h:.0f}" rx="3" fill="{color}"/>'
            )
        ink = "#ffffff" if filled else color
        shown = _shown(value, field)
        size = min(34, box.h * 0.5, (width - 16) / max(len(shown), 1) * 1.8)
        parts.append(
            _text(x + (width - 6) / 2, box.y + box.h * 0.55, shown, size, ink, bold=True, middle=True)
        )
        if len(frame.names) > 1:
            parts.append(_text(x + (width - 6) / 2, box.y + box.h * 0.85, name, 11, ink, middle=True))
    return "".join(parts)


def _timeseries(panel: Json, frames: Sequence[Frame], box: _Box) -> str:
    series = _series(frames[0])
    custom = panel["fieldConfig"]["defaults"]["custom"]
    stacked, bars = custom["stacking"]["mode"] == "normal", custom["drawStyle"] == "bars"
    field = _field(panel, "")
    plot = _Box(box.x + 44, box.y, box.w - 44, box.h - 34, box.start_s, box.end_s)
    tops = _stack(series) if stacked else series
    top = max((value for points in tops.values() for _, value in points), default=0) or 1
    parts = [
        f'<line x1="{plot.x}" x2="{plot.x + plot.w:.0f}" y1="{y:.0f}" y2="{y:.0f}" stroke="{_LINE}"/>'
        + _text(plot.x - 6, y + 4, _shown(top * share, field), 10, _DIM, end=True)
        for share in (0.0, 0.5, 1.0)
        for y in (plot.y + plot.h * (1 - share),)
    ]
    parts += [
        _text(
            plot.x + plot.w * share,
            plot.y + plot.h + 13,
            _clock(plot, share),
            10,
            _DIM,
            middle=0 < share < 1,
            end=share == 1,
        )
        for share in (0.0, 0.5, 1.0)
    ]
    colors = {name: _series_color(panel, name, index) for index, name in enumerate(series)}
    for name in reversed(list(tops)):
        places = [(plot.at(t), plot.y + plot.h * (1 - value / top)) for t, value in tops[name]]
        if bars:
            wide = max(2.0, plot.w / 90)
            parts += [
                f'<rect x="{x - wide / 2:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{plot.y + plot.h - y:.1f}" fill="{colors[name]}"/>'
                for x, y in places
            ]
        else:
            parts.append(_line(places, colors[name], plot, stacked))
    parts.append(_legend(colors, box))
    return "".join(parts)


def _line(places: Sequence[tuple[float, float]], color: str, plot: _Box, stacked: bool) -> str:
    if stacked:
        steps = [
            point
            for (x, y), (following, _) in zip(places, [*places[1:], (plot.x + plot.w, 0)], strict=True)
            for point in ((x, y), (following, y))
        ]
        places = steps
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    below = f"{places[0][0]:.1f},{plot.y + plot.h:.1f} {path} {places[-1][0]:.1f},{plot.y + plot.h:.1f}"
    dots = (
        ""
        if len(places) > 60 or stacked
        else "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="{color}"/>' for x, y in places)
    )
    return (
        f'<polygon points="{below}" fill="{color}" fill-opacity="{1 if stacked else 0.07}"/>'
        f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1.3"/>{dots}'
    )


def _table(panel: Json, frames: Sequence[Frame], box: _Box) -> str:
    frame = frames[0]
    fields = [_field(panel, name) for name in frame.names]
    rows = frame.rows[: max(1, int((box.h - 24) / 22))]
    cells = [[_shown(value, field) for value, field in zip(row, fields, strict=True)] for row in rows]
    longest = [
        min(60, max([len(name), *(len(row[i]) for row in cells)])) + 2 for i, name in enumerate(frame.names)
    ]
    widths = [box.w * size / sum(longest) for size in longest]
    parts = []
    x = box.x
    for index, (name, width) in enumerate(zip(frame.names, widths, strict=True)):
        parts.append(_text(x, box.y + 12, _cut(name, width), 11, _COLORS["blue"], bold=True))
        for number, row in enumerate(rows):
            y = box.y + 34 + number * 22
            ink = _color_of(fields[index], row[index]) if "mappings" in fields[index] else _INK
            if fields[index].get("links"):
                ink = "#6e9fff"
            parts.append(_text(x, y, _cut(cells[number][index], width), 11.5, ink))
        x += width
    parts += [
        f'<line x1="{box.x}" x2="{box.x + box.w:.0f}" y1="{box.y + 19 + n * 22}" y2="{box.y + 19 + n * 22}" stroke="{_LINE}"/>'
        for n in range(len(rows) + 1)
    ]
    return "".join(parts)


def _bars(panel: Json, frames: Sequence[Frame], box: _Box) -> str:
    frame = frames[0]
    over = panel["options"]["xField"]
    names = [
        name
        for name in frame.names
        if name != over and not _field(panel, name).get("custom.hideFrom", {}).get("viz")
    ]
    totals = [
        sum(value or 0 for name, value in zip(frame.names, row, strict=True) if name in names)
        for row in frame.rows
    ]
    top = max(totals, default=0) or 1
    colors = {name: _series_color(panel, name, index) for index, name in enumerate(names)}
    height = min(34.0, (box.h - 26) / max(len(frame.rows), 1))
    parts = []
    for number, row in enumerate(frame.rows):
        y, x = box.y + number * height, box.x + 110
        values = dict(zip(frame.names, row, strict=True))
        parts.append(_text(box.x + 104, y + height / 2 + 4, _cut(str(values[over]), 104), 11, _INK, end=True))
        for name in names:
            width = (values[name] or 0) / top * (box.w - 190)
            parts.append(
                f'<rect x="{x:.1f}" y="{y + 3:.1f}" width="{width:.1f}" height="{height - 6:.1f}" fill="{colors[name]}"/>'
            )
            x += width
        parts.append(
            _text(x + 6, y + height / 2 + 4, _shown(totals[number], _field(panel, names[0])), 11, _INK)
        )
    parts.append(_legend(colors, box))
    return "".join(parts)


def _states(panel: Json, frames: Sequence[Frame], box: _Box) -> str:
    lanes: dict[str, list[tuple[datetime, Any]]] = {}
    for frame in frames:
        if panel.get("transformations"):
            for moment, lane, state in frame.rows:
                lanes.setdefault(lane, []).append((moment, state))
        elif frame.rows:
            lanes[frame.names[1]] = [(row[0], row[1]) for row in frame.rows]
    mapped = _field(panel, "")
    height = min(40.0, (box.h - 18) / max(len(lanes), 1))
    plot = _Box(box.x + 130, box.y, box.w - 130, box.h, box.start_s, box.end_s)
    palette: dict[str, str] = {}
    parts = []
    for number, (lane, states) in enumerate(lanes.items()):
        y = box.y + number * height
        parts.append(_text(plot.x - 8, y + height / 2 + 4, _cut(lane, 120), 11, _INK, end=True))
        following = [moment for moment, _ in states[1:]]
        for (moment, state), until in zip(states, [*following, None], strict=True):
            if state in (None, ""):
                continue
            x = plot.at(moment)
            width = (plot.at(until) if until is not None else plot.x + plot.w) - x
            color = _color_of(mapped, state)
            if color == _COLORS["text"]:
                color = palette.setdefault(str(state), _PALETTE[len(palette) % len(_PALETTE)])
            parts.append(
                f'<rect x="{x:.1f}" y="{y + 2:.1f}" width="{max(width, 1.5):.1f}" height="{height - 4:.1f}" fill="{color}" fill-opacity="0.8"/>'
            )
            if width > 40:
                parts.append(
                    _text(x + 5, y + height / 2 + 4, _cut(_shown(state, mapped), width), 11, "#ffffff")
                )
    parts += [
        _text(plot.x + plot.w * s, box.y + box.h, _clock(plot, s), 10, _DIM, middle=0 < s < 1, end=s == 1)
        for s in (0.0, 0.5, 1.0)
    ]
    return "".join(parts)


def _trace(panel: Json, frames: Sequence[Frame], box: _Box) -> str:
    frame = frames[0]
    starts = frame.column("startTime")
    lengths = frame.column("duration")
    first = min(starts)
    whole = (
        max([(s - first).total_seconds() + d / 1000 for s, d in zip(starts, lengths, strict=True)], default=1)
        or 1
    )
    parts = []
    for number, (name, start, length) in enumerate(
        zip(frame.column("operationName"), starts, lengths, strict=True)
    ):
        y = box.y + number * 20
        if y > box.y + box.h - 20:
            break
        x = box.x + 240 + (start - first).total_seconds() / whole * (box.w - 330)
        width = max(length / 1000 / whole * (box.w - 330), 3)
        parts.append(_text(box.x, y + 13, _cut(name, 230), 11, _INK))
        parts.append(
            f'<rect x="{x:.1f}" y="{y + 3}" width="{width:.1f}" height="12" rx="2" fill="{_PALETTE[number % 4]}"/>'
        )
        parts.append(_text(x + width + 5, y + 13, _seconds((start - first).total_seconds()), 10, _DIM))
    return "".join(parts)


def _series(frame: Frame) -> dict[str, list[tuple[datetime, float]]]:
    """Turn rows into series, as the data source turns long frames into wide ones."""
    texts = [i for i, kind in enumerate(frame.types) if is_text(kind)]
    values = [i for i, kind in enumerate(frame.types) if is_number(kind)]
    found: dict[str, list[tuple[datetime, float]]] = {}
    for row in frame.rows:
        for value in values:
            name = str(row[texts[0]]) if texts else frame.names[value]
            found.setdefault(name, []).append((row[0], float(row[value] or 0)))
    return found


def _stack(series: dict[str, list[tuple[datetime, float]]]) -> dict[str, list[tuple[datetime, float]]]:
    below: dict[datetime, float] = {}
    stacked = {}
    for name, points in series.items():
        for moment, value in points:
            below[moment] = below.get(moment, 0.0) + value
        stacked[name] = [(moment, below[moment]) for moment, _ in points]
    return stacked


def _field(panel: Json, name: str) -> Json:
    """Return the settings of one column: the panel's defaults, and what is said of the column."""
    found = dict(panel["fieldConfig"]["defaults"])
    for override in panel["fieldConfig"]["overrides"]:
        if override["matcher"]["options"] == name:
            found |= {one["id"]: one["value"] for one in override["properties"]}
    return found


def _color_of(field: Json, value: Any) -> str:
    for mapping in field.get("mappings", []):
        if isinstance(value, str) and value in mapping["options"]:
            return _COLORS[mapping["options"][value]["color"]]
    if field.get("color", {}).get("mode") == "fixed":
        return _COLORS[field["color"]["fixedColor"]]
    color = "text"
    if isinstance(value, (int, float)):
        for step in field.get("thresholds", {}).get("steps", []):
            if step["value"] is None or value >= step["value"]:
                color = step["color"]
    return _COLORS[color]


def _series_color(panel: Json, name: str, index: int) -> str:
    color = _field(panel, name).get("color", {})
    return _COLORS[color["fixedColor"]] if color.get("mode") == "fixed" else _PALETTE[index % len(_PALETTE)]


def _shown(value: Any, field: Json) -> str:
    for mapping in field.get("mappings", []):
        if isinstance(value, str) and value in mapping["options"]:
            return str(mapping["options"][value].get("text", value))
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.strftime("%m-%d %H:%M:%S")
    if isinstance(value, (int, float)):
        return _UNITS.get(field.get("unit", "short"), _short)(value)
    return str(value)


def _seconds(value: float) -> str:
    size = abs(value)
    for length, unit in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        if size >= length:
            return f"{value / length:.1f}".removesuffix(".0") + f" {unit}"
    return f"{value * 1000:.0f} ms" if value else "0 s"


def _bytes(value: float) -> str:
    for length, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if value >= length:
            return f"{value / length:.1f} {unit}"
    return f"{value:.0f} B"


def _short(value: float) -> str:
    for length, unit in ((1_000_000, " Mil"), (1_000, " K")):
        if abs(value) >= length:
            return f"{value / length:.3g}{unit}"
    return f"{value:.3g}"


_UNITS: dict[str, Callable[[float], str]] = {
    "s": _seconds,
    "percentunit": lambda value: f"{value * 100:.0f} %",
    "bytes": _bytes,
}


def _clock(box: _Box, share: float) -> str:
    return datetime.fromtimestamp(box.start_s + share * (box.end_s - box.start_s), UTC).strftime("%H:%M")


def _legend(colors: dict[str, str], box: _Box) -> str:
    parts, x = [], box.x
    for name, color in colors.items():
        if x + 26 + len(name) * 6 > box.x + box.w:
            break
        parts.append(f'<rect x="{x:.0f}" y="{box.y + box.h - 6:.0f}" width="12" height="4" fill="{color}"/>')
        parts.append(_text(x + 16, box.y + box.h, name, 10.5, _INK))
        x += 30 + len(name) * 6
    return "".join(parts)


def _cut(text: str, width: float) -> str:
    most = max(3, int(width / 6.1))
    return text if len(text) <= most else text[: most - 1] + "…"


def _text(
    x: float,
    y: float,
    text: str,
    size: float,
    color: str,
    *,
    bold: bool = False,
    middle: bool = False,
    end: bool = False,
) -> str:
    anchor = ' text-anchor="middle"' if middle else ' text-anchor="end"' if end else ""
    weight = ' font-weight="600"' if bold else ""
    clean = re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", "", text)
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:.1f}" fill="{color}"{weight}{anchor}>{escape(clean)}</text>'


_DRAW: dict[str, Callable[[Json, Sequence[Frame], _Box], str]] = {
    "stat": _stat,
    "timeseries": _timeseries,
    "table": _table,
    "barchart": _bars,
    "state-timeline": _states,
    "traces": _trace,
}
