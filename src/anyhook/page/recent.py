"""The sessions of the last minutes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyhook.history.queries import SessionSummary, sessions
from anyhook.page.links import PageLinks
from anyhook.page.render import render

if TYPE_CHECKING:
    from anyhook.history.store import History

RECENT_MINUTES = 10
"""Minutes after its last event for which a session is recent."""
MOST_RECENT = 12
LAST_EVENTS = 20
"""Events of a session among which its end is looked for."""
BEGINNINGS = ("session_start", "before_prompt")
"""Events that a session which was ended has only after it was resumed."""


@dataclass(frozen=True, slots=True)
class RecentSession:
    """A session with an event in the last minutes.

    Attributes:
        summary: The session.
        is_ended: Whether the agent has ended it.
    """

    summary: SessionSummary
    is_ended: bool


def recent_sessions(history: History) -> list[RecentSession]:
    """Return the recent sessions, those first that have not ended."""
    since = time.time() - RECENT_MINUTES * 60
    recent = [
        RecentSession(session, _is_ended(history, session))
        for session in sessions(history, since=since, limit=MOST_RECENT)
    ]
    return sorted(recent, key=lambda session: session.is_ended)


def _is_ended(history: History, session: SessionSummary) -> bool:
    """Return whether a session was ended and not resumed.

    Hooks that run in the background may record their event after that of the end.
    """
    rows = history.connection.execute(
        "SELECT event FROM events WHERE session_id = ? ORDER BY time DESC, id DESC LIMIT ?",
        (session.id, LAST_EVENTS),
    )
    for (event,) in rows:
        if event in BEGINNINGS:
            return False
        if event == "session_end":
            return True
    return False


def render_recent_sessions(history: History) -> str:
    """Return the list of the recent sessions as it is shown."""
    recent = recent_sessions(history)
    return render("recent_sessions.html", PageLinks(), recent=recent, recent_minutes=RECENT_MINUTES)
