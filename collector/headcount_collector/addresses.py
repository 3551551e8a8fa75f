"""HOST:PORT as people write it: where the collector listens, and whether only this machine can reach it."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from headcount_collector.errors import HeadcountError


class AddressError(HeadcountError):
    """Text that is no HOST:PORT."""


@dataclass(frozen=True, slots=True)
class Address:
    """A host (name, IPv4 or IPv6 without brackets) and a port; port 0 is any free one."""

    host: str
    port: int

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def is_loopback(host: str) -> bool:
    """Tell whether a host name or IP address (brackets allowed) is this machine's loopback."""
    bare = host.strip("[]").lower()
    if bare == "localhost" or bare.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(bare).is_loopback
    except ValueError:
        return False


def parse_address(text: str) -> Address:
    """Read HOST:PORT, [IPv6]:PORT, or a port alone (loopback). Raises AddressError."""
    host, found, port = text.strip().rpartition(":")
    if not found:
        host = "127.0.0.1"
    if not port.isascii() or not port.isdigit() or int(port) > 65535 or (found and not host):
        raise AddressError(f"{text!r} is no HOST:PORT; write one like 127.0.0.1:4318")
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise AddressError(f"{text!r}: write an IPv6 address in brackets, like [::1]:4318")
    return Address(host.strip("[]"), int(port))
