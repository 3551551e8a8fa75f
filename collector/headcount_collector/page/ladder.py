"""What a policy would do to a run, told in order of time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headcount_collector.judge.words import span

MEANINGS = {
    "expected": "deadline after the dispatch, where the dispatch names none",
    "overdue": "from when on a run that still progresses is no longer merely slow",
    "delivery_grace": "after the end, time in which the result may still travel",
    "blocked_after": "abnormal for so long: waiting explains nothing any more",
    "start_within": "dispatched without any launch or start; or registered without start",
    "zero_progress": "since the start no tool ended and no token came",
    "first_token": "a streaming model request without first token",
    "idle": "some progress, then none",
    "tool_max": "one tool in flight",
    "liveness": "activity of the child younger than this: its session is there",
    "human_wait": "a person is waited for",
    "human_wait_attended": "the same, where a person sits at the session",
    "queue_wait": "queued or reserved",
    "wait_max": "most that waits of one reason move the deadline",
    "consume": "delivered, and not taken up by an idle owner",
    "kill_backstop": "after a kill, or after a declared maximum runtime",
    "repeat_limit": "equal failures in a row",
    "skew": "by how much clocks may differ",
    "window": "step of the ladder of notices",
    "warm_up": "after an outage of the observer",
    "storm": "incidents within one window before they are collected",
    "ack_for": "how long an acknowledgement holds",
    "re_escalate": "how often an unacknowledged page is sent again",
}


def ladder_of(times: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return `at` and `text` of each step in the life of a run that never answers, and of one whose answer is lost."""
    ns = {row["name"]: row["ns"] or 0 for row in times}
    steps = [
        (ns["start_within"], "not launched and not started: a warning"),
        (ns["zero_progress"], "started, and no tool ended and no token came: a warning"),
        (ns["expected"], "nothing received: suspected, with what leans to slow, silent or not instrumented"),
        (
            max(ns["expected"] + ns["blocked_after"], ns["idle"]),
            "still nothing, and no progress: blocked, a page",
        ),
    ]
    told = [{"at": span(at), "text": text} for at, text in sorted(steps)]
    told.append(
        {
            "at": f"end + {span(ns['delivery_grace'])}",
            "text": "ended, and its owner not told: done, not delivered, a page",
        }
    )
    told.append(
        {
            "at": f"delivery + {span(ns['consume'])}",
            "text": "delivered, and not taken up by an idle owner: a page",
        }
    )
    told.append({"at": f"last progress + {span(ns['idle'])}", "text": "some progress, then none: a warning"})
    return told
