"""Why a request is not taken: for HTTP its status, for gRPC its code, for the sender what to do."""

from __future__ import annotations

from headcount_collector.errors import HeadcountError

RETRY_AFTER_S = 1
"""Short on purpose: an SDK exporter that is told to wait longer than its own budget drops the batch at once."""


class Refused(HeadcountError):
    """A request that was not taken. `status` is HTTP's, `code` is gRPC's; `reason` is what it is counted under."""

    status = 400
    code = 3  # INVALID_ARGUMENT
    reason = "malformed"
    retry_after_s: int | None = None


class Malformed(Refused):
    """The body is not what its content type says; it can never succeed."""


class TooLarge(Refused):
    """The body, decompressed, is above the limit."""

    status = 413
    code = 8  # RESOURCE_EXHAUSTED, and without RetryInfo: it will not fit later
    reason = "too_large"


class TooSlow(Refused):
    """The body did not arrive in time."""

    status = 408
    code = 4  # DEADLINE_EXCEEDED
    reason = "too_slow"


class WrongContent(Refused):
    """A content type or encoding that the receiver does not speak."""

    status = 415
    reason = "wrong_content"


class Unauthenticated(Refused):
    """The request does not carry a token that is known here."""

    status = 401
    code = 16  # UNAUTHENTICATED
    reason = "unauthenticated"


class Busy(Refused):
    """Not now: the same request will be taken later."""

    status = 503
    code = 14  # UNAVAILABLE
    reason = "busy"
    retry_after_s = RETRY_AFTER_S


class QueueFull(Busy):
    """Too much waits for the store already, altogether or of this sender."""

    code = 8  # RESOURCE_EXHAUSTED


class RateLimited(QueueFull):
    """This token sends more requests than it may."""

    status = 429
    reason = "rate_limited"


class Closing(Busy):
    """The receiver is shutting down."""

    reason = "closing"


class StoreFailed(Busy):
    """The store did not take the data, and not for the data's sake."""

    reason = "store_failed"
