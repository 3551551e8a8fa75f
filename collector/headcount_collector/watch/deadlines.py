"""Deadlines proposed from history: how long the delivered runs of each agent type took, declared waits left out."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from headcount_collector.judge.policy import SECOND, Policy
from headcount_collector.judge.verdict import COMPLETED, RECOVERED
from headcount_collector.judge.waits import EXCUSING
from headcount_collector.judge.words import span
from headcount_collector.store.client import Store
from headcount_collector.watch.documents import Document

THIN = 20
"""Fewer runs than this say little of a type."""
_MARGIN, _THIN_MARGIN = 1.25, 1.5
_LEAST_S = 60
_STEPS_S = (10, 60, 300, 900, 3600)
"""Deadlines are rounded up to these, so that each is a number a person would have written."""
_BARE = re.compile(r"[A-Za-z0-9_-]+")

# A declared wait moves the deadline by itself, so its time is none that a deadline must allow. A recovered run counts
# until its end: that its answer was late is no reason to expect it later.
_QUERY = f"""
SELECT agent, count(), countIf(status = '{RECOVERED}'), quantilesExactInclusive(0.5, 0.9, 0.95, 0.99)(took_s), max(took_s),
    topK(1)(service)[1], countIf(attended) * 2 > count()
FROM
(
    SELECT
        agent,
        service,
        status,
        JSONExtractBool(document, 'attended') AS attended,
        if(status = '{RECOVERED}' AND ended_at > dispatched_at, ended_at, delivered_at) AS came_at,
        (toUnixTimestamp64Nano(came_at) - toUnixTimestamp64Nano(dispatched_at)) / 1e9 AS spent_s,
        greatest(0, spent_s - ({" + ".join(f"JSONExtractFloat(document, 'account', 'waiting_s', '{r}')" for r in sorted(EXCUSING))}))
            AS took_s
    FROM verdict FINAL
    WHERE agent != '' AND status IN ('{COMPLETED}', '{RECOVERED}')
        AND delivered_at > toDateTime64(0, 9) AND dispatched_at > toDateTime64(0, 9)
)
GROUP BY agent ORDER BY agent
"""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """How long runs of one agent type took, in seconds, and the deadline that follows."""

    agent: str
    runs: int
    recovered: int
    p50_s: float
    p90_s: float
    p95_s: float
    p99_s: float
    longest_s: float
    expected_s: int
    current_s: float

    @property
    def thin(self) -> bool:
        """Whether there are too few runs to rest a deadline on."""
        return self.runs < THIN

    def document(self) -> Document:
        """Return the suggestion as JSON; `expected` as it is written in a policy."""
        return {
            "agent": self.agent,
            "runs": self.runs,
            "recovered": self.recovered,
            "p50_s": round(self.p50_s, 3),
            "p90_s": round(self.p90_s, 3),
            "p95_s": round(self.p95_s, 3),
            "p99_s": round(self.p99_s, 3),
            "longest_s": round(self.longest_s, 3),
            "expected": f"{self.expected_s}s",
            "expected_s": self.expected_s,
            "current_s": self.current_s,
            "thin": self.thin,
        }


def suggested_deadlines(store: Store, policy: Policy) -> list[Suggestion]:
    """Return a suggestion for each agent type of which runs were delivered, by name."""
    found = []
    for agent, runs, recovered, (p50, p90, p95, p99), longest, service, attended in store.query(_QUERY):
        base = longest * _THIN_MARGIN if runs < THIN else p95 * _MARGIN
        current = policy.times("", agent, service, bool(attended)).expected / SECOND
        found.append(
            Suggestion(
                agent, runs, recovered, p50, p90, p95, p99, longest, _rounded(max(base, _LEAST_S)), current
            )
        )
    return found


def _rounded(seconds: float) -> int:
    step = next((step for step in _STEPS_S if seconds <= 20 * step), _STEPS_S[-1])
    return int(-(-seconds // step) * step)


def toml_of(suggestions: Sequence[Suggestion]) -> str:
    """Return the suggestions as tables of a headcount.toml; those that rest on few runs carry a warning."""
    blocks = []
    for one in suggestions:
        name = one.agent if _BARE.fullmatch(one.agent) else json.dumps(one.agent, ensure_ascii=True)
        said = (
            f"# {one.runs} delivered {'run' if one.runs == 1 else 'runs'}: half within {_length(one.p50_s)}, "
            f"95 % within {_length(one.p95_s)}, the longest {_length(one.longest_s)}; now {_length(one.current_s)}"
        )
        lines = [f"[policy.agent.{name}]", said]
        if one.thin:
            lines.append(
                f"# WARNING: fewer than {THIN} runs, so this is the longest and half of it more: a guess"
            )
        lines.append(f'expected = "{_length(one.expected_s).replace(" ", "")}"')
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n" if blocks else ""


def _length(seconds: float) -> str:
    return span(round(seconds * SECOND)) if seconds >= 1 else f"{seconds * 1000:.0f}ms"
