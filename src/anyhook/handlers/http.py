"""Handlers that are services on the Web: the event is posted to a URL, the answer is a reply.

Claude Code, hooks reference, "HTTP hook fields". What may be asked is in `network`. Nothing that
is told to anybody holds a header's value, or a URL's password or query: tokens stand there.
"""

from __future__ import annotations

import base64
import re
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import anyio
import httpx

from anyhook import __version__
from anyhook.agents.output import decode_text, event_tools
from anyhook.agents.spec import OutputAction
from anyhook.handlers.base import failed
from anyhook.handlers.network import (
    PORTS,
    THROUGH,
    cut_notes,
    is_allowed,
    payload_notes,
    plain_host,
    report,
    resolve,
    why_not,
)
from anyhook.model.answers import Outcome
from anyhook.model.decisions import HandlerResult, Status
from anyhook.model.json import parse_json, trim
from anyhook.processes.process import REPLY_LIMIT, KeptOutput

if TYPE_CHECKING:
    import ssl
    from collections.abc import Collection, Mapping

    from anyhook.handlers.base import HookContext
    from anyhook.model.definitions import HandlerSpec

NEXT_ADDRESS = 3.0
"""Seconds that a connection may take while the host has another address to try."""
_OWN = {
    "content-type": "application/json",
    "accept-encoding": "identity",
    "user-agent": f"anyhook/{__version__}",
}
_NOT_THEIRS = frozenset(
    "host content-type content-length transfer-encoding accept-encoding connection keep-alive "
    f"upgrade te trailer expect proxy-connection proxy-authorization {THROUGH}".split()
)
"""Headers that make the request what it is; a hook that set them could ask another host, or pass
one request off as two."""
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))", re.ASCII)
_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_ENCODED_DOT = re.compile("%2e", re.IGNORECASE)
_WORDS = {
    "ConnectError": "cannot be reached",
    "ConnectTimeout": "cannot be reached in time",
    "ReadError": "broke the connection off",
    "WriteError": "broke the connection off",
    "RemoteProtocolError": "does not answer in HTTP",
    "LocalProtocolError": "cannot be asked: a header is malformed",
}
"""Errors by name to what they mean. Their own texts may hold a header."""


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    text: str
    cut: bool


async def run_http(context: HookContext, handler: HandlerSpec) -> HandlerResult:
    """Post the event to a URL, and read the answer like the output of a command that succeeded.

    A status code never denies; without a reply that can be read the handler has failed, which
    counts only where the event or `onFailure` says so.
    """
    started = time.perf_counter()
    url = _read_url(str(handler.options["url"]))
    shown = replace(handler, name=handler.name or _shown(url) or handler.kind)
    try:
        with anyio.move_on_after(handler.timeout) as scope:
            result = await _ask(context, shown, url, started)
    except Exception as error:  # noqa: BLE001 - its text may hold what nobody must read
        result = _failed(context, shown, f"{_shown(url)} {_named(error)}", started)
    if scope.cancelled_caught:
        why = f"ran into its timeout of {handler.timeout:g} s"
        result = failed(context, shown, why, status=Status.TIMED_OUT, started=started)
    return replace(result, handler=handler)


async def _ask(
    context: HookContext, handler: HandlerSpec, url: httpx.URL | None, started: float
) -> HandlerResult:
    services, shown = context.services, _shown(url)
    if url is None or url.scheme not in PORTS or not url.host:
        return _report(context, handler, "its URL is not one of http:// or https:// with a host")
    if not is_allowed(
        str(url.copy_with(userinfo=b"", fragment=None)), services.url_patterns.get(handler.layer)
    ):
        key = _name_of_list(context)
        return _report(context, handler, f"{shown} may not be asked: no pattern of {key} meets it")
    try:
        host = url.raw_host.decode("ascii")
        addresses = await resolve(host, url.port or PORTS[url.scheme])
    except OSError:
        return _failed(context, handler, f"there is no host {url.host!r}", started)
    problem = why_not(host, addresses, services.private_hosts)
    if problem is not None:
        known = f"private_hosts or, as a user, in {_name_of_list(context)}"
        return _report(
            context, handler, f"{shown} {problem}; to allow it, name the host in {known}"
        )
    headers, unset = _headers(context, handler, url)
    reply = await _post_to_any(context, url, addresses, headers)
    return _read(context, handler, reply, started, unset)


