"""The sessions of the last minutes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyhook.history.sessions import SessionSummary, is_ended, sessions
from anyhook.page.links import PageLinks
from anyhook.page.render import render

if TYPE_CHECKING:
    from anyhook.history.store import History

RECENT_MINUTES = 10
"""Minutes after its last event for which a session is recent."""
MAX_RECENT = 12


@dataclass(frozen=True, slots=True)
class RecentSession:
    """A session with an event in the last minutes."""

    summary: SessionSummary
    is_ended: bool


def recent_sessions(history: History) -> list[RecentSession]:
    """Return the recent sessions, those first that have not ended."""
    since = time.time() - RECENT_MINUTES * 60
    recent = [
        RecentSession(session, is_ended(history, session))
        for session in sessions(history, since=since, limit=MAX_RECENT)
    ]
    return sorted(recent, key=lambda session: session.is_ended)


def render_recent_sessions(history: History) -> str:
    """Return the list of the recent sessions as it is shown."""
    recent = recent_sessions(history)
    return render("recent_sessions.html", PageLinks(), recent=recent, recent_minutes=RECENT_MINUTES)
