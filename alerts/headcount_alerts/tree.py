"""Draws the tree of routes, so that a person sees who is told of what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from headcount_alerts.settings import NOBODY, AlertSettings, Route


def drawn(settings: AlertSettings, channels: Mapping[str, Sequence[str]]) -> RenderableType:
    """Return the tree, the receivers with their channels, and what is worth a thought."""
    if settings.route is None:
        return Text(
            "there is no route: incidents are kept and shown, and nobody is told. Add [alerts.route]."
        )
    tree = Tree(Text(f"everything → {_whom(settings.route)}"))
    _grow(tree, settings.route)
    lines = [
        Text(f"{name}: {', '.join(of) or 'tells nobody'}") for name, of in channels.items() if name != NOBODY
    ]
    thoughts = [Text(f"note: {note}", style="yellow") for note in notes_of(settings)]
    return Group(tree, Text(), *lines, *thoughts)


def _grow(tree: Tree, route: Route) -> None:
    for child in route.routes:
        what = " and ".join(str(matcher) for matcher in child.match) or "everything else"
        more = ", then on" if child.go_on else ""
        _grow(tree.add(Text(f"{what} → {_whom(child)}{more}")), child)


def _whom(route: Route) -> str:
    steps = [name for name in (route.receiver, route.second, route.escalation) if name is not None]
    hours = f" ({'; '.join(hours.text for hours in route.active)})" if route.active else ""
    group = (
        f", grouped by {', '.join(route.group) or 'nothing: all are one'}" if route.group is not None else ""
    )
    return (", then ".join(steps) or "as above") + group + hours


def notes_of(settings: AlertSettings) -> list[str]:
    """Return what is worth a thought about a configuration that is valid."""
    found = []
    if settings.fallback is None:
        found.append("no fallback: nobody hears of a message that could not be delivered")
    if settings.url is None:
        found.append("no url: messages carry no link")
    found += _shadowed(settings.route, "route")
    used = set(_named(settings.route)) | {settings.fallback}
    idle = sorted(set(settings.receivers) - used)
    if idle:
        found.append(f"no route leads to {', '.join(idle)}")
    return found


def _shadowed(route: Route | None, name: str) -> list[str]:
    """Name the routes that nothing reaches, because one before them takes everything."""
    if route is None:
        return []
    found, taker = [], ""
    for place, child in enumerate(route.routes):
        where = f"{name}.routes.{place}"
        if taker:
            found.append(f"nothing reaches {where}: {taker} takes everything before it")
        elif not child.match and not child.go_on:
            taker = where
        found += _shadowed(child, where)
    return found


def _named(route: Route | None) -> list[str | None]:
    if route is None:
        return []
    found = [route.receiver, route.second, route.escalation]
    for child in route.routes:
        found += _named(child)
    return found
