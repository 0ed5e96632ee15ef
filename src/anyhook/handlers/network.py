"""Who may be asked: addresses that are reachable for everybody, and URLs that the settings allow.

A hook's URL is written by strangers, and the program that asks it stands inside the user's
network. So a request goes to an address that was looked at first, and only there.
"""

from __future__ import annotations

import re
import socket
import time
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, TypeVar

import anyio

from anyhook.handlers.results import failed_result
from anyhook.handlers.function import is_cancelled_from_outside
from anyhook.handlers.threads import call_in_thread
from anyhook.model.decisions import Status
from anyhook.model.diagnostics import diagnose

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence

    from anyhook.handlers.context import HookContext
    from anyhook.model.decisions import HandlerResult
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.diagnostics import Diagnostic

T = TypeVar("T")

_NOT_PUBLIC = tuple(
    map(
        ip_network,
        "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 "
        "192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 "
        "224.0.0.0/4 240.0.0.0/4 168.63.129.16/32 "
        "2001::/23 2001:db8::/32 2002::/16 3fff::/20".split(),
    )
)
"""The special-purpose registries of IANA, multicast, what is reserved, and one more: 168.63.129.16
answers only machines of Azure, about themselves. A table, because `is_global` differs between
releases of Python. 6to4 (2002::/16) and Teredo (in 2001::/23) hide an IPv4 address and are gone
from the Internet."""
_UNICAST = ip_network("2000::/3")
"""The only part of IPv6 that is given out; all else is local, multicast or reserved."""
_HOLDS_IPV4 = (ip_network("::ffff:0:0/96"), ip_network("64:ff9b::/96"))
"""IPv6 addresses that lead to the IPv4 address in their last 32 bits: mapped, and NAT64."""
_LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
_DOTS = str.maketrans(dict.fromkeys("\u3002\uff0e\uff61", "."))
"""What stands for a dot in the names of hosts (RFC 3490, 3.1)."""
_NUMBERS = re.compile(r"[0-9][0-9a-fx]*(?:\.[0-9][0-9a-fx]*){0,3}")
THROUGH = "anyhook-through"
"""Header that names the servers which an event came through, so that none is asked twice."""
LOCALHOST = "localhost"
LOCAL_ADDRESSES = ("127.0.0.1", "::1")
PORTS = {"http": 80, "https": 443}
"""Scheme to its usual port; other schemes are not asked."""


def is_public(address: str) -> bool:
    """Tell whether an address is reachable for everybody, so that asking it reveals nothing.

    Args:
        address: An IPv4 or IPv6 address, as `socket.getaddrinfo` writes it.
    """
    found = _parsed(address)
    if isinstance(found, IPv6Address):
        if any(found in network for network in _HOLDS_IPV4):
            found = IPv4Address(int(found) & 0xFFFFFFFF)
        elif found not in _UNICAST:
            return False
    return found is not None and not any(found in network for network in _NOT_PUBLIC)


def is_loopback(address: str) -> bool:
    """Tell whether a host is written as a loopback address, or an address is one."""
    found = _parsed(address)
    return found is not None and any(found in network for network in _LOOPBACK)


