"""The queue before the committer: nothing lost, nothing twice, in turns, and a flood is refused to its sender only."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from headcount_collector.receive.queue import FairQueue


@dataclass(frozen=True)
class Item:
    sender: str
    size: int
    number: int = 0


def flood(queue: FairQueue[Item], sender: str, size: int = 1) -> int:
    number = 0
    while queue.full(item := Item(sender, size, number)) is None:
        queue.put(item)
        number += 1
    return number


def test_one_sender_alone_gets_half_of_the_room() -> None:
    assert flood(FairQueue(1000, 100), "a") == 51
    assert flood(FairQueue(100, 1000), "a") == 51


def test_a_flood_of_some_leaves_room_for_the_next() -> None:
    queue: FairQueue[Item] = FairQueue(10**6, 90)
    assert [flood(queue, sender) for sender in "abc"] == [46, 23, 11]
    assert queue.full(Item("d", 1)) is None


def test_items_are_taken_in_turns() -> None:
    queue: FairQueue[Item] = FairQueue(10**6, 100)
    for number in range(3):
        queue.put(Item("loud", 1, number))
    queue.put(Item("quiet", 1))
    assert [item.sender for item in queue.take(3)] == ["loud", "quiet", "loud"]


def test_what_alone_is_above_the_bound_fits_an_empty_queue_only() -> None:
    queue: FairQueue[Item] = FairQueue(10, 10)
    large = Item("a", 100)
    assert queue.full(large) is None
    queue.put(large)
    assert "already wait" in (queue.full(Item("b", 1)) or "")
    assert queue.take(1) == [large]
    assert queue.full(Item("b", 1)) is not None  # it counts until it is released
    queue.release([large])
    assert queue.full(Item("b", 1)) is None


@settings(max_examples=100)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.sampled_from("abc"), st.integers(0, 40)),
            st.integers(1, 60),
        ),
        max_size=60,
    )
)
def test_nothing_is_lost_doubled_or_out_of_order_within_a_sender(steps: list[tuple[str, int] | int]) -> None:
    queue: FairQueue[Item] = FairQueue(100, 12)
    put: list[Item] = []
    taken: list[Item] = []
    for number, step in enumerate(steps):
        if isinstance(step, tuple):
            item = Item(*step, number)
            if queue.full(item) is None:
                queue.put(item)
                put.append(item)
        else:
            group = queue.take(step)
            assert group or not len(queue)
            assert len(group) == 1 or sum(item.size for item in group) <= step
            queue.release(group)
            taken += group
        assert queue.items <= 12
        assert queue.bytes == sum(item.size for item in put) - sum(item.size for item in taken)
    while group := queue.take(1000):
        queue.release(group)
        taken += group
    for sender in "abc":
        assert [i for i in put if i.sender == sender] == [i for i in taken if i.sender == sender]
    assert (queue.items, queue.bytes, queue.senders, len(queue)) == (0, 0, 0, 0)
