"""The threads that send: one for each channel, so that a slow peer holds up nobody else."""

from __future__ import annotations

import logging
import threading
import time

from headcount_alerts.outbox import Outbox
from headcount_collector.judge.policy import SECOND

log = logging.getLogger(__name__)

_RETRY_S = 5.0
"""After the store failed."""


class Lanes:
    """Runs `Outbox.deliver` for every channel until closed."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._stop = False
        self._wake = threading.Condition()
        self._news = 0
        self._threads = [
            threading.Thread(target=self._run, args=(name,), name=f"headcount-alerts-{name}", daemon=True)
            for name in outbox.lanes
        ]

    def start(self) -> None:
        """Begin to send."""
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        """Tell that there are new messages."""
        with self._wake:
            self._news += 1
            self._wake.notify_all()

    def close(self, timeout_s: float = 15.0) -> None:
        """Stop after the messages that are being sent; what waits is sent by the next process."""
        with self._wake:
            self._stop = True
            self._wake.notify_all()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(timeout_s)

    def _run(self, channel: str) -> None:
        seen = -1
        while True:
            with self._wake:
                if self._stop:
                    return
                seen = self._news
            try:
                due = self._outbox.deliver(channel, time.time_ns)
                wait_s = None if due is None else max(0.0, (due - time.time_ns()) / SECOND)
            except Exception:  # the store is away: what was sent and not recorded is sent again, as repeat
                log.exception("channel %s: the outbox cannot be kept", channel)
                wait_s = _RETRY_S
            with self._wake:
                if not self._stop and self._news == seen:
                    self._wake.wait(wait_s)
