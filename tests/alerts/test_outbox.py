"""The outbox: nothing is lost, nothing overtakes, a crash is said to be one, and giving up is heard of."""

from __future__ import annotations

from typing import Any

import pytest

from headcount_alerts.channels.build import Line
from headcount_alerts.channels.channel import Parcel
from headcount_alerts.errors import ChannelError
from headcount_alerts.outbox import Outbox
from headcount_alerts.postbook import Entry, Postbook
from headcount_collector.store import Store

from .verdicts import T0, S


class Mailbox:
    """A channel that takes, or raises what it is told to."""

    updates = True

    def __init__(self) -> None:
        self.parcels: list[Parcel] = []
        self.raises: list[BaseException] = []

    def send(self, parcel: Parcel) -> str:
        self.parcels.append(parcel)
        if self.raises:
            raise self.raises.pop(0)
        return f"ref-{parcel.document['incident']}"


class Clock:
    def __init__(self) -> None:
        self.now = T0

    def __call__(self) -> int:
        return self.now


class Post:
    """An outbox over one channel, with a clock that a test turns."""

    def __init__(self, store: Store, rate: int = 6000, give_up_after_s: float = 600) -> None:
        self.store = store
        self.box = Mailbox()
        self.clock = Clock()
        self.said: list[tuple[str, str]] = []
        self.line = Line("chat/0/webhook", self.box, rate, give_up_after_s)
        self.postbook = Postbook(store)
        self.outbox = self.fresh()

    def fresh(self) -> Outbox:
        return Outbox(
            self.postbook, [self.line], lambda e, what, why: self.said.append((what, why)), jitter=lambda: 1.0
        )

    def put(self, *entries: Entry) -> None:
        self.postbook.write(entries)
        self.outbox.put(entries)

    def deliver(self, at_s: float) -> int | None:
        self.clock.now = T0 + round(at_s * S)
        return self.outbox.deliver(self.line.name, self.clock)

    @property
    def sent(self) -> list[str]:
        return [parcel.id for parcel in self.box.parcels]


def entry(number: int, incident: str = "i1", step: str = "notified", **document: Any) -> Entry:
    found = {"incident": incident, "state": "open", "step": step, **document}
    return Entry(f"{incident}-{number}", incident, number, step, "chat/0/webhook", T0, found)


@pytest.fixture
def post(store: Store) -> Post:
    return Post(store)


def test_a_message_is_sent_once_and_recorded(post: Post) -> None:
    post.put(entry(1))
    assert post.deliver(0) is None
    post.deliver(1)
    assert post.sent == ["i1-1"]
    (row,) = post.postbook.list()
    assert (row["outcome"], row["tries"]) == ("sent", 1)


def test_a_failure_is_tried_again_later_and_later_and_asks_as_the_peer_says(post: Post) -> None:
    post.box.raises = [ChannelError("down"), ChannelError("down"), ChannelError("busy", retry_after_s=90)]
    post.put(entry(1))
    assert post.deliver(0) == T0 + 1 * S
    assert post.deliver(1) == T0 + 3 * S
    assert post.deliver(3) == T0 + 93 * S
    assert post.deliver(92) == T0 + 93 * S
    assert post.deliver(93) is None
    assert post.sent == ["i1-1"] * 4
    assert [what for what, _ in post.said] == ["send_failed"]


def test_a_refusal_for_good_or_too_long_a_time_is_given_up_and_said(post: Post) -> None:
    post.box.raises = [ChannelError("bad token", retryable=False)]
    post.put(entry(1))
    assert post.deliver(0) is None
    post.box.raises = [ChannelError("down")] * 30
    post.put(entry(2, "i2"))
    at: int | None = T0
    while at is not None:
        at = post.deliver((at - T0) / S)
    assert [what for what, _ in post.said] == ["gave_up", "send_failed", "gave_up"]
    assert "bad token" in post.said[0][1]
    assert {row["outcome"] for row in post.postbook.list()} == {"dead"}


def test_a_channel_that_raises_something_unknown_is_tried_again(post: Post) -> None:
    post.box.raises = [KeyError("surprise")]
    post.put(entry(1))
    assert post.deliver(0) == T0 + 1 * S


def test_later_messages_of_an_incident_wait_for_the_earlier_and_others_do_not(post: Post) -> None:
    post.box.raises = [ChannelError("down")]
    post.put(entry(1), entry(2, step="reminded"))
    post.deliver(0)
    post.put(entry(1, "i2"))
    post.deliver(0.5)
    assert post.sent == ["i1-1", "i2-1"]
    post.deliver(1)
    assert post.sent == ["i1-1", "i2-1", "i1-1", "i1-2"]
    assert post.box.parcels[-1].reference == "ref-i1"


def test_an_update_that_was_not_sent_makes_way_for_the_next(post: Post) -> None:
    post.put(entry(1), *(entry(n, step="updated") for n in range(2, 50)))
    post.deliver(0)
    assert post.sent == ["i1-1", "i1-49"]
    assert {row["outcome"] for row in post.postbook.list()} == {"sent", "superseded"}


def test_a_rate_limit_spreads_what_it_does_not_drop(store: Store) -> None:
    post = Post(store, rate=6)
    post.put(*(entry(1, f"i{n}") for n in range(4)))
    at: int | None = T0
    moments = []
    while at is not None:
        moments.append((at - T0) // S)
        at = post.deliver((at - T0) / S)
    assert len(post.sent) == 4
    assert moments[-1] >= 30


def test_what_was_unsent_at_a_crash_is_sent_after_it_and_what_was_being_sent_says_repeat(post: Post) -> None:
    post.put(entry(1), entry(1, "i2"))
    post.box.raises = [KeyboardInterrupt()]  # the process dies within the call
    with pytest.raises(KeyboardInterrupt):
        post.deliver(0)
    post.outbox = post.fresh()
    post.outbox.restore(T0 + 60 * S)
    post.deliver(60)
    assert [(parcel.id, parcel.repeat) for parcel in post.box.parcels[1:]] == [
        ("i1-1", True),
        ("i2-1", False),
    ]
    post.outbox = post.fresh()
    post.outbox.restore(T0 + 70 * S)
    assert post.deliver(70) is None


def test_a_channel_that_was_taken_out_of_the_configuration_leaves_no_message_in_limbo(post: Post) -> None:
    post.put(entry(1))
    empty = Outbox(post.postbook, [], lambda *_: None)
    empty.restore(T0 + S)
    (row,) = post.postbook.list()
    assert (row["outcome"], row["error"]) == ("dead", "there is no channel chat/0/webhook any more")
