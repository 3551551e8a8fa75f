"""Errors of the alerts: configuration that cannot be used, and channels that did not take a message."""

from __future__ import annotations

from headcount_collector.errors import HeadcountError


class AlertsError(HeadcountError):
    """Base of what the alerts raise on purpose."""


class AlertsConfigError(AlertsError):
    """A table `[alerts]` that cannot be used; the text names the key and what it takes."""


class UnknownIncident(AlertsError):
    """No incident goes by that id, or none is open for that owner."""


class Resting(AlertsError):
    """Another process judges now, and keeps the incidents."""


class ChannelError(AlertsError):
    """A channel did not take a message. `retry_after_s`: how long the peer asks to wait, if it said so."""

    def __init__(self, message: str, *, retryable: bool = True, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after_s = retry_after_s
