"""A session as lines in time: each run from its dispatch on, with the stretches in which it moved."""

from __future__ import annotations

from collections.abc import Sequence

from headcount_collector.derive.loader import FactsLoader, RunKey
from headcount_collector.judge.progress import own_progress
from headcount_collector.store.client import Store
from headcount_collector.watch.documents import Document, rfc3339
from headcount_collector.watch.timeline import stretches


def lines_of(store: Store, documents: Sequence[Document]) -> list[Document]:
    """Return for each judged run `run`, `from`, `started`, `worked` (stretches of progress), `waits`, `ended`, `delivered`."""
    keys = [RunKey(document["session"], document["run"]) for document in documents]
    facts = FactsLoader(store).load(keys)
    found = []
    for key, document in zip(keys, documents, strict=True):
        known = facts.get(key)
        worked = list(stretches(own_progress(known))) if known is not None else []
        first = document["receipts"]["dispatchAt"]
        if first is None and known is not None:
            first = rfc3339(known.first_at)
        found.append(
            {
                "session": key.session,
                "run": key.run,
                "from": first,
                "started": rfc3339(known.heard_at) if known is not None else None,
                "worked": [[rfc3339(begin), rfc3339(end)] for begin, end, _ in worked],
                "waits": [
                    {"reason": wait.reason, "from": rfc3339(wait.at), "to": rfc3339(wait.closed)}
                    for wait in (known.waits if known is not None else ())
                ],
                "ended": document["ended_at"],
                "delivered": document["delivered_at"] or document["void_at"],
            }
        )
    return found