def _parsed(address: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(address.partition("%")[0])
    except ValueError:
        return None


def plain_host(host: str) -> str:
    """Write a host as it is compared: lower case, without the dot of a complete name."""
    return host.strip("[]").translate(_DOTS).rstrip(".").lower()


def address_of(host: str) -> str | None:
    """Return the address that a host stands for without a look-up; `None` if it is a name.

    Args:
        host: A host as `plain_host` writes it, also in the older forms of IPv4 that
            `socket.getaddrinfo` takes: `127.1`, `0x7f000001`, `017700000001`, `2130706433`.
    """
    found = _parsed(host)
    if found is not None:
        mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
        return str(mapped or found)
    if not _NUMBERS.fullmatch(host):
        return None
    try:
        return socket.inet_ntoa(socket.inet_aton(host))
    except OSError:
        return None


def is_own_address(address: str) -> bool:
    """Return whether an address is one of this machine: only those can be bound."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True


def why_not(host: str, addresses: Sequence[str], private_hosts: Collection[str]) -> str | None:
    """Tell why a host may not be asked.

    `localhost` and loopback addresses written as such are the user's own services, and nobody
    writes them by accident. Another name that leads there, or into a private network, is refused:
    who owns a name can point it anywhere, between one question and the next, too.

    Args:
        host: The host in the URL.
        addresses: All that it leads to.
        private_hosts: Hosts that may be asked wherever they are.

    Returns:
        Why, for people; `None` if it may be asked at every one of these addresses.
    """
    name = plain_host(host)
    if name in map(plain_host, private_hosts):
        return None
    own = name == LOCALHOST or is_loopback(name)
    bad = [a for a in addresses if not (is_loopback(a) if own else is_public(a))]
    return f"leads to {bad[0]}, which is no public address" if bad else None


async def resolve(host: str, port: int) -> tuple[str, ...]:
    """Look a host up, once: whoever checks the answer must also use it.

    Not in the pool of the async library: a server of names that hangs would keep the program from
    ending (see `call_in_thread`).

    Args:
        host: A name in ASCII, or an address.
        port: The port.

    Returns:
        Its addresses, as text, the preferred one first. `localhost` is known (RFC 6761).

    Raises:
        OSError: If there are none.
    """
    if plain_host(host) == LOCALHOST:
        return LOCAL_ADDRESSES
    found = await call_in_thread(
        socket.getaddrinfo, host.encode("ascii"), port, socket.AF_UNSPEC, socket.SOCK_STREAM
    )
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))


# -- patterns of URLs


def is_allowed(url: str, patterns: Iterable[str] | None) -> bool:
    """Tell whether the settings allow a URL (Claude Code: `allowedHttpHookUrls`).

    `*` stands for any text; in the scheme and the host it ends where they end, so that
    `https://*.example.com/*` is not met by a path that holds `.example.com/`. Hosts are compared
    in lower case and without a final dot; the port of the scheme may be left out.

    Args:
        url: A URL without user and password: they stand before the host and could look like one.
        patterns: The patterns; `None` if nothing is restricted, empty if nothing is allowed.
    """
    if patterns is None:
        return True
    port = f":{PORTS.get(url.partition('://')[0].lower(), '')}"
    parts = _parts(url, port)
    return any(all(map(_meets, parts, _parts(pattern, port))) for pattern in patterns)


_URL = re.compile(
    r"(?:(?P<scheme>[^/?#]*?)://)?(?P<host>[^/?#]*?)\.?(?P<port>:[\d*]*)?(?P<path>[/?#].*)?",
    re.DOTALL,
)


def _parts(url: str, usual_port: str) -> tuple[str, str, str]:
    """Split a URL, or a pattern of some, into scheme, authority and the rest, in plain form."""
    match = _URL.fullmatch(url)
    if match is None:  # pragma: no cover - the expression takes any text
        return "", "", ""
    scheme, host = (match[1] or "*").lower(), match["host"].lower()
    port, path = match["port"] or "", match["path"] or ""
    if not path and f"{host}{port}".endswith("*"):  # `https://*`: the star is for all that follows
        path = "*"
    if not port and not host.endswith("*"):
        port = usual_port
    return scheme, f"{host}{port}", path if path[:1] in ("/", "*") else f"/{path}"


def _meets(text: str, glob: str) -> bool:
    """Match without a regular expression, which a pattern of many stars would keep busy."""
    first, *others = glob.split("*")
    if not others:
        return text == first
    if not text.startswith(first):
        return False
    at, last = len(first), others.pop()
    for piece in others:
        at = text.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return text.endswith(last) and len(text) - len(last) >= at


# -- what handlers have in common that ask others


async def ask_service(
    context: HookContext,
    handler: HandlerSpec,
    kind: type[T],
    who: str,
    ask: Callable[[], Awaitable[T]],
) -> T | HandlerResult:
    """Ask something that the host has set up, for as long as the handler may take.

    Args:
        context: The event.
        handler: Which handler.
        kind: What it has to return.
        who: What is asked, for people.
        ask: Asks it.

    Returns:
        What it said, or the result of a handler whose service failed or was too slow.
    """
    started = time.perf_counter()
    why = f"did not answer within the timeout of {handler.timeout:g} s"
    status = Status.TIMED_OUT
    try:
        with anyio.move_on_after(handler.timeout):
            said = await ask()
            if isinstance(said, kind):
                return said
            why, status = f"returned {type(said).__name__}, not {kind.__name__}", Status.FAILED
    except Exception as error:  # noqa: BLE001 - one handler's failure stays its own
        why, status = f"failed: {type(error).__name__}: {error}", Status.FAILED
    except anyio.get_cancelled_exc_class():
        if is_cancelled_from_outside():
            raise
        why, status = "cancelled itself", Status.FAILED
    notes = payload_notes(context, handler)
    return failed(context, handler, f"{who} {why}", status=status, started=started, notes=notes)


def report(code: str, context: HookContext, handler: HandlerSpec, error: str) -> HandlerResult:
    """Make the result of a handler that was not run, because it may not be or cannot be.

    Args:
        code: What to tell it as.
        context: The event.
        handler: Which handler.
        error: Why, for people.
    """
    result = failed(context, handler, error)
    return replace(result, diagnostics=(_about(code, context, handler, error),))


def payload_notes(context: HookContext, handler: HandlerSpec) -> tuple[Diagnostic, ...]:
    """Tell of an event that had to be repaired before anybody could be asked about it."""
    if context.payload_problem is None:
        return ()
    why = f"the event is no plain JSON ({context.payload_problem}); what JSON does not have"
    return (_about("payload-repaired", context, handler, f"{why} was left out"),)


def cut_notes(context: HookContext, handler: HandlerSpec, cut: bool) -> tuple[Diagnostic, ...]:
    """Tell of an answer that was too long."""
    return (_about("output-truncated", context, handler, "the answer was too long"),) if cut else ()


def _about(code: str, context: HookContext, handler: HandlerSpec, message: str) -> Diagnostic:
    text = f"{handler.label!r} on {context.spec.wire}: {message}"
    return diagnose(code, text, handler.place, handler=handler.label)
