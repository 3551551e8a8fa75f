"""Who may send and ask: bearer tokens, several at a time, from settings or a file that may change while we run."""

from __future__ import annotations

import hmac
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path

from headcount_collector.errors import HeadcountError

SHORTEST = 16
"""Characters that a token has at least."""
_LOOK_AGAIN_S = 1.0

log = logging.getLogger(__name__)


class TokenError(HeadcountError):
    """Tokens that cannot be used."""


class Tokens:
    """The tokens that are known now. Thread-safe.

    A file holds one token a line; blank lines and lines that begin with `#` are none. It is read again when it
    changed, so that tokens rotate without a restart: add the new one, let senders change, remove the old one. A file
    that has become unreadable or empty changes nothing, and is logged.
    """

    def __init__(
        self, given: Iterable[str] = (), file: Path | None = None, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        """Take tokens and a file of more. Raises TokenError."""
        self._given = tuple(given)
        self._file = file
        self._now_s = now_s
        self._looked_s = now_s()
        self._lock = threading.Lock()
        self._seen: tuple[int, int, int] | None = None
        self._known = self._given if file is None else (*self._given, *self._read(file))

    @property
    def required(self) -> bool:
        """Whether a token is wanted at all."""
        return bool(self._known)

    @property
    def first(self) -> str | None:
        """The token to send, for one of our own commands."""
        return self._known[0] if self._known else None

    def name_of(self, authorization: str) -> str | None:
        """Return a name for the token in an Authorization header's value, fit for logs; None if it is not known.

        The value may be percent-encoded in its blank, as OTEL_EXPORTER_OTLP_HEADERS leaves it with some exporters.
        """
        self._look_again()
        scheme, _, given = authorization.replace("%20", " ", 1).partition(" ")
        if scheme.lower() != "bearer":
            return None
        found = None
        for token in self._known:  # all of them, so that time tells nothing
            if hmac.compare_digest(given.encode("utf-8", "surrogateescape"), token.encode()):
                found = token
        return None if found is None else sha256(found.encode()).hexdigest()[:8]

    def _look_again(self) -> None:
        if self._file is None or self._now_s() - self._looked_s < _LOOK_AGAIN_S:
            return
        with self._lock:
            self._looked_s = self._now_s()
            try:
                if _state(self._file) == self._seen:
                    return
                self._known = (*self._given, *self._read(self._file))
                log.info("tokens were read again: %d are known", len(self._known))
            except (TokenError, OSError) as error:
                log.error("the tokens stay as they were: %s", error)

    def _read(self, file: Path) -> tuple[str, ...]:
        try:
            self._seen = _state(file)
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise TokenError(f"cannot read the tokens in {file}: {error}") from None
        return tokens_in(text, str(file))


def tokens_in(text: str, where: str) -> tuple[str, ...]:
    """Return the tokens in a text of one a line. Raises TokenError naming `where`, never a token."""
    lines = [line.strip() for line in text.splitlines()]
    tokens = tuple(line for line in lines if line and not line.startswith("#"))
    if not tokens:
        raise TokenError(f"{where}: there is no token in it; write one a line")
    for token in tokens:
        if len(token) < SHORTEST:
            raise TokenError(f"{where}: {len(token)} characters; take at least {SHORTEST}")
        if not token.isascii() or not token.isprintable():
            raise TokenError(f"{where}: a token has only printable ASCII characters")
    return tokens


def _state(file: Path) -> tuple[int, int, int]:
    found = os.stat(file)
    return found.st_mtime_ns, found.st_size, found.st_ino
