"""Where an endpoint listens, who may reach it there, and which URLs lead to it."""

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
    """An address that an endpoint listens at.

    Attributes:
        host: The host as it was given.
        address: The IPv4 or IPv6 address that it led to.
        port: The port.
    """

    host: str
    address: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only programs of this machine reach it."""
        return is_loopback(self.address)

    @property
    def is_everywhere(self) -> bool:
        """Whether it stands for every address of this machine."""
        return _parsed(self.address).is_unspecified

    @property
    def url(self) -> str:
        """Where programs of this machine find it."""
        host = self.address
        if self.is_everywhere:
            host = LOCAL_ADDRESSES[":" in host]
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"

    @property
    def hosts(self) -> frozenset[str] | None:
        """The hosts beside the loopback ones that requests may name; `None` for any.

        An endpoint that listens everywhere has names that it does not know.
        """
        if self.is_everywhere:
            return None
        return frozenset({normalize_host(self.host), normalize_host(self.address)})

    def is_at(self, url: str) -> bool:
        """Tell whether a URL leads here, as far as that can be told without asking anybody."""
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
        return _parsed(address) == _parsed(self.address)


def listen(host: str, port: int, *, is_guarded: bool) -> tuple[socket.socket, Address]:
    """Take a port.

    Args:
        host: A name or an address of this machine.
        port: The port; 0 for any that is free.
        is_guarded: Whether a token is asked of everybody.

    Returns:
        A socket that listens, and where.

    Raises:
        UsageError: If the port cannot be taken, or others than this machine could reach it
            without a token.
    """
    family, address = _resolved(host, port)
    if not (is_guarded or is_loopback(address[0])):
        raise UsageError(
            f"--host {host}: other machines could fire hooks here; set ANYHOOK_TOKEN to a secret, "
            "or listen on 127.0.0.1"
        )
    taken = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":  # elsewhere it would let two programs have one port
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(address)
        taken.listen(BACKLOG)
    except OSError as error:
        taken.close()
        raise UsageError(_why_not(host, port, error)) from error
    return taken, Address(host, address[0].partition("%")[0], taken.getsockname()[1])


def _resolved(host: str, port: int) -> tuple[socket.AddressFamily, tuple[str, int]]:
    name = LOCAL_ADDRESSES[0] if normalize_host(host) == LOCALHOST else host.strip("[]")
    if not name:  # which the system takes for every address
        raise UsageError("--host is empty; name an address of this machine, like 127.0.0.1")
    try:
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"--host {host!r}: there is no such address here: {why}") from error
    family, _, _, _, address = found[0]
    return family, address  # type: ignore[return-value]  # the types know too many families


def _why_not(host: str, port: int, error: OSError) -> str:
    hint = HINTS.get(error.errno or 0, "")
    return f"cannot listen on {host} port {port}: {error.strerror}{hint}"


HINTS = {
    errno.EADDRINUSE: "; name another one with --port, or take any that is free with --port 0",
    errno.EACCES: "; ports below 1024 are the administrator's: name another one with --port",
    errno.EADDRNOTAVAIL: "; name an address of this machine with --host",
}
"""Error to what to do."""


def _parsed(address: str) -> IPv4Address | IPv6Address:
    found = ip_address(address)
    return getattr(found, "ipv4_mapped", None) or found
