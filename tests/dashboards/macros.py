"""Turns a panel's query into SQL as Grafana and its ClickHouse data source do, by their documentation, and strictly:
an unknown macro or variable is an error, not text that the database may or may not take."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

ALL = "$__all"

Value = str | Sequence[str]


class MacroError(Exception):
    """A query that Grafana or the data source would refuse, or leave unexpanded."""


@dataclass(frozen=True)
class Scene:
    """What Grafana knows when it runs a query: time range and interval in whole seconds, and the chosen variables."""

    start_s: int
    end_s: int
    interval_s: int = 60
    variables: Mapping[str, Value] = field(default_factory=dict)


def expand(sql: str, scene: Scene) -> str:
    """Return the SQL of a panel: first `$__conditionalAll`, then the variables (in the browser), then the macros."""
    text = _conditional_all(sql, scene.variables)
    text = _variables(text, scene.variables)
    return expand_macros(text, scene)


def expand_macros(sql: str, scene: Scene) -> str:
    """Return the SQL of a rule: only the back end's macros. Variables and `$__conditionalAll` do not work there."""
    text = sql
    for name, make in _MACROS.items():
        while True:
            found = re.search(r"\$__" + name + r"(?![A-Za-z0-9_])", text)
            if found is None:
                break
            arguments, end = _arguments(text, found.end())
            text = text[: found.start()] + make(arguments, scene) + text[end:]
    if left := re.search(r"\$\{?\w+", text):
        raise MacroError(f"{left[0]} is left in the query")
    return text


def _conditional_all(sql: str, variables: Mapping[str, Value]) -> str:
    macro = "$__conditionalAll"
    while (at := sql.rfind(macro + "(")) >= 0:
        arguments, end = _arguments(sql, at + len(macro))
        if len(arguments) != 2:
            raise MacroError(f"{macro} takes a condition and a variable, not {arguments}")
        condition, variable = arguments
        named = re.fullmatch(r"\$\{?(\w+)\}?", variable.strip())
        if named is None or named[1] not in variables:
            raise MacroError(f"{macro}: {variable} is no variable of the dashboard")
        value = variables[named[1]]
        chosen = value if isinstance(value, str) else ",".join(value)
        sql = sql[:at] + ("1=1" if chosen in ("", ALL) else condition) + sql[end:]
    return sql


def _variables(sql: str, variables: Mapping[str, Value]) -> str:
    def put(found: re.Match[str]) -> str:
        name, form = found[1], found[2]
        if name.startswith("__"):
            return found[0]
        if name not in variables:
            raise MacroError(f"{found[0]} is no variable of the dashboard")
        value = variables[name]
        values = [value] if isinstance(value, str) else list(value)
        if form == "singlequote":
            return ",".join("'" + one.replace("'", "\\'") + "'" for one in values)
        raise MacroError(f"{found[0]}: say how the value is written, as ${{{name}:singlequote}}")

    return re.sub(r"\$\{(\w+)(?::(\w+))?\}", put, sql)


def _arguments(text: str, at: int) -> tuple[list[str], int]:
    """Split what stands in parentheses at `at` on its outer commas; a macro may stand without any."""
    if at >= len(text) or text[at] != "(":
        return [], at
    depth, begin, found, quoted = 0, at + 1, [], False
    for place in range(at, len(text)):
        letter = text[place]
        if letter == "'" and text[place - 1] != "\\":
            quoted = not quoted
        if quoted:
            continue
        if letter == "(":
            depth += 1
        elif letter == "," and depth == 1:
            found.append(text[begin:place])
            begin = place + 1
        elif letter == ")":
            depth -= 1
            if depth == 0:
                return [*found, text[begin:place]], place + 1
    raise MacroError(f"parentheses do not close: {text[at : at + 60]}")


def _one(arguments: list[str]) -> str:
    if len(arguments) != 1:
        raise MacroError(f"expected 1 argument, received {len(arguments)}")
    return arguments[0]


def _none(arguments: list[str]) -> None:
    if arguments:
        raise MacroError(f"expected no argument, received {arguments}")


def _time_filter(arguments: list[str], scene: Scene) -> str:
    column = _one(arguments)
    return f"{column} >= toDateTime({scene.start_s}) AND {column} <= toDateTime({scene.end_s})"


def _time_interval(arguments: list[str], scene: Scene) -> str:
    return f"toStartOfInterval(toDateTime({_one(arguments)}), INTERVAL {max(scene.interval_s, 1)} second)"


def _from_time(arguments: list[str], scene: Scene) -> str:
    _none(arguments)
    return f"toDateTime({scene.start_s})"


def _to_time(arguments: list[str], scene: Scene) -> str:
    _none(arguments)
    return f"toDateTime({scene.end_s})"


def _interval_s(arguments: list[str], scene: Scene) -> str:
    _none(arguments)
    return str(max(scene.interval_s, 1))


_MACROS = {
    "timeFilter": _time_filter,
    "timeInterval": _time_interval,
    "fromTime": _from_time,
    "toTime": _to_time,
    "interval_s": _interval_s,
}
