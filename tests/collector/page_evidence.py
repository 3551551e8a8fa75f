"""Evidence for tests of the page: a session with one run of each kind, hostile texts, and many runs at once."""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import Future

from headcount_collector.api.collector import Collector
from headcount_collector.evidence.record import AttributeValue, Record, export_request

SECOND = 1_000_000_000
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'}}{{7*7}}\u202e\x07 & </title>"
NAMES = {
    "run": None,
    "owner": "subagent.owner.id",
    "parent": "subagent.parent.run.id",
    "agent": "gen_ai.agent.name",
    "mode": "subagent.mode",
    "channel": "subagent.return.channel",
    "can_send": "subagent.return.can_send",
    "child": "subagent.child_session.key",
    "description": "subagent.description",
    "prompt_digest": "subagent.prompt.digest",
    "alias": "subagent.run.alias",
    "tool": "gen_ai.tool.name",
    "call": "gen_ai.tool.call.id",
    "outcome": "subagent.outcome",
    "size": "subagent.result.size",
    "location": "subagent.result.location",
    "source": "subagent.result.source",
    "forwarded": "subagent.forwarded_to_main",
    "error": "error.type",
    "state": "subagent.launch.state",
    "reason": "subagent.wait.reason",
    "wait": "subagent.wait.id",
    "waker": "subagent.wait.waker",
    "max_runtime": "subagent.max_runtime_ms",
    "turn_ended": "subagent.idle.turn_ended",
}
ASKED = (
    "/api/v1/runs?status=blocked&class=owner_gone&agent=reviewer&service=orchestrator",
    "/api/v1/runs?session=s1&open=true&abnormal=true&limit=3",
    "/api/v1/runs/reviewer-7?session=s1",
    "/api/v1/runs/reviewer-7/course?session=s1",
    "/api/v1/runs/lead-1/kin?session=s1",
    "/api/v1/runs/reviewer-7/evidence?session=s1",
    "/api/v1/runs/reviewer-7/replay?session=s1",
    "/api/v1/sessions/s1",
    "/api/v1/search?q=review",
    "/",
    "/runs/reviewer-7?session=s1",
    "/sessions/s1",
    "/incidents",
)
"""What can be asked about `story()` that `Running.plain_routes` does not name."""


def record(
    event: str,
    run: str | None,
    ago_s: float,
    session: str = "s1",
    phase: str | None = None,
    **said: AttributeValue,
) -> Record:
    """Return a record of what happened so many seconds ago, as the shim would send it."""
    attributes = {str(NAMES[name]): value for name, value in said.items()}
    return Record(
        event,
        time.time_ns() - round(ago_s * SECOND),
        run=run,
        session=session,
        attributes=attributes,
        phase=phase,
        service="orchestrator",
    )


def commit(collector: Collector, records: Iterable[Record]) -> int:
    """Send records the way that all evidence goes; return the receiver's time."""
    admitted = collector.intake.admission.admit(export_request(records).SerializeToString())
    assert not admitted.rejected, admitted.message
    done: Future[int] = collector.intake.committer.submit(admitted.body, admitted.spans)
    return done.result(timeout=60)


def story(session: str = "s1") -> list[Record]:
    """Return a session as on-call people meet it: lost, stuck, waiting, at work, done, and one below another."""

    def said(event: str, run: str, ago_s: float, phase: str | None = None, **other: AttributeValue) -> Record:
        return record(event, run, ago_s, session, phase, **other)

    return [
        said(
            "dispatch",
            "reviewer-7",
            2400,
            agent="reviewer",
            mode="background",
            description="Review the intake",
        ),
        said("launch", "reviewer-7", 2398, state="registered"),
        said("start", "reviewer-7", 2395, child="c-reviewer-7"),
        *(
            said("tool_call", "reviewer-7", ago, "ended", tool="Read", call=f"r{ago}")
            for ago in range(2390, 1300, -40)
        ),
        said("child_done", "reviewer-7", 1290, outcome="ok", size=5120, location="file:///srv/out/review.md"),
        said("completion_received", "reviewer-7", 1289, outcome="ok", size=5120, source="completion_push"),
        said("completion_forwarded", "reviewer-7", 1288, forwarded=False, error="owner busy"),
        said("dispatch", "migrator-2", 3000, agent="migrator", mode="background", alias=["toolu_0042"]),
        said("start", "migrator-2", 2990, child="c-migrator-2"),
        *(
            said("tool_call", "migrator-2", ago, "ended", tool="Bash", call=f"m{ago}")
            for ago in range(2900, 2000, -90)
        ),
        said("tool_call", "migrator-2", 1900, "pending", tool="Bash", call="stuck"),
        said("dispatch", "asker-1", 1500, agent="deployer", mode="background"),
        said("start", "asker-1", 1498, child="c-asker-1"),
        said("tool_call", "asker-1", 1400, "ended", tool="Read", call="a1"),
        said("wait", "asker-1", 1300, "pending", reason="approval", wait="w1", waker="anna"),
        said("dispatch", "lead-1", 600, agent="lead", mode="background", description="Split the work"),
        said("start", "lead-1", 598, child="c-lead-1"),
        *(
            said("tool_call", "lead-1", ago, "ended", tool="Task", call=f"l{ago}")
            for ago in (590, 500, 300, 60, 20)
        ),
        said(
            "dispatch", "below-1", 500, agent="worker", mode="background", owner="c-lead-1", parent="lead-1"
        ),
        said("start", "below-1", 498, child="c-below-1"),
        *(
            said("tool_call", "below-1", ago, "ended", tool="Edit", call=f"b{ago}")
            for ago in (480, 400, 200, 15)
        ),
        said("dispatch", "done-1", 900, agent="worker", mode="background"),
        said("start", "done-1", 899),
        said("tool_call", "done-1", 700, "ended", tool="Read", call="d1"),
        said("child_done", "done-1", 650, outcome="ok", size=10),
        said("completion_forwarded", "done-1", 645, forwarded=True),
    ]


def hostile(session: str) -> list[Record]:
    """Return a run that says the same hostile text in every field that takes text."""
    run = HOSTILE + "#run"

    def said(event: str, ago_s: float, phase: str | None = None, **other: AttributeValue) -> Record:
        return record(event, run, ago_s, session, phase, **other)

    return [
        said(
            "dispatch",
            4000,
            agent=HOSTILE,
            owner=HOSTILE,
            description=HOSTILE,
            prompt_digest=HOSTILE,
            alias=[HOSTILE + "#alias"],
            mode="background",
        ),
        said("start", 3990, child=HOSTILE + "#child"),
        said("tool_call", 3980, "ended", tool=HOSTILE, call=HOSTILE, error=HOSTILE),
        said("wait", 3900, "pending", reason="approval", wait=HOSTILE, waker=HOSTILE),
        said("child_done", 3000, outcome="ok", size=3, location="javascript:alert(3)//" + HOSTILE),
        said("completion_forwarded", 2990, forwarded=False, error=HOSTILE),
    ]


def many(number: int, session: str = "crowd") -> list[Record]:
    """Return so many runs that were dispatched a while ago and have just started."""
    return [
        record(event, f"crowd-{place:05d}", ago, f"{session}-{place % 40}", **said)
        for place in range(number)
        for event, ago, said in (
            ("dispatch", 60.0, {"agent": f"kind-{place % 7}", "mode": "background"}),
            ("start", 50.0, {}),
        )
    ]
