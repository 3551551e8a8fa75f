"""The bounded queue before the committer: fair between senders, who are known by name, and bounded by bytes and number."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from typing import Generic, Protocol, TypeVar


class Queued(Protocol):
    """What the queue must know of an item."""

    @property
    def sender(self) -> str:
        """Whose it is."""

    @property
    def size(self) -> int:
        """Its bytes."""


T = TypeVar("T", bound=Queued)


class FairQueue(Generic[T]):
    """Items of many senders, taken in turns; not thread-safe.

    An item counts until it is released, so that the bound holds for all that is in memory. A sender may hold no more
    than is still free (Choudhury and Hahne's dynamic threshold): one alone gets half of the room, and a flood of one
    is refused to that one, since something is always left for who has nothing here yet. A single item always fits
    into an empty queue.
    """

    def __init__(self, most_bytes: int, most_items: int) -> None:
        self._most_bytes = most_bytes
        self._most_items = most_items
        self._lines: OrderedDict[str, deque[T]] = OrderedDict()
        self._waiting = 0
        self.waiting_bytes = 0
        """Bytes of those that wait to be taken."""
        self._bytes: Counter[str] = Counter()
        self._items: Counter[str] = Counter()
        self.bytes = 0
        self.items = 0

    def __len__(self) -> int:
        """Count the items that wait to be taken."""
        return self._waiting

    @property
    def senders(self) -> int:
        """How many senders have an item here."""
        return len(self._items)

    def full(self, item: T) -> str | None:
        """Say why there is no room for `item`; None if there is."""
        if not self.items:
            return None
        if self.items >= self._most_items or self.bytes + item.size > self._most_bytes:
            return f"{self.items} requests ({self.bytes} bytes) already wait for the store"
        held = self._items[item.sender]
        if held > self._most_items - self.items or (
            held and self._bytes[item.sender] > self._most_bytes - self.bytes
        ):
            return f"{held} requests ({self._bytes[item.sender]} bytes) of this sender already wait for the store"
        return None

    def put(self, item: T) -> None:
        """Add an item that `full` has nothing against."""
        self._lines.setdefault(item.sender, deque()).append(item)
        self._waiting += 1
        self.waiting_bytes += item.size
        self._bytes[item.sender] += item.size
        self._items[item.sender] += 1
        self.bytes += item.size
        self.items += 1

    def take(self, most_bytes: int) -> list[T]:
        """Remove items, one of each sender in turn, up to `most_bytes`; at least one if any waits."""
        taken: list[T] = []
        size = 0
        while self._lines:
            sender, line = next(iter(self._lines.items()))
            if taken and size + line[0].size > most_bytes:
                break
            item = line.popleft()
            taken.append(item)
            size += item.size
            if line:
                self._lines.move_to_end(sender)
            else:
                del self._lines[sender]
        self._waiting -= len(taken)
        self.waiting_bytes -= size
        return taken

    def release(self, items: list[T]) -> None:
        """Give back the room of items that were taken."""
        for item in items:
            self._bytes[item.sender] -= item.size
            self._items[item.sender] -= 1
            self.bytes -= item.size
            self.items -= 1
            if not self._items[item.sender]:
                del self._items[item.sender], self._bytes[item.sender]
