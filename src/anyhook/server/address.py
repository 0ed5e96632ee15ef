"""Where an endpoint listens, which clients can reach it, and which URLs lead to it."""

from __future__ import annotations

import errno
import os
import socket
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit

from anyhook.errors import UsageError
from anyhook.handlers.network import (
    LOCAL_ADDRESSES,
    LOCALHOST,
    PORTS,
    is_loopback,
    is_own_address,
    literal_address,
    normalize_host,
)

BACKLOG = 2048
"""Connections that wait to be accepted; the system may keep fewer."""


@dataclass(frozen=True, slots=True)
class Address:
    """An address that an endpoint listens at."""

    host: str
    """The host as it was passed."""
    address: str
    """The IPv4 or IPv6 address that it resolved to."""
    port: int

    @property
    def is_everywhere(self) -> bool:
        """Whether it stands for every address of this machine."""
        return _parse_address(self.address).is_unspecified

    @property
    def url(self) -> str:
        """The URL for programs of this machine."""
        host = self.address
        if self.is_everywhere:
            host = LOCAL_ADDRESSES[":" in host]
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"

    @property
    def hosts(self) -> frozenset[str] | None:
        """The hosts that requests may name besides the loopback ones; `None` for any.

        The names of an endpoint that listens on every address are not known.
        """
        if self.is_everywhere:
            return None
        return frozenset({normalize_host(self.host), normalize_host(self.address)})

    def is_at(self, url: str) -> bool:
        """Return whether a URL leads here, as far as that is known without a look-up."""
        try:
            parts = urlsplit(url)
            port = parts.port or PORTS.get(parts.scheme)
        except ValueError:
            return False
        if port != self.port or not parts.hostname:
            return False
        name = normalize_host(parts.hostname)
        if name in (normalize_host(self.host), normalize_host(self.address)):
            return True
        if name == LOCALHOST:
            return self.is_everywhere or self.address in LOCAL_ADDRESSES
        address = literal_address(name)
        if address is None:
            return self.is_everywhere and name == normalize_host(socket.gethostname())
        if self.is_everywhere:
            return is_loopback(address) or is_own_address(address)
        return _parse_address(address) == _parse_address(self.address)


def listen(host: str, port: int, *, is_guarded: bool) -> tuple[socket.socket, Address]:
    """Listen on a port of this machine; 0 takes any that is free.

    Raises:
        UsageError: If the port cannot be taken, or others than this machine could reach it
            without a token (`is_guarded`).
    """
    name = LOCAL_ADDRESSES[0] if normalize_host(host) == LOCALHOST else host.strip("[]")
    if not name:  # the system would listen on every address
        raise UsageError("--host is empty; name an address of this machine, like 127.0.0.1")
    try:
        infos = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        problem = getattr(error, "strerror", None) or error
        raise UsageError(f"--host {host!r}: there is no such address here: {problem}") from error
    family, _, _, _, resolved = infos[0]
    address: tuple[str, int] = resolved  # type: ignore[assignment]  # too many families
    if not (is_guarded or is_loopback(address[0])):
        raise UsageError(
            f"--host {host}: other machines could fire hooks here; set ANYHOOK_TOKEN to a secret, "
            "or listen on 127.0.0.1"
        )
    # asyncio switches the delay of small packets off only where the protocol is named. The second
    # half of an answer would wait 40 ms for the client's acknowledgement.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # on Windows it would let two programs share one port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        hint = HINTS.get(error.errno or 0, "")
        message = f"cannot listen on {host} port {port}: {error.strerror}{hint}"
        raise UsageError(message) from error
    return listening, Address(host, address[0].partition("%")[0], listening.getsockname()[1])


HINTS = {
    errno.EADDRINUSE: "; name another one with --port, or take any that is free with --port 0",
    errno.EACCES: "; ports below 1024 are the administrator's: name another one with --port",
    errno.EADDRNOTAVAIL: "; name an address of this machine with --host",
}
"""Error number to a remedy."""


def _parse_address(address: str) -> IPv4Address | IPv6Address:
    ip = ip_address(address)
    return getattr(ip, "ipv4_mapped", None) or ip
