"""uvicorn's fast HTTP protocol with bounds that it lacks: on the size of a request's head, and the time it takes."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 64 * 1024
"""Of request line and headers; checked after each read, so that one read more may be taken."""
HEAD_S = 10.0
"""From the connection, or the first byte of a further request, to the end of its headers."""


class BoundedProtocol(HttpToolsProtocol):
    """Ends connections whose head is too large or too slow."""

    _head_bytes = 0
    _heading = True
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a head."""
        super().connection_made(transport)
        self._deadline = self.loop.call_later(HEAD_S, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read, and see what is still missing."""
        super().data_received(data)
        if self._heading:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                self._give_up()

    def on_message_begin(self) -> None:
        """Begin with a head."""
        self._heading, self._head_bytes = True, 0
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_S, self._give_up)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._heading = False
        self._stop_waiting()
        super().on_headers_complete()

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._stop_waiting()
        if self.transport is not None and not self.transport.is_closing():
            self.transport.close()
