"""The application of `anyhook ui`: its addresses, and what each of them shows.

starlette and jinja2, as datasette does: pages that the server renders, with a few lines of plain
JavaScript, need no build, work without a network, and are the same in a saved report.
"""

from __future__ import annotations

import re
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from sse_starlette import EventSourceResponse
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from anyhook import __version__
from anyhook.errors import AnyhookError, UsageError
from anyhook.history.describe import parse_since, show_time, verdict_of
from anyhook.history.queries import (
    Filter,
    SessionSummary,
    events_of,
    find_session,
    get_event,
    search,
    sessions,
)
from anyhook.history.store import History
from anyhook.model.events import EVENTS
from anyhook.model.tools import TOOLS
from anyhook.page import queries
from anyhook.page.access import Access, Gate, is_equal
from anyhook.page.charts import SERIES, latency_chart, outcome_chart
from anyhook.page.events import SOURCES
from anyhook.page.links import PageLinks
from anyhook.page.live import ROWS, RUNNING_MINUTES, Live
from anyhook.page.render import VERDICTS, asset, render

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from starlette.requests import Request

    from anyhook.history.events import RecordedEvent
    from anyhook.page.settings import Settings

VIEWS = (
    ("/", "Live"),
    ("/sessions", "Sessions"),
    ("/denials", "Denials"),
    ("/hooks", "Hooks"),
    ("/problems", "Problems"),
)
"""Path and name of the views in the navigation."""
PAGE = 100
"""Events or sessions of a list before a link leads to the next ones."""
NOTABLE = 4
"""Denials that the first view shows."""
LATEST = 10
"""Decisions that the view of a hook shows."""
LARGEST_FORM = 64 * 1024
ASSETS = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}
LINKS = PageLinks()


