"""Who may use the page: the user who has its first address, in a browser that was opened with it.

The page shows what agents did and switches hooks, and any page in a browser can send requests to
this machine. So every request must

- name this server in `Host`, which a foreign name that was pointed at this machine does not
  (DNS rebinding);
- not come from another page: `Origin` and `Sec-Fetch-Site` are those of this page or missing;
- carry the cookie, which only the first address sets. It is `HttpOnly` and `SameSite=Strict`;
- and, if it changes something, carry the token of the form that was sent with the page (CSRF).
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from starlette.datastructures import MutableHeaders, QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from anyhook.errors import HistoryError
from anyhook.files import read_user_file

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN = "token"  # noqa: S105 - the name of a parameter
SECRET_FILE = "ui-secret"  # noqa: S105 - the name of a file
MAX_SECRET_SIZE = 1024
NAMES = ("127.0.0.1", "localhost", "[::1]")
"""Names under which a browser reaches this machine."""
HTTP = 80
ENTRANCE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>anyhook</title>
<link rel="icon" href="/static/icon.svg">
<meta http-equiv="refresh" content="0;url={0}"><p><a href="{0}">Continue</a></p></html>
"""
"""The page of the first address, which leads to the others."""
OWN_SITES = ("same-origin", "none")
"""Values of `Sec-Fetch-Site` of requests of this page, and of the user's own ones."""
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Not `no-referrer`, with which a browser sends `Origin: null` with the page's own forms.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


@dataclass(frozen=True, slots=True)
class Access:
    """The secrets of a page."""

    token: str
    """In the first address; valid until the server ends."""
    secret: str
    """Kept in the user's data directory: a page stays open when the server is started again."""
    port: int
    """Port of the server."""

    @classmethod
    def load(cls, directory: Path, port: int) -> Access:
        """Return a new token and the secret that is kept in the directory of the history.

        Raises:
            HistoryError: If the secret cannot be kept.
        """
        path = directory / SECRET_FILE
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with contextlib.suppress(FileExistsError):
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(descriptor, "w", encoding="ascii") as file:
                    file.write(secrets.token_hex(32))
            secret = read_user_file(path, MAX_SECRET_SIZE).decode("ascii")
        except (OSError, UnicodeDecodeError) as error:
            raise HistoryError(f"{path} cannot be read or written; remove it: {error}") from error
        return cls(secrets.token_urlsafe(24), secret, port)

    @property
    def url(self) -> str:
        """The first address, with the token."""
        return f"http://127.0.0.1:{self.port}/?{urlencode({TOKEN: self.token})}"

    @property
    def hosts(self) -> frozenset[str]:
        """Valid values of `Host`."""
        names = {f"{name}:{self.port}" for name in NAMES}
        if self.port == HTTP:
            names.update(NAMES)
        return frozenset(names)

    @property
    def cookie(self) -> str:
        """Name of the cookie: browsers do not keep those of several ports apart."""
        return f"anyhook-{self.port}"

    @property
    def cookie_value(self) -> str:
        """Value of the cookie."""
        return self._derive("cookie")

    @property
    def form_token(self) -> str:
        """Token of the forms of the page."""
        return self._derive("form")

    def _derive(self, purpose: str) -> str:
        text = f"{purpose} {self.port}".encode()
        return hmac.new(self.secret.encode(), text, hashlib.sha256).hexdigest()


def is_equal(text: str, expected: str) -> bool:
    """Compare a secret in a time that does not depend on it."""
    return hmac.compare_digest(text.encode("utf-8", "replace"), expected.encode())


class Gate:
    """Refuses the requests of others, and adds the headers that restrict the page."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = self._refusal(Request(scope)) or self._app

        async def send_restricted(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await answer(scope, receive, send_restricted)

    def _refusal(self, request: Request) -> Response | None:
        """Return why a request is refused, or the entrance; `None` if it may pass."""
        access = self._access
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in access.hosts:
            return _refuse("The Host header must name this server, as its address does.")
        origin = f"http://{hosts[0].lower()}"
        if request.headers.get("origin", origin).lower() != origin:
            return _refuse("Pages of other sites may not use this page.")
        if TOKEN in request.query_params and request.method == "GET":
            return self._open(request)
        site = request.headers.get("sec-fetch-site", OWN_SITES[0])
        if site not in OWN_SITES:
            return _refuse("Pages of other sites may not use this page.")
        cookie = request.cookies.get(access.cookie, "")
        if not is_equal(cookie, access.cookie_value):
            return _refuse(
                "This browser was not opened with the address that anyhook ui has printed. "
                "Open that one, with its token, or start anyhook ui again."
            )
        return None

    def _open(self, request: Request) -> Response:
        """Exchange the token of the first address for the cookie."""
        if not is_equal(request.query_params[TOKEN], self._access.token):
            return _refuse("The token is wrong. Open the address that anyhook ui has printed.")
        rest = [pair for pair in request.query_params.multi_items() if pair[0] != TOKEN]
        path = request.url.path + (f"?{QueryParams(rest)}" if rest else "")
        # Two slashes at the beginning would lead to another host.
        address = escape("/" + path.lstrip("/\\"))
        # Not a redirection: behind a link of another page, the browser would not send the cookie.
        response = HTMLResponse(ENTRANCE.format(address))
        response.set_cookie(
            self._access.cookie, self._access.cookie_value, httponly=True, samesite="strict"
        )
        return response


def _refuse(reason: str) -> Response:
    return PlainTextResponse(f"{reason}\n", 403)
