"""Reads the named SQL files: one for each query of a panel, a variable, an annotation or a rule."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from headcount_dashboards.errors import DashboardsError

_FOLDER = files(__package__).joinpath("queries")


@cache
def sql(name: str) -> str:
    """Return the query `folder/name` as Grafana's data source takes it: macros and variables still in it."""
    folder, _, file = name.partition("/")
    resource = _FOLDER.joinpath(folder, f"{file}.sql")
    if not resource.is_file():
        raise DashboardsError(f"there is no query {name!r} in {_FOLDER}")
    return resource.read_text(encoding="utf-8").strip()


def filled(name: str, values: dict[str, str]) -> str:
    """Return a rule's query with its `{name}` places filled. The values are words of the domain, never user input."""
    text = sql(name)
    for key, value in values.items():
        place = "{" + key + "}"
        if place not in text or not value.replace("_", "").isalnum():
            raise DashboardsError(f"query {name!r} has no place for {key} = {value!r}")
        text = text.replace(place, value)
    return text


def names() -> list[str]:
    """List every query of the package."""
    return sorted(
        f"{folder.name}/{file.name.removesuffix('.sql')}"
        for folder in _FOLDER.iterdir()
        for file in folder.iterdir()
        if file.name.endswith(".sql")
    )
