"""Where the views link to: addresses of the page, or places in a saved report."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

if TYPE_CHECKING:
    from collections.abc import Collection


class PageLinks:
    """Links of the served page; an empty text means that there is nothing to link to.

    Names are parameters, because a browser changes paths like `/session/..` before it sends them.
    """

    is_report = False

    def event(self, number: int) -> str:
        """Return the link to an event."""
        return f"/event/{number}" if number else ""

    def session(self, agent: str, session: str) -> str:
        """Return the link to a session."""
        return "/session?" + _query(agent=agent, id=session)

    def search(self, agent: str, session: str) -> str:
        """Return the query of a search in a session."""
        return _query(session=session, agent=agent)

    def hook(self, name: str, place: str) -> str:
        """Return the link to a hook."""
        return "/hook?" + _query(name=name, place=place)


class ReportLinks(PageLinks):
    """Links inside a saved report, to the events with these numbers, which it holds."""

    is_report = True

    def __init__(self, events: Collection[int] = ()) -> None:
        self.events = events

    def event(self, number: int) -> str:
        """Return the link to an event; empty if the report does not hold it."""
        return f"#full-{number}" if number in self.events else ""

    def session(self, agent: str, session: str) -> str:  # noqa: ARG002 - a report has one
        """Return no link."""
        return ""

    def hook(self, name: str, place: str) -> str:  # noqa: ARG002 - as above
        """Return no link."""
        return ""


def _query(**parameters: str) -> str:
    """Return a query; a lone surrogate in the name of a session must not fail."""
    return urlencode(parameters, errors="backslashreplace")