def _read_url(text: str) -> httpx.URL | None:
    """Read a URL in the form that is matched and asked: an encoded dot climbs up paths, too."""
    try:
        return httpx.URL(_ENCODED_DOT.sub(".", text))
    except (httpx.InvalidURL, UnicodeError):
        return None


def _shown(url: httpx.URL | None) -> str:
    if url is None or not url.host:
        return ""
    return f"{url.scheme}://{url.netloc.decode('ascii')}{url.path}"


def _name_of_list(context: HookContext) -> str:
    web = context.agent.web
    return ".".join(web.allowed_urls) if web else "the settings"


# -- the request


def _headers(
    context: HookContext, handler: HandlerSpec, url: httpx.URL
) -> tuple[list[tuple[bytes, bytes]], tuple[str, ...]]:
    """Make the headers.

    Returns:
        The headers, and the names of variables that they may not hold, and so are empty.
    """
    allowed = set(handler.options.get("allowed_variables", ()))
    limit = context.services.header_variables.get(handler.layer)
    if limit is not None:
        allowed &= limit
    unset: dict[str, None] = {}
    headers = {"host": url.netloc.decode("ascii"), **_OWN}
    if url.userinfo:
        pair = base64.b64encode(f"{url.username}:{url.password}".encode())
        headers["authorization"] = f"Basic {pair.decode('ascii')}"
    if context.servers:
        headers[THROUGH] = ",".join(context.servers)
    for given, text in handler.options.get("headers", {}).items():
        name = given.strip().lower()
        if name not in _NOT_THEIRS:
            headers[name] = _fill(text, context.host_environ, allowed, unset)
    return [(_raw(name), _raw(value)) for name, value in headers.items()], tuple(unset)


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _fill(
    text: str, environ: Mapping[str, str], allowed: Collection[str], unset: dict[str, None]
) -> str:
    """Put variables into a header's value, which stays one header whatever they hold."""

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if name in allowed:
            return environ.get(name, "")
        unset[name] = None
        return ""

    return _CONTROLS.sub("", _VARIABLE.sub(value, text)).strip(" \t")


async def _post_to_any(
    context: HookContext,
    url: httpx.URL,
    addresses: tuple[str, ...],
    headers: list[tuple[bytes, bytes]],
) -> _Reply:
    """Post to the first address that takes the connection."""
    *others, last = addresses
    for address in others:
        with suppress(httpx.ConnectError, httpx.ConnectTimeout):
            return await _post(context, url, address, headers, NEXT_ADDRESS)
    return await _post(context, url, last, headers, None)


async def _post(
    context: HookContext,
    url: httpx.URL,
    address: str,
    headers: list[tuple[bytes, bytes]],
    patience: float | None,
) -> _Reply:
    """Post to one address: no proxy, no redirect, no cookie; the certificate is the host's.

    The transport is used without a client, which would log the whole URL.
    """
    extensions: dict[str, Any] = {
        "timeout": httpx.Timeout(None, connect=patience).as_dict(),
        "sni_hostname": plain_host(url.raw_host.decode("ascii")),
    }
    request = httpx.Request(
        "POST",
        url.copy_with(host=address, userinfo=b"", fragment=None),
        headers=headers,
        content=context.payload,
        extensions=extensions,
    )
    tls = _tls(context.host_environ.get("SSL_CERT_FILE"))
    async with httpx.AsyncHTTPTransport(verify=tls, trust_env=False) as transport:
        response = await transport.handle_async_request(request)
        try:
            body = await _read_body(response, context.output_limit)
        finally:
            await response.aclose()
    return _Reply(response.status_code, body.text(), body.truncated)


