"""What every view uses: the history, the project, templates, and the forms of the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from anyhook import __version__
from anyhook.history.store import History
from anyhook.journal.lines import is_recording
from anyhook.page.access import Access, is_equal
from anyhook.page.render import PageLinks, render

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.requests import Request

    from anyhook.page.live import Live

VIEWS = (
    ("/", "Live"),
    ("/sessions", "Sessions"),
    ("/denials", "Denials"),
    ("/hooks", "Hooks"),
    ("/backtests", "Backtests"),
    ("/problems", "Problems"),
)
"""Path and name of the views in the navigation."""
PAGE = 100
"""Events or sessions of a list before a link leads to the next ones."""
MAX_FORM_SIZE = 64 * 1024
MAX_NUMBER_LENGTH = 15
"""Digits; SQLite holds no longer ones."""
LINKS = PageLinks()


@dataclass(frozen=True, slots=True)
class Page:
    """What every view uses."""

    directory: Path
    """Directory of the history."""
    access: Access
    project: Path
    """Directory of the project whose settings it shows and changes."""
    live: Live

    def history(self) -> History:
        """Open the history; to be closed by the caller."""
        return History.open(self.directory)

    def show(self, template: str, view: str, status: int = 200, **values: Any) -> Response:
        """Return what a template shows, as part of a view of the navigation."""
        text = render(
            template,
            LINKS,
            layout="page.html",
            views=VIEWS,
            view=view,
            version=__version__,
            project=str(self.project),
            form_token=self.access.form_token,
            is_recording=is_recording(str(self.directory)),
            **values,
        )
        # A lone surrogate of a payload was made visible; nothing else cannot be encoded.
        return HTMLResponse(text.encode("utf-8", "backslashreplace"), status)


async def read_form(request: Request, access: Access) -> dict[str, str]:
    """Return the fields of a form of the page.

    Raises:
        HTTPException: If it is none of this page.
    """
    if "origin" not in request.headers:  # every browser sends it with a form
        raise HTTPException(403, "The request does not come from this page.")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM_SIZE:
            raise HTTPException(413, "The form is too large.")
    fields = dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
    if not is_equal(fields.get("token", ""), access.form_token):
        raise HTTPException(403, "The form is out of date. Load the page again.")
    return fields


def number_of(text: str) -> int:
    """Return a number of an address; 0 for anything else."""
    is_number = text.isdecimal() and text.isascii() and len(text) <= MAX_NUMBER_LENGTH
    if not is_number:
        return 0
    return int(text)
