"""Handlers that are Web services: the event is posted to a URL, the body of the answer is a reply.

Claude Code, hooks reference, "HTTP hook fields". What may be requested is in `network`. No message
holds the value of a header, or the password or query of a URL: they may be tokens.
"""

from __future__ import annotations

import base64
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import anyio
import httpx

from anyhook import __version__
from anyhook.agents.output import decode_text, event_tools, report_unused
from anyhook.agents.spec import OutputAction
from anyhook.handlers.network import (
    PORTS,
    SERVERS_HEADER,
    find_host_problem,
    is_allowed_url,
    is_loopback,
    normalize_host,
    resolve_host,
)
from anyhook.handlers.results import (
    failed_result,
    payload_notes,
    timed_out_result,
    truncation_notes,
)
from anyhook.model.answers import Answer, Outcome
from anyhook.model.decisions import HandlerResult, Status
from anyhook.model.json import parse_json, trim
from anyhook.model.record import replace
from anyhook.processes.result import REPLY_LIMIT, KeptOutput

if TYPE_CHECKING:
    import ssl

    from anyhook.handlers.context import HookContext
    from anyhook.model.definitions import HandlerSpec

CONNECT_TIMEOUT = 3.0
"""Seconds that a connection may take while the host has another address to try."""
_OWN_HEADERS = {
    "content-type": "application/json",
    "accept-encoding": "identity",
    "user-agent": f"anyhook/{__version__}",
}
_TRACE_HEADERS = {"TRACEPARENT": "traceparent", "TRACESTATE": "tracestate"}
"""Variable of a command to the header of a request that names the same trace."""
_PROTECTED_HEADERS = frozenset(
    "host content-type content-length transfer-encoding accept-encoding connection keep-alive "
    f"upgrade te trailer expect proxy-connection proxy-authorization {SERVERS_HEADER}".split()
)
"""A hook that set these headers could address another host, or pass one request off as two."""
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))", re.ASCII)
_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_ENCODED_DOT = re.compile("%2e", re.IGNORECASE)
_ERRORS = {
    "ConnectError": "cannot be reached",
    "ConnectTimeout": "cannot be reached in time",
    "ReadError": "broke the connection off",
    "WriteError": "broke the connection off",
    "RemoteProtocolError": "does not answer in HTTP",
    "LocalProtocolError": "cannot be asked: a header is malformed",
}
"""Name of an error to its meaning. Its own text may hold a header."""


@dataclass(frozen=True, slots=True)
class _Headers:
    """The headers of a request."""

    raw: list[tuple[bytes, bytes]]
    refused: tuple[str, ...]
    """Variables that they may not hold, and that are empty therefore."""


@dataclass(frozen=True, slots=True)
class _Reply:
    """An answer."""

    status: int
    text: str
    """The body up to the limit."""
    truncated: bool
    is_json: bool
    """Whether its content type is JSON."""


async def run_http(context: HookContext, handler: HandlerSpec) -> HandlerResult:
    """Post the event to a URL, and decode the answer like the output of a command that succeeded.

    A status code never denies; without a reply that can be parsed the handler has failed, which
    counts only where the event or `onFailure` says so.
    """
    started = time.perf_counter()
    try:
        # An encoded dot is decoded: it would hide `..` from the patterns.
        url = httpx.URL(_ENCODED_DOT.sub(".", str(handler.options["url"])))
    except (httpx.InvalidURL, UnicodeError):
        url = None
    named_handler = replace(handler, name=handler.name or _show(url) or handler.kind)
    try:
        with anyio.move_on_after(handler.timeout) as scope:
            result = await _request(context, named_handler, url, started)
    except Exception as error:  # noqa: BLE001 - its text may hold a secret
        name = type(error).__name__
        meaning = _ERRORS.get(name, f"cannot be asked: {name}")
        # The text of this error is the system's: it says why the connection failed.
        if isinstance(error, httpx.ConnectError) and str(error):
            meaning += f" ({error})"
        result = _fail(context, named_handler, f"{_show(url)} {meaning}", started=started)
    if scope.cancelled_caught:
        result = timed_out_result(context, named_handler, started=started)
    return replace(result, handler=handler)


