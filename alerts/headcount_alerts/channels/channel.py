"""What the outbox asks of a channel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Parcel:
    """One message for one channel. `id` is its idempotency key; `reference` is what the channel called the last message
    of the same incident; `repeat` says that this one may have arrived already."""

    id: str
    document: Document
    reference: str = ""
    repeat: bool = False


class Channel(Protocol):
    """Sends parcels; raises ChannelError. One call at a time."""

    updates: bool
    """Whether changes between the steps of the ladder are wanted: a message can be edited, or a state is kept."""

    def send(self, parcel: Parcel) -> str:
        """Send one message and return the channel's reference to it, empty where it has none."""
