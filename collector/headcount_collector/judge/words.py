"""The evidence of a verdict in words a person can read, and what would change it."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

from .classes import Diagnosis
from .policy import SECOND
from .rules import Finding
from .timeline import Timeline
from .waits import waits_until


def clock(moment: int) -> str:
    """Return a moment as UTC time of day with its date, to the second."""
    return _clock(moment // SECOND)


@lru_cache(maxsize=20_000)
def _clock(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(" ")[:19] + "Z"


def span(length_ns: int) -> str:
    """Return a length of time in at most two units, as "1h 5m"."""
    seconds = max(0, length_ns) // SECOND
    for size, unit, smaller, name in ((86400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s")):
        if seconds >= size:
            whole, rest = divmod(seconds, size)
            return f"{whole}{unit} {rest // smaller}{name}" if rest // smaller else f"{whole}{unit}"
    return f"{seconds}s"


def in_flight(line: Timeline, now: int) -> tuple[str, ...]:
    """Return what the run is in the middle of: tools, model requests, waits, children."""
    facts = line.facts
    found = [f"tool {tool.tool} since {clock(tool.at)}" for tool in facts.open_tools if tool.open(now)]
    found += [f"model request since {clock(r.at)}" for r in facts.requests if r.ended is None and r.at <= now]
    found += [f"wait for {w.reason} since {clock(w.at)}" for w in waits_until(line, now) if w.closed is None]
    open_children = [child for child in facts.neighbours.children if child.closed_at is None]
    if open_children:
        found.append(f"{len(open_children)} open {'run' if len(open_children) == 1 else 'runs'} of its own")
    return tuple(found)


def evidence_of(line: Timeline, finding: Finding, diagnosis: Diagnosis | None, now: int) -> tuple[str, ...]:
    """Return the rule that decided, and the facts with their times."""
    facts = line.facts
    settled = finding.delivered_at is not None or finding.void_at is not None
    before = None if settled else _given_before(line, now)
    said = [f"rule {finding.rule}: {_rule(line, finding, before)}"]
    if facts.dispatch is not None:
        said.append(
            f"dispatched {clock(facts.dispatch.at)}"
            + (f" to {facts.dispatch.agent}" if facts.dispatch.agent else "")
        )
    else:
        said.append("no dispatch was seen")
    if finding.deadline is not None:
        said.append(f"expected by {clock(finding.deadline)}")
    last = line.last_any_progress(now)
    if last is not None:
        said.append(f"last progress {clock(last)}, {span(now - last)} ago")
    elif facts.heard_at is not None:
        said.append(f"heard since {clock(facts.heard_at)}, no progress yet")
    else:
        said.append("nothing was seen of the child")
    end = finding.end
    if end is not None and end.kind != "receipt":
        size = "" if end.result.size is None else f", {end.result.size} bytes"
        said.append(f"ended {clock(end.reported_at)} ({end.outcome}{size})")
        if end.revived_from is not None:
            said.append(f"worked on after that; its end counts again since {clock(end.at)}")
        if end.result.location:
            said.append(f"result lies at {end.result.location}")
    if finding.received_at is not None:
        said.append(f"completion received {clock(finding.received_at)}, not forwarded")
    if finding.delivered_at is not None:
        said.append(f"forwarded to the owner {clock(finding.delivered_at)}")
    if before is not None:
        said.append(f"forwarded to the owner {clock(before)}; it worked on after that")
    elsewhere = [f for f in line.forwards if f.forwarded and not line.to_owner(f) and f.at <= now]
    if elsewhere:
        said.append(
            f"forwarded to {elsewhere[-1].receiver or 'the root owner'!s} instead of its owner {clock(elsewhere[-1].at)}"
        )
    refused = [f for f in line.forwards if not f.forwarded and f.at <= now]
    if refused:
        said.append(
            f"forwarding refused {clock(refused[-1].at)}" + (" for good" if refused[-1].final else "")
        )
    if finding.owner_gone_at is not None:
        said.append(f"owner gone since {clock(finding.owner_gone_at)}")
    if finding.wait is not None:
        waker = f" for {finding.wait.waker}" if finding.wait.waker else ""
        said.append(f"waits ({finding.wait.reason}){waker} since {clock(finding.wait.at)}")
    if diagnosis is not None and diagnosis.leaning is not None:
        said.append(f"leaning {diagnosis.leaning}: {_LEANINGS[diagnosis.leaning]}")
    return tuple(said)


_LEANINGS = {
    "slow": "it still makes progress",
    "silent": "no sign of life that would tell slow from lost",
    "uninstrumented": "no child of this service and agent type was ever heard",
    "telemetry_gap": "records of the child are missing, so its silence proves nothing",
}


def _given_before(line: Timeline, now: int) -> int | None:
    """Return the last delivery that no longer counts, since the child worked on after it."""
    return max((moment for moment in line.deliveries if moment <= now), default=None)


def _rule(line: Timeline, finding: Finding, before: int | None) -> str:
    times = line.times
    if finding.rule == "1":
        return {
            "dismissed": "dismissed: nobody waits for it any more",
            "rejected": "the launch was rejected and the owner was told",
            "no_return": "it was never to return a result, and it ended",
            "cancelled": "ended by its own owner or user",
            "superseded": "a later run took its place",
        }[finding.kind]
    if finding.rule == "2b":
        return f"delivered, and the owner has not taken it up within {span(times.consume)}"
    if finding.kind == "result":
        grace = span(times.delivery_grace)
        if before is not None:
            return f"it worked on after its owner was given a result, and of that nothing was given within {grace}"
        held = "the harness holds a completion" if finding.rule == "7" else "it ended with a result"
        return f"{held} that its owner was not given within {grace}"
    if finding.kind == "nothing":
        return "it ended without a result, and its owner was not told"
    return {
        "2": "its owner was given the completion",
        "5": f"its owner is gone, for {span(times.delivery_grace)} or longer",
        "6": "it waits, and waiting no longer explains it",
        "7": "the child ended its turn after its work, and nothing came back",
        "8": "the deadline passed and nothing was received",
        "9": "in time" if finding.kind != "in_grace" else "it ended, and delivery is under way",
    }[finding.rule]


def would_change(line: Timeline, finding: Finding, diagnosis: Diagnosis | None) -> tuple[str, ...]:
    """Return what evidence would turn this verdict."""
    if finding.rule == "1":
        return ()
    if finding.rule == "2":
        return (f"progress of the run more than {span(line.times.skew)} after the delivery would reopen it",)
    if finding.rule == "2b":
        return ("a request of the owner that contains the result",)
    answers = ["a completion forwarded to the owner", "a dismissal"]
    if finding.rule == "6":
        answers.insert(0, "the end of the wait")
    elif finding.rule == "5":
        answers.insert(0, "a sign of the owner")
    elif diagnosis is not None and diagnosis.failure_class == "unclear_slow_or_lost" and not diagnosis.slow:
        answers.insert(0, "progress of the child")
    elif finding.end is not None and finding.rule in ("3", "4"):
        answers.insert(0, f"progress more than {span(line.times.skew)} after the end")
    return tuple(answers)