async def _request(
    context: HookContext, handler: HandlerSpec, url: httpx.URL | None, started: float
) -> HandlerResult:
    if url is None or url.scheme not in PORTS or not url.host:
        error = "its URL is not one of http:// or https:// with a host"
        return _fail(context, handler, error, code="url-refused")
    services, web = context.services, context.agent.settings.web
    allowed_urls = ".".join(web.allowed_urls) if web else "the settings"
    patterns = services.url_patterns.get(handler.layer)
    if not is_allowed_url(str(url.copy_with(userinfo=b"", fragment=None)), patterns):
        error = f"{_show(url)} may not be asked: no pattern of {allowed_urls} matches it"
        return _fail(context, handler, error, code="url-refused")
    try:
        addresses = await resolve_host(url.raw_host.decode("ascii"), url.port or PORTS[url.scheme])
    except OSError:
        return _fail(context, handler, f"there is no host {url.host!r}", started=started)
    problem = find_host_problem(url.raw_host.decode("ascii"), addresses, services.private_hosts)
    # The user may allow requests to this machine.
    variable = web.loopback_variable if web else ""
    is_allowed_here = variable and context.host_environ.get(variable) == "1"
    may_stay_here = is_allowed_here and all(map(is_loopback, addresses))
    if problem is not None and not may_stay_here:
        remedy = f"name the host in private_hosts or, as a user, in {allowed_urls}"
        error = f"{_show(url)} {problem}; to allow it, {remedy}"
        return _fail(context, handler, error, code="url-refused")
    headers = _make_headers(context, handler, url)
    reply = await _post_to_any(context, url, addresses, headers)
    return _make_result(context, handler, reply, started, headers.refused)


def _show(url: httpx.URL | None) -> str:
    if url is None or not url.host:
        return ""
    return f"{url.scheme}://{url.netloc.decode('ascii')}{url.path}"


# -- the request


def _make_headers(context: HookContext, handler: HandlerSpec, url: httpx.URL) -> _Headers:
    allowed = set(handler.options.get("allowed_variables", ()))
    layer_limit = context.services.header_variables.get(handler.layer)
    if layer_limit is not None:
        allowed &= layer_limit
    headers = {"host": url.netloc.decode("ascii"), **_OWN_HEADERS}
    if url.userinfo:
        pair = base64.b64encode(f"{url.username}:{url.password}".encode())
        headers["authorization"] = f"Basic {pair.decode('ascii')}"
    if context.servers:
        headers[SERVERS_HEADER] = ",".join(context.servers)
    for variable, header in _TRACE_HEADERS.items():
        if variable in context.session_variables:
            headers[header] = _CONTROLS.sub("", context.session_variables[variable])
    refused: list[str] = []

    def resolve_variable(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if name in allowed:
            return context.host_environ.get(name, "")
        refused.append(name)
        return ""

    for header, text in handler.options.get("headers", {}).items():
        name = header.strip().lower()
        if name not in _PROTECTED_HEADERS:
            # Line breaks in variables must not start another header.
            value = _CONTROLS.sub("", _VARIABLE.sub(resolve_variable, text))
            headers[name] = value.strip(" \t")
    raw = [(_encode(name), _encode(value)) for name, value in headers.items()]
    return _Headers(raw, tuple(dict.fromkeys(refused)))


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "replace")


async def _post_to_any(
    context: HookContext, url: httpx.URL, addresses: tuple[str, ...], headers: _Headers
) -> _Reply:
    """Post to the first address that takes the connection."""
    *others, last = addresses
    for address in others:
        with suppress(httpx.ConnectError, httpx.ConnectTimeout):
            return await _post(context, url, address, headers, CONNECT_TIMEOUT)
    return await _post(context, url, last, headers, None)


