"""The dead-man ping: somebody else is told that this observer lives, and hears it when it does not."""

from __future__ import annotations

import logging
import threading
import urllib.request
from urllib.parse import urlsplit

from headcount_collector.addresses import is_loopback

log = logging.getLogger(__name__)

_TIMEOUT_S = 10.0


class DeadMan:
    """Asks a URL of the healthchecks.io kind: itself for success, `/fail` below it for failure. Never blocks the tick."""

    def __init__(self, url: str, every_s: float) -> None:
        self._url = url.rstrip("/")
        self._every_ns = round(every_s * 1e9)
        self._next = 0
        self._failed = False
        self._wanted = threading.Event()
        self._stop = False
        self._thread = threading.Thread(target=self._run, name="headcount-deadman", daemon=True)
        self.pings = 0

    def start(self) -> None:
        """Begin to ping, if that was not begun before."""
        if self._thread.ident is None:
            self._thread.start()

    def beat(self, now: int, *, failed: bool = False) -> None:
        """Tell of one tick; a change is passed on at once, the same again every so often (each tick, if that is 0)."""
        turned = failed != self._failed
        self._failed = failed
        if now >= self._next or turned:
            self._next = now + self._every_ns
            self._wanted.set()

    def close(self) -> None:
        """Stop."""
        self._stop = True
        self._wanted.set()
        if self._thread.is_alive():
            self._thread.join(_TIMEOUT_S + 1)

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            if self._stop:
                return
            url = self._url + ("/fail" if self._failed else "")
            loopback = is_loopback(urlsplit(url).hostname or "")
            opener = urllib.request.build_opener(*([urllib.request.ProxyHandler({})] if loopback else []))
            try:
                with opener.open(url, timeout=_TIMEOUT_S):
                    self.pings += 1
            except (OSError, ValueError) as error:
                log.warning("the dead-man ping did not arrive: %s", error)
