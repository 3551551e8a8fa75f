"""The tree of routes: who is told of an incident at which step, and when."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from headcount_alerts.conditions import RANK
from headcount_alerts.fleet import Grouping, Groups
from headcount_alerts.hours import Hours
from headcount_alerts.incident import COLLECTED, Incident
from headcount_alerts.settings import NOBODY, AlertSettings, Maintenance, Route
from headcount_alerts.silence import labels_of
from headcount_collector.judge.policy import SECOND

Labels = Mapping[str, Iterable[str]]

Parts = Callable[[Incident], Iterable[Incident]]
"""The open incidents that a fleet incident collected: it goes wherever one of them would have gone."""

_SINGLE = frozenset({"run", "child", "session", "owner", "incident"})
_REMEMBERED = 100
"""Fleets and groups whose labels are remembered."""
_MOST = 1000
"""So many kinds of conditions decide where a fleet incident goes; thousands of runs are few kinds."""


@dataclass(frozen=True, slots=True)
class Path:
    """A leaf that matched, with what it inherited on the way."""

    name: str
    receiver: str
    second: str | None
    escalation: str | None
    window_ns: int | None
    active: tuple[Hours, ...]
    group: tuple[str, ...] | None = None
    group_wait_ns: int = 30 * SECOND
    group_interval_ns: int = 300 * SECOND

    def receiver_of(self, step: str) -> str:
        """Return who is told at a step of the ladder."""
        if step == "reminded":
            return self.second or self.receiver
        if step == "escalated":
            return self.escalation or self.second or self.receiver
        return self.receiver

    def on_duty(self, now: int) -> bool:
        """Tell whether messages may leave now."""
        return not self.active or any(hours.holds(now) for hours in self.active)


class Routing:
    """The tree of one configuration. Every incident is taken by at least one path, as the root takes everything."""

    def __init__(self, settings: AlertSettings, parts: Parts | None = None) -> None:
        self._parts = parts or (lambda incident: ())
        self._of_fleet: dict[str, tuple[int, str, list[Labels]]] = {}
        self._root = settings.route or Route.model_validate({"receiver": NOBODY})
        self._maintenance = settings.maintenance
        self.configured = settings.route is not None
        self.groups: Groups | None = self._group_of if _groups(self._root) else None

    def paths(self, incident: Incident) -> list[Path]:
        """Return the paths of everything that is wrong with an incident, each once; of what was wrong, where nothing is."""
        found: dict[str, Path] = {}
        for labels in self._labels(incident):
            for path in self.paths_of(labels):
                found.setdefault(path.name, path)
        return list(found.values())

    def paths_of(self, labels: Labels) -> list[Path]:
        """Return the paths that one set of labels takes, in the order of the tree."""
        root = Path("route", NOBODY, None, None, None, ())
        return list(_walk(self._root, "route", root, labels))

    def off_duty_until(self, incident: Incident, now: int) -> int:
        """Return when a message may leave; 0 where it may now."""
        ends = []
        for path in self.paths(incident):
            if path.on_duty(now):
                return 0
            ends.append(min(hours.next_change(now) for hours in path.active))
        return min(ends, default=0)

    def maintained_until(self, incident: Incident, now: int) -> int:
        """Return until when everything that is wrong lies in a maintenance window; 0 where it does not."""
        until = 0
        for labels in self._labels(incident):
            ends = [_end(window, now) for window in self._maintenance if _covers(window, labels, now)]
            if not ends:
                return 0
            until = min(until, max(ends)) if until else max(ends)
        return until

    def _group_of(self, incident: Incident) -> Grouping | None:
        """Return the group of an incident: that of the first path which has one, by the worst thing that is wrong."""
        labelled = self._labels(incident)
        for labels in labelled:
            for path in self.paths_of(labels):
                if path.group is not None:
                    says = ", ".join(f"{name}={_value(labels, name)}" for name in path.group) or "all"
                    key = f"group:{path.name}:{says}"
                    return Grouping(key, says, path.group_wait_ns, path.group_interval_ns)
        return None

    def window_ns(self, incident: Incident) -> int | None:
        """Return the shortest window that the paths of an incident ask for."""
        return min((p.window_ns for p in self.paths(incident) if p.window_ns is not None), default=None)

    def _labels(self, incident: Incident) -> list[Labels]:
        if incident.kind not in COLLECTED:
            return conditions_labelled(incident)
        known = self._of_fleet.get(incident.id)
        if known is None or known[:2] != (len(incident.parts), incident.severity):
            seen: dict[str, Labels] = {}
            for part in self._parts(incident):
                for labels in conditions_labelled(part):
                    seen.setdefault(
                        repr({name: labels[name] for name in labels if name not in _SINGLE}), labels
                    )
            known = (
                len(incident.parts),
                incident.severity,
                list(seen.values())[:_MOST] or [labels_of(incident, None, None)],
            )
            if len(self._of_fleet) > _REMEMBERED:
                self._of_fleet.clear()
            self._of_fleet[incident.id] = known
        return known[2]


def _walk(route: Route, name: str, above: Path, labels: Labels) -> Iterator[Path]:
    if not all(matcher.holds(labels) for matcher in route.match):
        return
    here = Path(
        name,
        route.receiver or above.receiver,
        route.second or (above.second if route.receiver is None else None),
        route.escalation or above.escalation,
        round(route.window * SECOND) if route.window is not None else above.window_ns,
        route.active or above.active,
        above.group if route.group is None else route.group,
        above.group_wait_ns if route.group_wait is None else round(route.group_wait * SECOND),
        above.group_interval_ns if route.group_interval is None else round(route.group_interval * SECOND),
    )
    taken = False
    for place, child in enumerate(route.routes):
        paths = list(_walk(child, f"{name}.routes.{place}", here, labels))
        yield from paths
        taken = taken or bool(paths)
        if paths and not child.go_on:
            return
    if not taken:
        yield here


def _groups(route: Route) -> bool:
    return route.group is not None or any(_groups(child) for child in route.routes)


def _value(labels: Labels, name: str) -> str:
    return next(iter(labels.get(name, ())), "")


def conditions_labelled(incident: Incident) -> list[Labels]:
    """Return the labels of everything that is wrong with an incident, the worst first, or of its runs where nothing is."""
    wrong = sorted(incident.wrong(), key=lambda pair: -RANK[pair[1].severity])
    found: list[Labels] = [labels_of(incident, member, condition) for member, condition in wrong]
    found = found or [labels_of(incident, member, None) for member in incident.members.values()]
    return found or [labels_of(incident, None, None)]


def _covers(window: Maintenance, labels: Labels, now: int) -> bool:
    return any(hours.holds(now) for hours in window.hours) and all(m.holds(labels) for m in window.match)


def _end(window: Maintenance, now: int) -> int:
    return max(hours.next_change(now) for hours in window.hours if hours.holds(now))
