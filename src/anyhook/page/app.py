"""The application of `anyhook ui`: its addresses, the live view, and errors.

starlette and jinja2, as datasette does: pages that the server renders, with a few lines of plain
JavaScript, need no build, work without a network, and are the same in a saved report.
"""

from __future__ import annotations

import sqlite3
import threading
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

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
from anyhook.page import hook_views, past_views
from anyhook.page.access import Access, Gate
from anyhook.page.charts import import_pygal
from anyhook.page.live import RECENT_MINUTES, ROWS, Live, recent_sessions
from anyhook.page.page import Page, number_of
from anyhook.page.render import asset, compile_templates, one_row_per_call

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from starlette.requests import Request


NOTABLE = 4
"""Denials that the first view shows."""
ASSETS = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}


def make_app(directory: Path, access: Access, project: Path) -> Starlette:
    """Make the application for the directory of the history, and the settings of a project."""
    page = Page(directory, access, project, Live(directory))

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        page.live.start()
        preparation = threading.Thread(target=warm_up, name="anyhook-prepare", daemon=True)
        preparation.start()
        yield
        page.live.close()
        preparation.join()

    def view(path: str, show: Callable[..., Any], method: str = "GET") -> Route:
        return Route(path, partial(show, page), methods=[method])

    return Starlette(
        routes=[
            view("/", show_live),
            view("/live", stream),
            view("/sessions", past_views.show_sessions),
            view("/session", past_views.show_session),
            view("/event/{number:int}", past_views.show_event),
            view("/search", past_views.show_search),
            view("/denials", past_views.show_denials),
            view("/hooks", hook_views.show_hooks),
            view("/hook", hook_views.show_hook),
            view("/switch", hook_views.switch, "POST"),
            view("/problems", hook_views.show_problems),
            view("/backtests", past_views.show_backtests),
            view("/backtests/{name}", past_views.show_backtest),
            view("/compare", past_views.compare_backtests),
            Route("/static/{name}", send_asset),
        ],
        middleware=[Middleware(Gate, access=access)],
        exception_handlers={
            HTTPException: partial(show_http_error, page),
            AnyhookError: partial(show_error, page),
            sqlite3.Error: partial(show_store_error, page),
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


def warm_up() -> None:
    """Do what would make the first views slow: import the plots and compile the templates."""
    compile_templates()
    import_pygal()


def show_live(page: Page, _request: Request) -> Response:
    """Show recent sessions, the latest events, and what to look at first."""
    with page.history() as history:
        events = one_row_per_call(search(history, Filter(), limit=ROWS))
        recent = recent_sessions(history)
        groups = denials_to_look_at(history)
    notable = [group for group in groups if group.signs][:NOTABLE]
    return page.show(
        "live.html",
        "/",
        events=events,
        recent=recent,
        recent_minutes=RECENT_MINUTES,
        notable=notable,
    )


def stream(page: Page, request: Request) -> Response:
    """Send what is new, in all sessions or in one."""
    parameters = request.query_params
    newest = number_of(request.headers.get("last-event-id") or parameters.get("after", ""))
    live = page.live
    if "id" not in parameters:
        return EventSourceResponse(live.updates(newest))
    updates = live.session_updates(parameters.get("agent", ""), parameters["id"], newest)
    return EventSourceResponse(updates)


def show_http_error(page: Page, _request: Request, error: Exception) -> Response:
    """Show that a request cannot be answered."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    detail = error.detail if isinstance(error, HTTPException) else ""
    title = "There is no such page" if status == 404 else "This cannot be done"
    message = "The navigation leads to everything that is there." if status == 404 else detail
    return page.show("error.html", "", status, title=title, message=message)


def show_store_error(page: Page, _request: Request, error: Exception) -> Response:
    """Show that the history cannot be read."""
    message = f"{error}. If it is damaged, anyhook history says what to do."
    title = "The history cannot be read"
    return page.show("error.html", "", 500, title=title, message=message)


def show_error(page: Page, _request: Request, error: Exception) -> Response:
    """Show an error of the package, whose message is for users."""
    status = 404 if isinstance(error, UsageError) else 500
    text = str(error)
    message = text[:1].upper() + text[1:]
    return page.show("error.html", "", status, title="Not found", message=message)
