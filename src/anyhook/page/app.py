"""The application of `anyhook ui`: its addresses, the live view, and errors.

starlette and jinja2, as datasette does: pages that the server renders, with a few lines of plain
JavaScript, need no build, work without a network, and are the same in a saved report.
"""

from __future__ import annotations

import sqlite3
import threading
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sse_starlette import EventSourceResponse
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.routing import Route

from anyhook.errors import AnyhookError, UsageError
from anyhook.history.denials import denials_to_look_at
from anyhook.history.filters import Filter
from anyhook.history.search import search
from anyhook.page.access import Access, Gate
from anyhook.page.charts import import_pygal
from anyhook.page.hook_views import HookViews
from anyhook.page.live import RECENT_MINUTES, ROWS, Live, recent_sessions
from anyhook.page.page import Page, number_of
from anyhook.page.past_views import BacktestViews, PastViews
from anyhook.page.render import asset, compile_templates, one_row_per_call

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from starlette.requests import Request


NOTABLE = 4
"""Denials that the first view shows."""
ASSETS = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}


def make_app(directory: Path, access: Access, project: Path) -> Starlette:
    """Make the application for the directory of the history, and the settings of a project."""
    page = Page(directory, access, project, Live(directory))
    live, past, hooks = LiveViews(page), PastViews(page), HookViews(page)
    backtests = BacktestViews(page)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        page.live.start()
        preparation = threading.Thread(target=prepare, name="anyhook-prepare", daemon=True)
        preparation.start()
        yield
        page.live.close()
        preparation.join()

    return Starlette(
        routes=[
            Route("/", live.show),
            Route("/live", live.stream),
            Route("/sessions", past.show_sessions),
            Route("/session", past.show_session),
            Route("/event/{number:int}", past.show_event),
            Route("/search", past.show_search),
            Route("/denials", past.show_denials),
            Route("/hooks", hooks.show_hooks),
            Route("/hook", hooks.show_hook),
            Route("/switch", hooks.switch, methods=["POST"]),
            Route("/problems", hooks.show_problems),
            Route("/backtests", backtests.show_all),
            Route("/backtests/{name}", backtests.show_one),
            Route("/compare", backtests.compare),
            Route("/static/{name}", send_asset),
        ],
        middleware=[Middleware(Gate, access=access)],
        exception_handlers={
            HTTPException: live.show_http_error,
            AnyhookError: live.show_error,
            sqlite3.Error: live.show_store_error,
        },
        lifespan=lifespan,
    )


def send_asset(request: Request) -> Response:
    """Send a style, a script or a picture of the page."""
    name = request.path_params["name"]
    if name not in ASSETS:
        raise HTTPException(404)
    # Its address holds a hash of its content.
    headers = {"Cache-Control": "private, max-age=31536000, immutable"}
    return Response(asset(name), media_type=ASSETS[name], headers=headers)


def prepare() -> None:
    """Do what would make the first views slow: import the plots and compile the templates."""
    compile_templates()
    import_pygal()


@dataclass(frozen=True, slots=True)
class LiveViews:
    """The first view, and errors."""

    page: Page

    def show(self, _request: Request) -> Response:
        """Show recent sessions, the latest events, and what to look at first."""
        with self.page.history() as history:
            events = one_row_per_call(search(history, Filter(), limit=ROWS))
            recent = recent_sessions(history)
            groups = denials_to_look_at(history)
        notable = [group for group in groups if group.signs][:NOTABLE]
        return self.page.show(
            "live.html",
            "/",
            events=events,
            recent=recent,
            recent_minutes=RECENT_MINUTES,
            notable=notable,
        )

    def stream(self, request: Request) -> Response:
        """Send what is new, in all sessions or in one."""
        parameters = request.query_params
        newest = number_of(request.headers.get("last-event-id") or parameters.get("after", ""))
        live = self.page.live
        if "id" not in parameters:
            return EventSourceResponse(live.updates(newest))
        updates = live.session_updates(parameters.get("agent", ""), parameters["id"], newest)
        return EventSourceResponse(updates)

    def show_http_error(self, _request: Request, error: Exception) -> Response:
        """Show that a request cannot be answered."""
        status = error.status_code if isinstance(error, HTTPException) else 500
        detail = error.detail if isinstance(error, HTTPException) else ""
        title = "There is no such page" if status == 404 else "This cannot be done"
        message = "The navigation leads to everything that is there." if status == 404 else detail
        return self.page.show("error.html", "", status, title=title, message=message)

    def show_store_error(self, _request: Request, error: Exception) -> Response:
        """Show that the history cannot be read."""
        message = f"{error}. If it is damaged, anyhook history says what to do."
        title = "The history cannot be read"
        return self.page.show("error.html", "", 500, title=title, message=message)

    def show_error(self, _request: Request, error: Exception) -> Response:
        """Show an error of the package, whose message is for users."""
        status = 404 if isinstance(error, UsageError) else 500
        text = str(error)
        message = text[:1].upper() + text[1:]
        return self.page.show("error.html", "", status, title="Not found", message=message)
