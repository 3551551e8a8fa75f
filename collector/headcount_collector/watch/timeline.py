"""One run's evidence in order of event time, as lines that a person reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headcount_collector.judge.facts import Facts, Result
from headcount_collector.judge.policy import SECOND
from headcount_collector.judge.progress import own_progress
from headcount_collector.judge.words import span
from headcount_collector.watch.documents import Document, rfc3339

_STRETCH = 60 * SECOND
"""Progress with smaller gaps than this is one line."""

Entry = tuple[int, str, str]
"""(moment, event, text)."""


def timeline(facts: Facts) -> list[Document]:
    """Return the timeline of loaded facts."""
    entries = sorted(_entries(facts), key=lambda entry: entry[0])
    return [{"at": rfc3339(at), "event": event, "text": text} for at, event, text in entries]


def _entries(facts: Facts) -> Iterator[Entry]:
    yield from _launching(facts)
    yield from _working(facts)
    yield from _returning(facts)
    owner = facts.neighbours.owner
    began = facts.dispatch.at if facts.dispatch is not None else facts.first_at
    for at, reason in owner.gone:
        if at >= began:
            yield at, "owner_gone", "the owner is gone" + (f" ({reason})" if reason else "")
    for final in owner.finals:
        if final.at >= began:
            text = f"the owner gave its answer, {len(final.owed)} results known to be owed"
            yield final.at, "owner_final", text + (", and will give no other" if final.final else "")


def _launching(facts: Facts) -> Iterator[Entry]:
    dispatch = facts.dispatch
    if dispatch is not None:
        text = f"dispatched to {dispatch.agent or 'an agent'} ({dispatch.mode}) by {dispatch.owner or 'the root owner'}"
        if dispatch.expected_ns is not None:
            text += f", expected within {span(round(dispatch.expected_ns, -9))}"
        if dispatch.max_runtime_ns is not None:
            text += f", at most {span(dispatch.max_runtime_ns)}"
        yield dispatch.at, "dispatch", text
    for launch in facts.launches:
        said = [part for part in (launch.state, f"now {launch.mode}" if launch.mode else None) if part]
        yield launch.at, "launch", "launch " + ", ".join(said)
    for start in facts.starts:
        yield start.at, "start", "child started" + (f", attempt {start.attempt}" if start.attempt > 1 else "")


def _working(facts: Facts) -> Iterator[Entry]:
    for begin, end, count in stretches(own_progress(facts)):
        text = "progress" if count == 1 else f"progress, {count} times in {span(end - begin)}"
        yield begin, "progress", text
    for failure in facts.failures:
        yield failure.at, "tool_call", f"{failure.tool} failed ({failure.error[:60]})"
    for tool in facts.open_tools:
        ended = f"took {span(tool.ended - tool.at)}" if tool.ended is not None else "began and has not ended"
        yield tool.at, "tool_call", f"{tool.tool} {ended}"
    for request in facts.requests:
        if request.ended is None:
            yield request.at, "model_request", "model request began and has not ended"
    for wait in facts.waits:
        yield wait.at, "wait", f"waits ({wait.reason})" + (f" for {wait.waker}" if wait.waker else "")
        if wait.closed is not None:
            yield wait.closed, "wait", f"wait ({wait.reason}) over after {span(wait.closed - wait.at)}"
    for idle in facts.idles:
        with_summary = "with a summary" if idle.has_summary else "without content"
        yield idle.at, "idle", ("ended its turn, " if idle.turn_ended else "idle, ") + with_summary
    for poke in facts.pokes:
        yield poke.at, poke.kind, f"{poke.kind} from {poke.sender or 'somebody'}"


def _returning(facts: Facts) -> Iterator[Entry]:
    for end in facts.ends:
        by = f" by {end.actor}" if end.actor else ""
        why = f" ({end.rule})" if end.rule else ""
        what = {
            "child_done": f"child ended: {end.outcome}",
            "kill": f"killed{by}{why}",
            "child_gone": "child session gone",
        }
        yield end.at, end.kind, what[end.kind] + _size(end.result)
    for abort in facts.aborts:
        yield abort.at, "abort", "asked to stop" + (f" by {abort.actor}" if abort.actor else "")
    for receipt in facts.receipts:
        source = f" by {receipt.source}" if receipt.source else ""
        outcome = f", {receipt.outcome}" if receipt.outcome else ""
        yield (
            receipt.at,
            "completion_received",
            f"completion received{source}{outcome}{_size(receipt.result)}",
        )
    for forward in facts.forwards:
        to = "the owner" if forward.receiver is None else (forward.receiver or "the root owner")
        text = f"forwarded to {to}" if forward.forwarded else f"not forwarded to {to}"
        yield forward.at, "completion_forwarded", text + (f" ({forward.error})" if forward.error else "")
    for at in facts.consumptions:
        yield at, "completion_consumed", "the owner took it up"
    for dismissal in facts.dismissals:
        to = f", handed to {dismissal.handed_to}" if dismissal.handed_to else ""
        yield (
            dismissal.at,
            "dismiss",
            "dismissed" + (f" ({dismissal.reason})" if dismissal.reason else "") + to,
        )


def stretches(moments: Iterable[int]) -> Iterator[tuple[int, int, int]]:
    """Gather sorted moments with gaps under a minute: (first, last, how many)."""
    begin = end = count = 0
    for moment in moments:
        if count and moment - end < _STRETCH:
            end, count = moment, count + 1
            continue
        if count:
            yield begin, end, count
        begin, end, count = moment, moment, 1
    if count:
        yield begin, end, count


def _size(result: Result) -> str:
    if result.size is None:
        return ""
    return ", nothing in it" if result.size == 0 else f", {result.size} bytes"
