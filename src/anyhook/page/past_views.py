"""The views of the past: sessions, events, searches and denials."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from anyhook.errors import UsageError
from anyhook.history.denials import denials_to_look_at
from anyhook.history.describe import parse_since, show_time
from anyhook.history.filters import Filter
from anyhook.history.search import TimedSearch, search_in_time
from anyhook.history.sessions import (
    END,
    START,
    Position,
    SessionSummary,
    agents_of,
    events_of,
    find_session,
    get_event,
    neighbours,
    position_before,
    position_of,
    sessions,
)
from anyhook.history.verdicts import NO_VERDICT, VERDICTS
from anyhook.model.events import EVENTS
from anyhook.model.tools import TOOLS
from anyhook.page.kept import kept_backtest, kept_backtests
from anyhook.page.page import LINKS, PAGE, Page, number_of
from anyhook.page.render import SOURCES
from anyhook.page.report import compare_reports, shown_report

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from anyhook.history.events import RecordedEvent
    from anyhook.history.store import History


def show_sessions(page: Page, request: Request) -> Response:
    """Show the sessions, the newest first."""
    parameters = request.query_params
    agent, since = parameters.get("agent", ""), parameters.get("since", "")
    before = read_position(parameters.get("before", ""))
    message = ""
    summaries: list[SessionSummary] = []
    with page.history() as history:
        agents = agents_of(history)
        try:
            start = parse_since(since)
            summaries = sessions(history, agent=agent, since=start, limit=PAGE + 1, before=before)
        except UsageError as error:
            message = str(error)
    filters = {"agent": agent, "since": since}
    older = ""
    if len(summaries) > PAGE:
        last = summaries[PAGE - 1]
        older = urlencode({**filters, "before": _text_of((last.ended, last.id))})
    return page.show(
        "sessions.html",
        "/sessions",
        sessions=summaries[:PAGE],
        agents=agents,
        agent=agent,
        since=since,
        is_start=before is None,
        older=older,
        newest=urlencode(filters),
        message=message,
    )


def show_session(page: Page, request: Request) -> Response:
    """Show the events of a session."""
    parameters = request.query_params
    with page.history() as history:
        session = find_session(history, parameters.get("id", ""), parameters.get("agent", ""))
        after = _position(history, parameters, session)
        events = events_of(history, session, limit=PAGE + 1, after=after)
        earlier = position_before(history, session, after, PAGE - 1)
    listed = events[:PAGE]
    address = {"agent": session.agent, "id": session.session}
    is_end = len(events) <= PAGE
    previous = following = ""
    if after != START:
        previous = urlencode({**address, "after": _text_of(earlier)})
    if not is_end:
        last = _text_of((listed[-1].time, listed[-1].id))
        following = urlencode({**address, "after": last})
    return page.show(
        "session.html",
        "/sessions",
        session=session,
        events=listed,
        is_end=is_end,
        next=following,
        previous=previous,
        query=urlencode(address),
        live=urlencode({**address, "after": max([event.id for event in listed], default=0)}),
        search=LINKS.search(session.agent, session.session),
    )


def _position(history: History, parameters: Mapping[str, str], session: SessionSummary) -> Position:
    """Return the time and number of the event before the first that is shown."""
    after = read_position(parameters.get("after", ""))
    if after is not None:
        return after
    if "end" in parameters:
        return position_before(history, session, END, PAGE)
    at = number_of(parameters.get("at", ""))
    if not at:
        return START
    return position_before(history, session, position_of(history, at), PAGE // 2)


def show_event(page: Page, request: Request) -> Response:
    """Show everything that is known of an event."""
    number = number_of(str(request.path_params["number"]))
    with page.history() as history:
        event = get_event(history, number)
        before, after = neighbours(history, event)
    return page.show(
        "event.html",
        "/sessions",
        event=event,
        before=before,
        after=after,
        sources=SOURCES,
        reference=reference_of(event),
    )


def show_search(page: Page, request: Request) -> Response:
    """Show the events that a filter describes."""
    names = ("q", "outcome", "tool", "event", "agent", "hook", "session", "since", "until")
    fields = {name: request.query_params.get(name, "") for name in names}
    message = ""
    result = TimedSearch()
    with page.history() as history:
        agents = agents_of(history)
        try:
            chosen = Filter(
                text=fields["q"],
                agent=fields["agent"],
                event=fields["event"],
                tool=fields["tool"],
                verdict=fields["outcome"],
                hook=fields["hook"],
                since=parse_since(fields["since"]),
                until=parse_since(fields["until"]),
            )
            if fields["session"]:
                session = find_session(history, fields["session"], fields["agent"])
                chosen = chosen._replace(session=session.session)
            if agents == [chosen.agent]:  # all events have it: one list less to go through
                chosen = chosen._replace(agent="")
            before = number_of(request.query_params.get("before", ""))
            result = search_in_time(history, chosen, limit=PAGE, before=before)
        except UsageError as error:
            message = str(error)
    following = ""
    if result.before:
        used = {name: value for name, value in fields.items() if value}
        following = urlencode({**used, "before": result.before})
    return page.show(
        "search.html",
        "/search",
        fields=fields,
        events=result.events,
        result=result,
        is_empty=not agents,
        next=following,
        message=message,
        agents=agents,
        outcomes=(*VERDICTS, NO_VERDICT),
        tools=sorted(TOOLS),
        events_known=sorted(EVENTS),
    )


def show_denials(page: Page, _request: Request) -> Response:
    """Show the denials that a user would look at first."""
    with page.history() as history:
        groups = denials_to_look_at(history)
    number = sum(len(group.events) for group in groups)
    return page.show("denials.html", "/denials", groups=groups, number=number)


def read_position(text: str) -> Position | None:
    """Return the time and number of an address; `None` for anything else."""
    match = re.fullmatch(r"([\d.e+-]{1,30}),(\d{1,15})", text)
    if match is None:
        return None
    try:
        return float(match[1]), int(match[2])
    except ValueError:
        return None


def _text_of(position: Position) -> str:
    return f"{position[0]!r},{position[1]}"


def reference_of(event: RecordedEvent) -> str:
    """Return a line that names an event to a colleague."""
    what = event.tool or event.event
    hooks = ", ".join(result.hook for result in event.results if result.verdict != NO_VERDICT)
    decided = f"{event.verdict} by {hooks}" if hooks else event.verdict
    return (
        f"{show_time(event.time)} {what} {decided} "
        f"({event.agent} session {event.session}, event {event.id})"
    )


# -- backtests


def show_backtests(page: Page, _request: Request) -> Response:
    """Show the backtests that were made."""
    rows = []
    for kept in kept_backtests(page.directory):
        outcomes = {name: rate["events"] for name, rate in kept.report["outcomes"].items()}
        rows.append(
            {
                "name": kept.name,
                "made": kept.made,
                "events": kept.events,
                "report": {"baseline": None, "changes": None, **kept.report},
                "outcomes": outcomes,
            }
        )
    return page.show("backtests.html", "/backtests", kept=rows)


def show_backtest(page: Page, request: Request) -> Response:
    """Show the result of a backtest."""
    kept = kept_backtest(page.directory, request.path_params["name"])
    return _show_result(page, kept.events, shown_report(kept.report))


def _show_result(page: Page, events: str, values: Mapping[str, Any]) -> Response:
    return page.show("backtest.html", "/backtests", events=events, **values)


def compare_backtests(page: Page, request: Request) -> Response:
    """Show what two backtests decide differently."""
    parameters = request.query_params
    before = kept_backtest(page.directory, parameters.get("before", ""))
    after = kept_backtest(page.directory, parameters.get("after", ""))
    return _show_result(page, after.events, compare_reports(before.report, after.report))
