"""Which hosts and URLs a hook may request.

The URL of a hook is written by strangers, and the program that requests it stands inside the
user's network. So a host is looked up once, its addresses are checked, and the request goes to one
of these addresses.
"""

from __future__ import annotations

import re
import socket
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, NamedTuple

from anyhook.handlers.threads import call_in_thread
from anyhook.model.globs import matches_glob

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

LOCALHOST = "localhost"
LOCAL_ADDRESSES = ("127.0.0.1", "::1")
PORTS = {"http": 80, "https": 443}
"""Scheme to its default port; other schemes are not requested."""
SERVERS_HEADER = "anyhook-through"
"""Header that names the servers which an event came through, so that none gets it twice."""

# The special-purpose registries of IANA, multicast, and what is reserved. A table, because
# `is_global` differs between releases of Python. 168.63.129.16 answers only machines of Azure.
# 6to4 (2002::/16) and Teredo (in 2001::/23) hide an IPv4 address.
_NOT_PUBLIC = [
    ip_network(network)
    for network in (
        "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 "
        "192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 "
        "224.0.0.0/4 240.0.0.0/4 168.63.129.16/32 "
        "2001::/23 2001:db8::/32 2002::/16 3fff::/20"
    ).split()
]
_UNICAST = ip_network("2000::/3")
"""The only part of IPv6 that is assigned; all else is local, multicast or reserved."""
_HOLDS_IPV4 = (ip_network("::ffff:0:0/96"), ip_network("64:ff9b::/96"))
"""IPv6 addresses that lead to the IPv4 address in their last 32 bits: mapped, and NAT64."""
_LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
_DOTS = str.maketrans(dict.fromkeys("\u3002\uff0e\uff61", "."))
"""Characters that mean a dot in host names (RFC 3490, 3.1)."""
_OLD_IPV4 = re.compile(r"[0-9][0-9a-fx]*(?:\.[0-9][0-9a-fx]*){0,3}")


# -- addresses


def is_public(address: str) -> bool:
    """Return whether an address is reachable from everywhere, so that a request reveals nothing.

    The address is IPv4 or IPv6, as `socket.getaddrinfo` writes it.
    """
    ip = _parse_address(address)
    if ip is None:
        return False
    if isinstance(ip, IPv6Address):
        if any(ip in network for network in _HOLDS_IPV4):
            ip = IPv4Address(int(ip) & 0xFFFFFFFF)
        elif ip not in _UNICAST:
            return False
    return not any(ip in network for network in _NOT_PUBLIC)


def is_loopback(address: str) -> bool:
    """Return whether a host or an address is written as a loopback address."""
    ip = _parse_address(address)
    return ip is not None and any(ip in network for network in _LOOPBACK)


def is_own_address(address: str) -> bool:
    """Return whether an address is one of this machine: only those can be bound."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True


def _parse_address(address: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(address.partition("%")[0])
    except ValueError:
        return None


# -- hosts


def normalize_host(host: str) -> str:
    """Write a host as it is compared: lower case, without the dot of a complete name."""
    return host.strip("[]").translate(_DOTS).rstrip(".").lower()


def literal_address(host: str) -> str | None:
    """Return the address that a host means without a look-up; `None` if it is a name.

    The host is as `normalize_host` writes it, also in the older forms of IPv4 that
    `socket.getaddrinfo` takes: `127.1`, `0x7f000001`, `017700000001`, `2130706433`.
    """
    ip = _parse_address(host)
    if isinstance(ip, IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    if ip is not None:
        return str(ip)
    if not _OLD_IPV4.fullmatch(host):
        return None
    try:
        return socket.inet_ntoa(socket.inet_aton(host))
    except OSError:
        return None


def find_host_problem(
    host: str, addresses: Sequence[str], private_hosts: Collection[str]
) -> str | None:
    """Return why a host may not be requested.

    `localhost` and loopback addresses written as such are the user's own services, and are not
    written by accident. Another name that leads there, or into a private network, is refused: the
    owner of a name can point it anywhere, even between two look-ups.

    The result is `None` if the host may be requested at every one of these addresses. Private hosts
    may be requested wherever they are.
    """
    name = normalize_host(host)
    if any(name == normalize_host(private_host) for private_host in private_hosts):
        return None
    is_acceptable = is_public
    if name == LOCALHOST or is_loopback(name):
        is_acceptable = is_loopback
    for address in addresses:
        if not is_acceptable(address):
            return f"leads to {address}, which is not a public address"
    return None


async def resolve_host(host: str, port: int) -> tuple[str, ...]:
    """Look a host up, once: the addresses that are checked must also be those that are used.

    Not in the thread pool of the async library: a name server that hangs would keep the program
    from ending (see `call_in_thread`).

    The host is a name in ASCII, or an address. Return its addresses as text, the preferred one
    first. `localhost` is not looked up (RFC 6761).

    Raises:
        OSError: If there are none.
    """
    if normalize_host(host) == LOCALHOST:
        return LOCAL_ADDRESSES
    infos = await call_in_thread(
        socket.getaddrinfo, host.encode("ascii"), port, socket.AF_UNSPEC, socket.SOCK_STREAM
    )
    return tuple(dict.fromkeys(str(info[4][0]) for info in infos))


# -- patterns of URLs


def is_allowed_url(url: str, patterns: Iterable[str] | None) -> bool:
    """Return whether the settings allow a URL (Claude Code: `allowedHttpHookUrls`).

    `*` stands for any text; in the scheme and the host it ends where they end, so that
    `https://*.example.com/*` does not match a path that holds `.example.com/`. Hosts are compared
    in lower case and without a final dot; the default port may be left out.

    The URL has no user and password: they stand before the host and could look like one. Without
    patterns nothing is restricted; with none in the list nothing is allowed.
    """
    if patterns is None:
        return True
    scheme = url.partition("://")[0].lower()
    default_port = f":{PORTS.get(scheme, '')}"
    parts = _split_url(url, default_port)
    for pattern in patterns:
        globs = _split_url(pattern, default_port)
        if all(matches_glob(glob, part) for part, glob in zip(parts, globs, strict=True)):
            return True
    return False


class UrlParts(NamedTuple):
    """A URL, or a pattern of some, in normal form."""

    scheme: str
    authority: str
    path: str


_URL = re.compile(
    r"(?:(?P<scheme>[^/?#]*?)://)?(?P<host>[^/?#]*?)\.?(?P<port>:[\d*]*)?(?P<path>[/?#].*)?",
    re.DOTALL,
)


def _split_url(url: str, default_port: str) -> UrlParts:
    match = _URL.fullmatch(url)
    if match is None:  # pragma: no cover - the expression takes any text
        return UrlParts("", "", "")
    scheme = (match["scheme"] or "*").lower()
    host, port, path = match["host"].lower(), match["port"] or "", match["path"] or ""
    if not path and f"{host}{port}".endswith("*"):  # `https://*`: the star covers the path too
        path = "*"
    if not path.startswith(("/", "*")):
        path = f"/{path}"
    if not port and not host.endswith("*"):
        port = default_port
    return UrlParts(scheme, f"{host}{port}", path)
