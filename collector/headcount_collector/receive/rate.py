"""How much one token may send: a bucket of requests for each, filled steadily."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from headcount_collector.receive.errors import RateLimited


class RateLimit:
    """Takes `per_s` requests a second of each name, `burst` at once; no limit where `per_s` is 0. Thread-safe."""

    def __init__(
        self, per_s: float = 0.0, burst: float | None = None, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_s = per_s
        self._burst = burst if burst is not None else max(1.0, 2 * per_s)
        self._now_s = now_s
        self._left: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def take(self, name: str) -> None:
        """Count one request of `name`. Raises RateLimited."""
        if not self._per_s:
            return
        with self._lock:
            now = self._now_s()
            left, at = self._left.get(name, (self._burst, now))
            left = min(self._burst, left + (now - at) * self._per_s)
            if left < 1:
                self._left[name] = (left, now)
                raise RateLimited(
                    f"more than {self._per_s:g} requests a second of this token: send larger batches"
                )
            self._left[name] = (left - 1, now)
