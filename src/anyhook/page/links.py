"""Where the views link to: addresses of the page, or places in a saved report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlencode

if TYPE_CHECKING:
    from collections.abc import Collection


class Links(Protocol):
    """Makes links; an empty text means that there is nothing to link to."""

    @property
    def is_report(self) -> bool:
        """Whether they are those of a saved report."""
        ...

    def event(self, number: int) -> str:
        """Return the link to an event."""
        ...

    def session(self, agent: str, session: str) -> str:
        """Return the link to a session."""
        ...

    def hook(self, name: str, place: str) -> str:
        """Return the link to a hook."""
        ...


@dataclass(frozen=True, slots=True)
class PageLinks:
    """Links of the served page.

    Names are parameters, because a browser changes paths like `/session/..` before it sends them.
    """

    is_report: bool = False

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


@dataclass(frozen=True, slots=True)
class ReportLinks:
    """Links inside a saved report, to what it holds."""

    events: Collection[int] = field(default_factory=frozenset)
    """Numbers of the events that the report holds."""
    is_report: bool = True

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
