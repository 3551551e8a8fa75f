"""Remembers when a child of each kind, by service and agent type, was first heard of."""

from __future__ import annotations

from collections.abc import Iterable

from headcount_collector.derive.assemble import Own
from headcount_collector.derive.rows import ask
from headcount_collector.store.client import Store


class Kinds:
    """Seeded once from the store, then taught by whatever is loaded: each run that changes is loaded to be judged."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._heard: dict[tuple[str, str], int] | None = None

    def heard_at(self, service: str, agent: str) -> int | None:
        """Return the first moment at which a child of this kind was heard, None if none ever was."""
        return self._known().get((service, agent))

    def learn(self, runs: Iterable[Own]) -> None:
        """Take in what was just loaded."""
        heard = self._known()
        for one in runs:
            dispatch, at = one.facts.dispatch, one.facts.heard_at
            if dispatch is None or at is None:
                continue
            kind = (dispatch.service, dispatch.agent or "")
            heard[kind] = min(heard.get(kind, at), at)

    def _known(self) -> dict[tuple[str, str], int]:
        if self._heard is None:
            self._heard = {(service, agent): at for service, agent, at in ask(self._store, "kinds")}
        return self._heard
