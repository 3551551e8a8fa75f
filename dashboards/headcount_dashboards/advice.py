"""What an alert says of each class and signal: what it is, what to do, and what not to do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Advice:
    """The words of one kind of finding. `headline` completes "RUN of AGENT: …"."""

    headline: str
    do: str
    do_not: str = ""


CLASSES = {
    "done_but_not_forwarded": Advice(
        "the result exists and its owner does not have it",
        "Fetch the result from where it lies and put it into the owner's conversation.",
        "Do not dispatch the work again: it is done.",
    ),
    "delivered_not_consumed": Advice(
        "the result was delivered and nobody used it",
        "Wake the owner, or hand the result to whoever needs it.",
        "Do not deliver it a second time before you have looked.",
    ),
    "owner_gone": Advice(
        "nobody is left to deliver to",
        "See whether the child still lives and where its result lies, then hand it to the owner's owner or dismiss the run.",
        "Do not restart the owner before the result is safe.",
    ),
    "empty_result": Advice(
        "it ended well and returned nothing",
        "Look at the child's transcript, then decide whether the answer can be taken from there.",
        "Do not take the end for a result.",
    ),
    "child_failed_unreported": Advice(
        "the child failed and its owner was not told",
        "Tell the owner that this run failed, then decide whether to dispatch it again.",
        "Do not wait for it any longer.",
    ),
    "session_exists_no_result_bounce": Advice(
        "its session exists and no result comes back",
        "Look into the child's session: a partial result may lie there. Ask it to finish, or take what there is.",
        "Do not read its signs of life as progress.",
    ),
    "no_completion_event": Advice(
        "nothing was ever seen of this child",
        "Check whether it was launched at all. If it was not, tell the owner and dispatch it again.",
        "Do not dispatch a second one while the first may still start.",
    ),
    "unclear_slow_or_lost": Advice(
        "late, and the evidence does not say whether it is slow or lost",
        "Look at what is in flight and at the last progress before you decide.",
        "Do not dispatch it again on lateness alone.",
    ),
    "waiting_for_person": Advice(
        "it waits for a person",
        "Answer what it asks, or refuse it.",
    ),
    "waiting_on_resource": Advice(
        "it waits for something that does not come",
        "Look at what holds the queue, the limit or the provider.",
    ),
    "waiting_for_nobody": Advice(
        "it waits for somebody who will never wake it",
        "Wake it, or end it and tell its owner.",
        "Do not wait with it.",
    ),
}

SIGNALS = {
    "not_started": Advice(
        "it was dispatched and never started", "Check the launch: queue, limits, and the harness."
    ),
    "limit_overrun": Advice("it runs past its declared limit", "End it, and keep what it has."),
    "hidden_wait": Advice(
        "it waits for a person who does not know it", "Tell that person, and answer what it asks."
    ),
    "structurally_mute": Advice(
        "it can only answer by message and has no means to send one",
        "Fetch the answer from its transcript.",
        "Do not wait for a message.",
    ),
    "premature_owner_final": Advice(
        "its owner gave a final answer without it",
        "Hand the result to whoever reads that answer, or have the owner answer again.",
    ),
    "premature_completion": Advice(
        "it was reported complete and went on working",
        "Wait for its last end, then deliver that.",
        "Do not rely on the result that was delivered.",
    ),
    "contradicted_outcome": Advice(
        "its owner was told another outcome than the child's",
        "Correct what the owner believes.",
    ),
    "misdelivered": Advice("its result went to somebody else", "Relay it to its owner."),
    "orphaned": Advice(
        "it works on and its owner is gone",
        "Hand it to another owner, or dismiss it.",
    ),
}
"""The signals that page. `delivered_not_consumed` is told as a class, and so not twice."""