async def _post(
    context: HookContext,
    url: httpx.URL,
    address: str,
    headers: _Headers,
    connect_timeout: float | None,
) -> _Reply:
    """Post to one address: no proxy, no redirect, no cookie; the certificate is the host's.

    The transport is used without a client, which would log the whole URL.
    """
    request = httpx.Request(
        "POST",
        url.copy_with(host=address, userinfo=b"", fragment=None),
        headers=headers.raw,
        content=context.payload,
        extensions={
            "timeout": httpx.Timeout(None, connect=connect_timeout).as_dict(),
            "sni_hostname": normalize_host(url.raw_host.decode("ascii")),
        },
    )
    tls = _make_tls_context(context.host_environ.get("SSL_CERT_FILE"))
    async with httpx.AsyncHTTPTransport(verify=tls, trust_env=False) as transport:
        response = await transport.handle_async_request(request)
        # Read as it is sent: a compressed body could be a thousand times as long.
        body = KeptOutput(context.output_limit, REPLY_LIMIT)
        try:
            # Ended by a cancellation: the library does not close an iterator that is left.
            with anyio.CancelScope() as scope:
                async for chunk in response.aiter_raw():
                    body.add(chunk)
                    if body.truncated:
                        scope.cancel()
        finally:
            await response.aclose()
    content_type = response.headers.get("content-type", "")
    is_json = content_type.partition(";")[0].strip().lower() == "application/json"
    return _Reply(response.status_code, body.text(), body.truncated, is_json)


@lru_cache(maxsize=4)
def _make_tls_context(certificates: str | None) -> ssl.SSLContext:
    """Load the certificates, which takes longer than most requests."""
    import ssl

    if certificates:
        return ssl.create_default_context(cafile=certificates)
    return httpx.create_ssl_context(trust_env=False)


# -- the result


def _make_result(
    context: HookContext,
    handler: HandlerSpec,
    reply: _Reply,
    started: float,
    refused_variables: tuple[str, ...],
) -> HandlerResult:
    notes = payload_notes(context, handler) + truncation_notes(context, handler, reply.truncated)
    is_text = context.rules.text_bodies == "message" and not reply.is_json
    problem = _find_problem(context, reply, refused_variables, is_text=is_text)
    if problem is not None:
        result = _fail(context, handler, problem, status=Status.WARNED, started=started)
        return replace(
            result,
            stdout=reply.text,
            truncated=reply.truncated,
            diagnostics=(*notes, *result.diagnostics),
        )
    if is_text and trim(reply.text):
        # A body that is not sent as JSON is a message to the user.
        ignored = report_unused(context.agent, context.rules, context.spec, handler, reply.text)
        return HandlerResult(
            handler,
            Status.RAN,
            Answer(system_message=trim(reply.text)),
            started=started - context.epoch,
            duration=time.perf_counter() - started,
            stdout=reply.text,
            diagnostics=(*notes, *ignored),
        )
    tools = event_tools(context.spec, context.event)
    output = decode_text(
        context.agent, context.rules, context.spec, handler, reply.text, tools=tools
    )
    return HandlerResult(
        handler,
        output.status,
        output.answer,
        started=started - context.epoch,
        duration=time.perf_counter() - started,
        stdout=reply.text,
        truncated=reply.truncated,
        diagnostics=(*notes, *output.diagnostics),
        failed=output.failed,
        reply=output.reply,
    )


def _find_problem(
    context: HookContext, reply: _Reply, refused_variables: tuple[str, ...], *, is_text: bool
) -> str | None:
    """Return what is wrong with an answer; an empty body and a JSON object are right."""
    if not 200 <= reply.status < 300:
        hint = ""
        if refused_variables:
            names = ", ".join(f"${name}" for name in refused_variables)
            hint = f"; {names} in its headers is empty, because it is not allowed"
        elif 300 <= reply.status < 400:
            hint = "; redirects are not followed"
        return f"answered with status {reply.status}{hint}"
    if reply.truncated:
        return "answered with a reply that is too long to be read"
    if context.rules.text_bodies == "ignored":
        return None
    text = trim(reply.text)
    try:
        is_valid = is_text or not text or isinstance(parse_json(text), dict)
    except ValueError:
        is_valid = False
    return None if is_valid else "answered with something that is not a JSON object"


def _fail(
    context: HookContext,
    handler: HandlerSpec,
    error: str,
    *,
    code: str | None = None,
    status: Status = Status.FAILED,
    started: float | None = None,
) -> HandlerResult:
    """Make a failed result, which denies where every failed command does (WorktreeCreate)."""
    result = failed_result(context, handler, error, code=code, status=status, started=started)
    exit_rule = context.rules.exit_rules_for(context.spec.canonical).rule_for(1)
    if exit_rule.empty is not OutputAction.BLOCK:
        return result
    reason = f"hook {handler.label!r} failed: {error}"
    denial = result.answer.replace(outcome=Outcome.DENY, approve=False, reason=reason)
    return replace(result, answer=denial)
