"""What can go wrong between the collector and its store, in words for the person who runs it."""

from __future__ import annotations

from headcount_collector.errors import HeadcountError


class StoreError(HeadcountError):
    """The store did not do what was asked; `code` is the engine's error code where it gave one."""

    def __init__(self, message: str, *, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code

    @property
    def data_at_fault(self) -> bool:
        """Tell whether the same bytes can never succeed, as against a store that may recover."""
        return self.code in _DATA_ERRORS


class StoreLocked(StoreError):
    """Another process owns the data folder."""


class SchemaTooNew(StoreError):
    """The database was written by a newer program than this one."""


# ClickHouse error codes that speak of the bytes, not of the machine (src/Common/ErrorCodes.cpp): cannot parse text,
# quoted string, input, date, datetime, number; end of input; sizes, types and bounds; incorrect data; protobuf.
_DATA_ERRORS = frozenset(
    {6, 26, 27, 32, 33, 38, 41, 53, 69, 70, 72, 117, 128, 131, 153, 190, 349, 395, 407, 436, 444}
)
