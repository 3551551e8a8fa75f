"""What messages say of each class and signal: what it is, what to do, and what not to do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Words:
    """`what` completes "RUN …"; `do` is for the person who reads it; `never` is what would make it worse."""

    what: str
    do: str
    never: str = ""


_DONT = "Do not dispatch it again: the work is done."
_LATER = "Do not dispatch it again before you know that it is lost."

CLASSES: dict[str, Words] = {
    "waiting_for_person": Words("waits for a person", "Answer what it asks; it goes on by itself.", _LATER),
    "waiting_on_resource": Words(
        "waits for a place or a provider",
        "Free a place, raise the limit, or call it off.",
        "More dispatches only lengthen the queue.",
    ),
    "waiting_for_nobody": Words(
        "waits for something that will not come", "Wake it with what it waits for, or call it off.", _LATER
    ),
    "owner_gone": Words(
        "has nobody to report to: its owner is gone",
        "Take its result where it lies, or hand it to another owner.",
        _LATER,
    ),
    "delivered_not_consumed": Words(
        "was delivered and not read", "Ask its owner to take the result up.", _DONT
    ),
    "done_but_not_forwarded": Words(
        "is done, and its owner was not told", "Fetch the result and forward it to its owner.", _DONT
    ),
    "empty_result": Words(
        "ended well with nothing in it",
        "Look at its transcript, then decide.",
        "Do not take it for a result.",
    ),
    "child_failed_unreported": Words(
        "failed, and its owner was not told", "Tell its owner; then decide whether to dispatch it again."
    ),
    "no_completion_event": Words(
        "was dispatched and never heard of",
        "See whether it was ever started; if not, tell its owner.",
        _LATER,
    ),
    "session_exists_no_result_bounce": Words(
        "has a live session and no result", "Read its transcript: the answer may be there unsent.", _LATER
    ),
    "unclear_slow_or_lost": Words(
        "is overdue, and it is unclear whether slow or lost",
        "Look at its session before you give it up.",
        _LATER,
    ),
}

LEANINGS: dict[str, Words] = {
    "slow": Words("is slow and still moves", "Nothing, unless it is no longer worth waiting for.", _LATER),
    "silent": CLASSES["unclear_slow_or_lost"],
    "telemetry_gap": Words(
        "is overdue, and records of it are missing",
        "Look at its process: its silence proves nothing.",
        _LATER,
    ),
    "uninstrumented": Words(
        "is overdue, and children of its type were never heard",
        "Instrument these children, or give them a deadline that fits.",
        "Do not take their silence for a failure.",
    ),
}

SIGNALS: dict[str, Words] = {
    "not_started": Words("has not started", "See whether its launch was ever taken.", _LATER),
    "zero_progress": Words(
        "has done nothing since it started", "Look at its model requests; restart it if they hang.", _LATER
    ),
    "first_token_timeout": Words("gets no first token", "Look at its provider."),
    "idle_stall": Words("worked and then stopped", "Look at what it has in flight.", _LATER),
    "activity_without_progress": Words(
        "is busy and moves nothing",
        "Read its last error or its answers to the nudges.",
        "Another nudge is no progress.",
    ),
    "limit_overrun": Words("runs past its declared limit", "End it: its own limit does not act."),
    "queue_wait": Words(
        "waits in the queue", "See who holds the places.", "More dispatches only lengthen the queue."
    ),
    "hidden_wait": Words("waits for a person", "Answer what it asks.", _LATER),
    "duplicate_dispatch": Words("is the same task as another open run", "Call one of the two off."),
    "redispatch_after_background": Words(
        "may repeat a run that went to the background", "Check that it is other work."
    ),
    "structurally_mute": Words(
        "can return by message only and has no means to send",
        "Read its answer in its transcript when it is idle; give it the tool to send next time.",
        "Do not remind it: it cannot answer.",
    ),
    "identity_collision": Words("shares an id with another open run", "Find out which of the two is meant."),
    "premature_owner_final": Words(
        "was left behind: its owner answered without it", "Reopen the answer when the result comes."
    ),
    "premature_completion": Words("went on after its completion", "Treat what was delivered as unfinished."),
    "contradicted_outcome": Words(
        "ended otherwise than its owner was told", "Tell its owner what really happened."
    ),
    "misdelivered": Words(
        "was delivered to another than its owner", "Forward the result to its owner.", _DONT
    ),
    "delivered_not_consumed": CLASSES["delivered_not_consumed"],
    "duplicate_completion": Words("was completed twice with different content", "Compare the two."),
    "empty_or_cut_result": Words(
        "was delivered empty or cut",
        "Take the full text from its transcript.",
        "Do not take it for the whole answer.",
    ),
    "output_discarded": Words(
        "was killed and its output thrown away", "Look for what it wrote before the kill."
    ),
    "unattributed_kill": Words(
        "was killed by nobody knows what", "Find the watchdog that does not sign its kills."
    ),
    "orphaned": Words("lost its owner", "Hand it to another owner, or dismiss it.", _LATER),
    "model_changed": Words("runs on another model than was asked for", "See whether that was meant."),
    "unmatched": Words("reports, and nobody dispatched it", "Find the dispatch, or name its alias."),
    "telemetry_gap": Words("has records missing", "Look at the exporter of its process."),
    "clock_skew": Words("has a clock that is off", "Set the clock of its host."),
}

OTHERS: dict[str, Words] = {
    "test": Words("sends a test; nothing is wrong", "Nothing: this channel works."),
    "group": Words("have something wrong", "See what they have in common."),
    "fleet": Words(
        "opened at once",
        "Look for one cause: a provider, a host, a deployment.",
        "Do not dispatch anything again before the cause is known.",
    ),
    "observer": Words("is blind", "Look at the collector and at what reaches it."),
    "gate": Words("holds messages back, and nobody lets them go", "Look at what holds them back."),
}


def words_of(kind: str, name: str, leaning: str | None = None) -> Words:
    """Return the words of a class or signal; unknown names speak for themselves."""
    if kind == "class" and leaning in LEANINGS:
        return LEANINGS[leaning]
    table = CLASSES if kind == "class" else SIGNALS
    return table.get(name, Words(name.replace("_", " "), "Look at it."))
