"""Reads the named SQL files: one for each query of a panel, a variable, an annotation or a rule.

A line `{{ part }}` stands for the file of that name in `parts`, which several queries share. A place `{name}` is filled
by `Query.values`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from headcount_dashboards.errors import DashboardsError

_FOLDER = files(__package__).joinpath("queries")
_PARTS = "parts"
_PART = re.compile(r"^( *)\{\{ (\w+) \}\}", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Query:
    """A query `folder/name` with places. The values are words of the domain, never user input."""

    name: str
    values: Mapping[str, str] = field(default_factory=dict)


def sql(query: str | Query) -> str:
    """Return a query as Grafana's data source takes it: parts and places filled, macros and variables still in it."""
    if isinstance(query, str):
        return _text(query)
    text = _text(query.name)
    for key, value in query.values.items():
        place = "{" + key + "}"
        if place not in text or not value.replace("_", "").replace(" ", "").isalnum():
            raise DashboardsError(f"query {query.name!r} has no place for {key} = {value!r}")
        text = text.replace(place, value)
    return text


def names() -> list[str]:
    """List every query of the package."""
    return sorted(
        f"{folder.name}/{file.name.removesuffix('.sql')}"
        for folder in _FOLDER.iterdir()
        for file in folder.iterdir()
        if folder.name != _PARTS and file.name.endswith(".sql")
    )


@cache
def _text(name: str) -> str:
    folder, _, file = name.partition("/")
    resource = _FOLDER.joinpath(folder, f"{file}.sql")
    if not resource.is_file():
        raise DashboardsError(f"there is no query {name!r} in {_FOLDER}")
    return _PART.sub(_part, resource.read_text(encoding="utf-8").strip())


def _part(found: re.Match[str]) -> str:
    """Return a part without its heading, indented as the line that names it."""
    lines = _text(f"{_PARTS}/{found[2]}").splitlines()
    while lines and lines[0].startswith("--"):
        del lines[0]
    return "\n".join(found[1] + line for line in lines)