@lru_cache(maxsize=4)
def _tls(certificates: str | None) -> ssl.SSLContext:
    """Make what checks certificates; reading them takes longer than most requests."""
    import ssl

    if certificates:
        return ssl.create_default_context(cafile=certificates)
    return httpx.create_ssl_context(trust_env=False)


async def _read_body(response: httpx.Response, limit: int) -> KeptOutput:
    """Read a body as it is sent; a compressed one could be a thousand times as long.

    A JSON reply may be longer than the limit for other output; see `REPLY_LIMIT`.

    Reading ends by a cancellation, because the library does not close iterators that are left.
    """
    kept = KeptOutput(limit, REPLY_LIMIT)
    with anyio.CancelScope() as scope:
        async for chunk in response.aiter_raw():
            kept.add(chunk)
            if kept.truncated:
                scope.cancel()
    return kept


# -- the answer


def _read(
    context: HookContext,
    handler: HandlerSpec,
    reply: _Reply,
    started: float,
    unset: tuple[str, ...],
) -> HandlerResult:
    notes = (*payload_notes(context, handler), *cut_notes(context, handler, reply.cut))
    duration = time.perf_counter() - started
    problem = _problem(reply, unset)
    if problem is not None:
        result = _failed(context, handler, problem, started, Status.WARNED)
        found = (*notes, *result.diagnostics)
        return replace(result, stdout=reply.text, truncated=reply.cut, diagnostics=found)
    tools = event_tools(context.spec, context.given)
    said = decode_text(context.agent, context.rules, context.spec, handler, reply.text, tools=tools)
    return HandlerResult(
        handler,
        said.status,
        said.answer,
        started=started - context.epoch,
        duration=duration,
        stdout=reply.text,
        truncated=reply.cut,
        diagnostics=(*notes, *said.diagnostics),
        failed=said.failed,
    )


def _problem(reply: _Reply, unset: tuple[str, ...]) -> str | None:
    """Tell what is wrong with an answer; silence and a JSON object are right."""
    if not 200 <= reply.status < 300:
        hint = "; redirects are not followed" if 300 <= reply.status < 400 else ""
        if unset:
            hint = f"; ${', $'.join(unset)} in its headers is empty, because it is not allowed"
        return f"answered with status {reply.status}{hint}"
    text = trim(reply.text)
    if reply.cut:
        return "answered with a reply that is too long to be read"
    try:
        is_right = not text or isinstance(parse_json(text), dict)
    except ValueError:
        is_right = False
    return None if is_right else "answered with something that is no JSON object"


def _report(context: HookContext, handler: HandlerSpec, error: str) -> HandlerResult:
    return _closed(context, handler, report("url-refused", context, handler, error))


def _failed(
    context: HookContext,
    handler: HandlerSpec,
    error: str,
    started: float,
    status: Status = Status.FAILED,
) -> HandlerResult:
    result = failed(context, handler, error, status=status, started=started)
    return _closed(context, handler, result)


def _closed(context: HookContext, handler: HandlerSpec, result: HandlerResult) -> HandlerResult:
    """Deny where every command that fails does (Claude Code: WorktreeCreate)."""
    row = context.rules.exit_rules_for(context.spec.canonical).rule_for(1)
    if row.empty is not OutputAction.BLOCK:
        return result
    reason = f"hook {handler.label!r} failed: {result.error}"
    denied = result.answer.replace(outcome=Outcome.DENY, approve=False, reason=reason)
    return replace(result, answer=denied)


def _named(error: Exception) -> str:
    """Say what went wrong, in words that hold no secret."""
    name = type(error).__name__
    said = _WORDS.get(name, f"cannot be asked: {name}")
    return f"{said} ({error})" if isinstance(error, httpx.ConnectError) and str(error) else said
