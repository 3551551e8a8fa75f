"""Remembers when a child of each kind, by service and agent type, was first heard of."""

from __future__ import annotations

from collections.abc import Iterable

from headcount_collector.derive.assemble import Own
from headcount_collector.derive.rows import ask
from headcount_collector.store.client import Store

Kind = tuple[str, str]
"""(service, agent type)."""


class Kinds:
    """Taught by whatever is loaded: each run that changes is loaded to be judged. What the tick learns is stored."""

    def __init__(self, store: Store, *, stores: bool) -> None:
        self._store = store
        self._stores = stores
        self._heard: dict[Kind, int] | None = None

    def heard_at(self, service: str, agent: str) -> int | None:
        """Return the first moment at which a child of this kind was heard, None if none ever was."""
        return self._known().get((service, agent))

    def learn(self, runs: Iterable[Own]) -> None:
        """Take in what was just loaded."""
        heard = self._known()
        news: dict[Kind, int] = {}
        for one in runs:
            dispatch, at = one.facts.dispatch, one.facts.heard_at
            if dispatch is None or at is None:
                continue
            kind = (dispatch.service, dispatch.agent or "")
            if at < heard.get(kind, at + 1):
                heard[kind] = news[kind] = at
        self._write(news)

    def _known(self) -> dict[Kind, int]:
        if self._heard is None:
            self._heard = {(service, agent): at for service, agent, at in ask(self._store, "kinds")}
            if not self._heard:
                found = ask(self._store, "kinds_of_evidence")
                self._heard = {(service, agent): at for service, agent, at in found}
                self._write(self._heard)
        return self._heard

    def _write(self, heard: dict[Kind, int]) -> None:
        if self._stores:
            rows = [(service, agent, at) for (service, agent), at in heard.items()]
            self._store.insert("kind", rows, ["service", "agent", "heard_ns"])
