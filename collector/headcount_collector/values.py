"""`value`: a frozen dataclass whose making costs as little as an open one's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

__all__ = ["value"]

if TYPE_CHECKING:
    from dataclasses import dataclass as value
else:

    def value(*, frozen: bool, slots: bool) -> Any:
        """Return the decorator of a class whose instances are never changed, which the type checker sees to.

        At run time it would cost more than all else of the making: of 33 fields 7.4 µs where 0.3 will do.
        """
        assert frozen
        return dataclass(slots=slots, unsafe_hash=True)