def make_app(directory: Path, access: Access, settings: Settings) -> Starlette:
    """Make the application.

    Args:
        directory: Directory of the history.
        access: The secrets of the page.
        settings: The settings that it shows and changes.
    """
    live = Live(directory)
    page = Page(directory, access, settings, live)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        live.start()
        yield
        live.close()

    return Starlette(
        routes=[
            Route("/", page.show_live),
            Route("/live", page.stream),
            Route("/sessions", page.show_sessions),
            Route("/session", page.show_session),
            Route("/event/{number:int}", page.show_event),
            Route("/search", page.show_search),
            Route("/hooks", page.show_hooks),
            Route("/hook", page.show_hook),
            Route("/denials", page.show_denials),
            Route("/problems", page.show_problems),
            Route("/switch", page.switch, methods=["POST"]),
            Route("/static/{name}", send_asset),
        ],
        middleware=[Middleware(Gate, access=access)],
        exception_handlers={HTTPException: page.show_http_error, AnyhookError: page.show_error},
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
        if len(body) > LARGEST_FORM:
            raise HTTPException(413, "The form is too large.")
    fields = dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
    if not is_equal(fields.get("token", ""), access.form_token):
        raise HTTPException(403, "The form is out of date. Load the page again.")
    return fields


@dataclass(frozen=True, slots=True)
class Page:
    """The views.

    Attributes:
        directory: Directory of the history.
        access: The secrets of the page.
        settings: The settings of the project.
        live: What is new in the history.
    """

    directory: Path
    access: Access
    settings: Settings
    live: Live

    def _history(self) -> History:
        return History.open(self.directory)

    def _show(self, template: str, view: str, status: int = 200, **values: Any) -> Response:
        text = render(
            template,
            LINKS,
            layout="page.html",
            views=VIEWS,
            view=view,
            version=__version__,
            project=str(self.settings.project),
            **values,
        )
        # A lone surrogate of a payload was made visible; nothing else cannot be encoded.
        return HTMLResponse(text.encode("utf-8", "backslashreplace"), status)

    # -- live

    def show_live(self, _request: Request) -> Response:
        """Show running sessions, the latest events, and what to look at first."""
        now = time.time()
        with self._history() as history:
            events = search(history, Filter(), limit=ROWS)
            running = sessions(history, since=now - RUNNING_MINUTES * 60, limit=12)
            groups = queries.denials_to_look_at(history, now)
        notable = [group for group in groups if group.signs][:NOTABLE]
        return self._show(
            "live.html",
            "/",
            events=events,
            running=running,
            running_minutes=RUNNING_MINUTES,
            notable=notable,
        )

    def stream(self, request: Request) -> Response:
        """Send what is new."""
        newest = request.headers.get("last-event-id") or request.query_params.get("after", "")
        number = int(newest) if newest.isdecimal() and len(newest) < 16 else 0
        return EventSourceResponse(self.live.updates(number))

    # -- sessions

    def show_sessions(self, request: Request) -> Response:
        """Show the sessions, the newest first."""
        wanted = request.query_params
        agent, since = wanted.get("agent", ""), wanted.get("since", "")
        offset = _number(wanted.get("offset", ""))
        message = ""
        found: list[SessionSummary] = []
        with self._history() as history:
            agents = queries.agents_of(history)
            try:
                start = parse_since(since)
                found = sessions(history, agent=agent, since=start, limit=PAGE + 1, offset=offset)
            except UsageError as error:
                message = str(error)
        same = {"agent": agent, "since": since}
        older = urlencode({**same, "offset": offset + PAGE}) if len(found) > PAGE else ""
        newer = urlencode({**same, "offset": max(0, offset - PAGE)})
        return self._show(
            "sessions.html",
            "/sessions",
            sessions=found[:PAGE],
            agents=agents,
            agent=agent,
            since=since,
            offset=offset,
            older=older,
            newer=newer,
            message=message,
        )

    def show_session(self, request: Request) -> Response:
        """Show the events of a session."""
        wanted = request.query_params
        with self._history() as history:
            session = find_session(history, wanted.get("id", ""), wanted.get("agent", ""))
            after = self._position(history, wanted, session)
            events = events_of(history, session, limit=PAGE + 1, after=after)
        shown = events[:PAGE]
        same = {"agent": session.agent, "id": session.session}
        following = ""
        if len(events) > PAGE:
            following = urlencode({**same, "after": f"{shown[-1].time!r},{shown[-1].id}"})
        return self._show(
            "session.html",
            "/sessions",
            session=session,
            events=shown,
            next=following,
            query=urlencode(same),
            search=urlencode({"session": session.session, "agent": session.agent}),
        )

    @staticmethod
    def _position(
        history: History, wanted: Mapping[str, str], session: SessionSummary
    ) -> tuple[float, int]:
        """Return the time and number of the event before the first that is shown."""
        match = re.fullmatch(r"([\d.e+]+),(\d{1,15})", wanted.get("after", ""))
        if match is not None:
            try:
                return float(match[1]), int(match[2])
            except ValueError:
                return 0.0, 0
        at = _number(wanted.get("at", ""))
        if not at:
            return 0.0, 0
        return queries.position_before(history, session, at, PAGE // 2)

    def show_event(self, request: Request) -> Response:
        """Show everything that is known of an event."""
        with self._history() as history:
            event = get_event(history, request.path_params["number"])
            before, after = queries.neighbours(history, event)
            same = queries.same_event_elsewhere(history, event)
        return self._show(
            "event.html",
            "/sessions",
            event=event,
            before=before,
            after=after,
            same=same,
            sources=SOURCES,
            reference=reference_of(event),
        )

    def show_search(self, request: Request) -> Response:
        """Show the events that a filter describes."""
        names = ("q", "outcome", "tool", "event", "agent", "hook", "session", "since", "until")
        wanted = {name: request.query_params.get(name, "") for name in names}
        message = ""
        found: list[RecordedEvent] = []
        with self._history() as history:
            agents = queries.agents_of(history)
            try:
                chosen = _filter(history, wanted)
                before = _number(request.query_params.get("before", ""))
                found = search(history, chosen, limit=PAGE + 1, before=before)
            except UsageError as error:
                message = str(error)
        following = ""
        if len(found) > PAGE:
            used = {name: value for name, value in wanted.items() if value}
            following = urlencode({**used, "before": found[PAGE - 1].id})
        return self._show(
            "search.html",
            "/search",
            wanted=wanted,
            events=found[:PAGE],
            next=following,
            message=message,
            agents=agents,
            outcomes=(*VERDICTS[:-1], "none"),
            tools=sorted(TOOLS),
            events_known=sorted(EVENTS),
        )

    # -- hooks

    def show_hooks(self, request: Request) -> Response:
        """Show the hooks of the settings, and what hooks did."""
        with self._history() as history:
            found = queries.hook_summaries(history)
        return self._show(
            "hooks.html",
            "/hooks",
            hooks=found,
            configured=self.settings.hooks(),
            is_limited=sum(hook.runs for hook in found) >= queries.LATEST_RUNS,
            latest_runs=queries.LATEST_RUNS,
            form_token=self.access.form_token,
            notice=request.query_params.get("notice", ""),
        )

    def show_hook(self, request: Request) -> Response:
        """Show what a hook decided and how long it took, over time."""
        name = request.query_params.get("name", "")
        place = request.query_params.get("place", "")
        with self._history() as history:
            versions = queries.hook_versions(history, name, place)
            if not versions:
                raise UsageError(f"the history has no hook {name!r} at {place!r}")
            runs = queries.hook_runs(history, versions)
            latest: dict[int, RecordedEvent] = {}
            for run in runs:
                if run.outcome != "none" and len(latest) < LATEST:
                    latest[run.event_id] = get_event(history, run.event_id)
        spans = queries.spans_of(runs)
        return self._show(
            "hook.html",
            "/hooks",
            hook=queries.summary_of(name, place, runs),
            versions=queries.used_versions(versions, runs),
            spans=spans,
            series=[one for one in SERIES if any(span.outcomes[one] for span in spans)],
            outcome_chart=outcome_chart(spans),
            latency_chart=latency_chart(spans),
            percentile=queries.percentile,
            latest=list(latest.values()),
            search=urlencode({"hook": name}),
        )

    async def switch(self, request: Request) -> Response:
        """Switch a hook of the settings on or off."""
        from anyio.to_thread import run_sync

        fields = await read_form(request, self.access)
        is_on = fields.get("state") == "on"

        def switch() -> str:
            switched = self.settings.switch(
                fields.get("agent", ""), fields.get("hook", ""), is_on=is_on
            )
            return switched.message

        message = await run_sync(switch)
        return RedirectResponse(f"/hooks?{urlencode({'notice': message})}", 303)

    def show_denials(self, _request: Request) -> Response:
        """Show the denials that a user would look at first."""
        with self._history() as history:
            groups = queries.denials_to_look_at(history, time.time())
        number = sum(group.count for group in groups)
        return self._show("denials.html", "/denials", groups=groups, number=number)

    def show_problems(self, _request: Request) -> Response:
        """Show the mistakes in the settings."""
        return self._show(
            "problems.html",
            "/problems",
            problems=self.settings.problems(),
            journal_problems=self.live.problems,
        )

    # -- errors

    def show_http_error(self, _request: Request, error: Exception) -> Response:
        """Show that a request cannot be answered."""
        status = error.status_code if isinstance(error, HTTPException) else 500
        detail = error.detail if isinstance(error, HTTPException) else ""
        title = "There is no such page" if status == 404 else "This cannot be done"
        message = "The navigation leads to everything that is there." if status == 404 else detail
        return self._show("error.html", "", status, title=title, message=message)

    def show_error(self, _request: Request, error: Exception) -> Response:
        """Show an error of the package, whose message is for users."""
        status = 404 if isinstance(error, UsageError) else 500
        text = str(error)
        message = text[:1].upper() + text[1:]
        return self._show("error.html", "", status, title="Not found", message=message)


def reference_of(event: RecordedEvent) -> str:
    """Return a line that names an event to a colleague."""
    what = event.tool or event.event
    hooks = ", ".join(result.hook for result in event.results if result.outcome != "none")
    verdict = verdict_of(event)
    decided = f"{verdict} by {hooks}" if hooks else verdict
    return (
        f"{show_time(event.time)} {what} {decided} "
        f"({event.agent} session {event.session}, event {event.id})"
    )


def _filter(history: History, wanted: Mapping[str, str]) -> Filter:
    """Return the filter of a search.

    Raises:
        UsageError: If a time is none, or a session is not there.
    """
    chosen = Filter(
        text=wanted["q"],
        agent=wanted["agent"],
        event=wanted["event"],
        tool=wanted["tool"],
        outcome=wanted["outcome"],
        hook=wanted["hook"],
        since=parse_since(wanted["since"]),
        until=parse_since(wanted["until"]),
    )
    if not wanted["session"]:
        return chosen
    session = find_session(history, wanted["session"], wanted["agent"])
    return replace(chosen, session=session.session)


def _number(text: str) -> int:
    """Return a number of an address; 0 for anything else."""
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 16 else 0
