"""Says who emits: one producer per process start, which numbers its lifecycle spans from 1."""

from __future__ import annotations

import itertools
import os
import socket


def new_id() -> str:
    """Return 32 random hex digits from the operating system: no seed of the host's makes two of them equal."""
    return os.urandom(16).hex()


class Producer:
    """One process from its start (or fork) on; `next_seq` is atomic, also in a signal handler."""

    __slots__ = ("_numbers", "id", "session")

    def __init__(self) -> None:
        self.id = f"{socket.gethostname()}:{os.getpid()}:{os.urandom(6).hex()}"
        self.session = os.environ.get("HEADCOUNT_SESSION_ID") or new_id()
        """The session of whatever is dispatched outside `headcount.session`."""
        self._numbers = itertools.count(1)

    def next_seq(self) -> int:
        """Return the number of the next lifecycle span."""
        return next(self._numbers)


_current = Producer()


def current() -> Producer:
    """Return this process's producer."""
    return _current


def start_anew() -> None:
    """Become another producer, as a forked child is."""
    global _current
    _current = Producer()
