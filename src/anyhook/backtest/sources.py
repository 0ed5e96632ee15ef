"""Where a backtest takes events from, and what is kept of a decision on one.

A part is small, can be sent to another process, and knows a content hash, so that its results can
be kept.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from anyhook.agents import get_agent
from anyhook.agents.outline import subjects_of
from anyhook.backtest.results import MAX_PROBLEMS, Decided
from anyhook.errors import AnyhookError, UsageError
from anyhook.history.replay import SessionRange, has_events
from anyhook.history.rows import dump
from anyhook.history.sessions import SessionSummary, all_sessions
from anyhook.history.store import FILE, History
from anyhook.history.text import has_words
from anyhook.model.text import shorten
from anyhook.secrets.examples import EXAMPLES
from anyhook.secrets.redact import redact_json, redact_start

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from anyhook.history.filters import Filter


PART = 8192
"""Events in one part of the history, unless a session has more: sessions are not divided."""
SESSIONS = 64
"""Sessions that may share a part. Parts begin at multiples of it, so that a session that goes on
changes no other parts."""


class UnreadableEventError(ValueError):
    """The payload of a recorded event cannot be read."""


class EventRow(NamedTuple):
    """A recorded event on its way to a hook."""

    ref: str
    agent: str
    event: str
    tool: str | None
    """Canonical name of the tool; `None` for other events."""
    session: str
    """`AGENT/SESSION`."""
    payload: str | Mapping[str, Any]
    """The payload, or its JSON text."""
    reconstructed: str | None = None
    """Names of members that were not recorded, with commas between them."""
    redacted: int = 0
    is_refused: bool = False
    is_redacted: bool = True
    """Whether all secrets are replaced; otherwise they are when a decision is kept."""

    def read_payload(self) -> Mapping[str, Any]:
        """Return the payload as an object, with examples in the place of replaced secrets.

        Raises:
            UnreadableEventError: If it is none.
        """
        if not self.redacted:
            return self.read_stored_payload()
        text = self.payload if isinstance(self.payload, str) else dump(self.payload)
        return self._replace(payload=insert_examples(text)).read_stored_payload()

    def read_stored_payload(self) -> Mapping[str, Any]:
        """Return the payload as an object, as it is stored.

        Raises:
            UnreadableEventError: If it is none.
        """
        try:
            payload = json.loads(self.payload) if isinstance(self.payload, str) else self.payload
        except (ValueError, RecursionError) as error:
            raise UnreadableEventError("payload is not JSON") from error
        if not isinstance(payload, dict):
            raise UnreadableEventError("payload is not an object")
        return payload


@dataclass(slots=True)
class EventRows:
    """The events of a part. The other attributes are complete when `rows` is at its end."""

    events: Counter[str]
    """Canonical name to number, of all events."""
    sessions: set[str]
    rows: Iterable[EventRow]
    """The events with a wanted name, in the order of the source."""
    unseen: int = 0
    """Number of calls that are left out because the agent refused them before hooks got them."""
    problems: list[str] = field(default_factory=list)
    problem_count: int = 0

    def report(self, problem: str) -> None:
        """Add a problem."""
        self.problem_count += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)


class Part(Protocol):
    """Some events of a source."""

    @property
    def title(self) -> str:
        """The file that holds it, for messages."""
        ...

    def __hash__(self) -> int:
        """A part is a value."""
        ...

    def read(self, names: frozenset[str] | None) -> EventRows:
        """Return the events.

        Payloads are needed of events with a wanted canonical name; `None` for all.
        """
        ...


@contextmanager
def read_errors(part: Part) -> Iterator[None]:
    """Raise every error in the block as one of the source that is read.

    Raises:
        AnyhookError, sqlite3.DatabaseError: As they are raised in the block.
        UsageError: If the block raises anything else.
    """
    try:
        yield
    except AnyhookError:
        raise
    except sqlite3.DatabaseError as error:
        if hasattr(error, "sqlite_errorcode"):
            raise
        # Of the module, not of SQLite: its message holds the text.
        damage = sqlite3.DatabaseError("a text is not valid UTF-8")
        damage.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise damage from None
    except Exception as error:  # file systems and readers of files have errors of their own
        problem = f"{type(error).__name__}: {error}"
        raise UsageError(f"{part.title} cannot be read: {problem}") from error


def may_take(chosen: Filter, session: SessionSummary) -> bool:
    """Return whether a filter may describe events of a session of the history."""
    is_chosen = chosen.agent in ("", session.agent) and chosen.session in ("", session.session)
    is_before_end = not (chosen.until and session.started >= chosen.until)
    return is_chosen and chosen.since <= session.ended and is_before_end


def takes(chosen: Filter, row: EventRow, time: float) -> bool:
    """Return whether a filter describes an event that is not in the history.

    Its time, agent, tool, event, session and words count, and whether only refused calls do.
    """
    pairs = (
        (chosen.agent, row.agent),
        (chosen.tool, row.tool),
        (chosen.event, row.event),
        (chosen.session and f"{row.agent}/{chosen.session}", row.session),
    )
    for of_filter, actual in pairs:
        if of_filter and of_filter != actual:
            return False
    if chosen.text:
        payload = row.payload if isinstance(row.payload, str) else dump(row.payload)
        if not has_words(payload, chosen.text):
            return False
    if chosen.refused and not row.is_refused:
        return False
    return chosen.since <= time and not (chosen.until and time >= chosen.until)


@dataclass(frozen=True, slots=True)
class HistoryPart:
    """The events of the sessions of the history whose numbers are in a range."""

    directory: str
    first: int
    end: int
    selection: Filter

    @property
    def title(self) -> str:
        """The file that holds it, for messages."""
        return str(Path(self.directory, FILE))

    def read(self, names: frozenset[str] | None) -> EventRows:
        """Return the events."""
        events = SessionRange(self.first, self.end, self.selection)
        with History.open(self.directory) as history, history.snapshot():
            rows = EventRows(Counter(), set(), ())
            rows.unseen = events.count_unseen(history)
            for event, session, number in events.count(history):
                rows.events[event] += number
                rows.sessions.add(session)
            if names is None or names & rows.events.keys():
                rows.rows = [EventRow(*row) for row in events.read(history, names)]
            return rows


def parts_of_history(directory: str, selection: Filter) -> Iterator[HistoryPart]:
    """Yield the parts of the history, the oldest sessions first."""
    if not (Path(directory) / FILE).exists():
        return
    with History.open(directory) as history:
        sessions = all_sessions(history)
        if not has_events(history, selection):
            return
    for part in _split_sessions(sessions):
        if any(may_take(selection, session) for session in part):
            yield HistoryPart(directory, part[0].id, part[-1].id + 1, selection)


def _split_sessions(sessions: Iterable[SessionSummary]) -> Iterator[list[SessionSummary]]:
    part: list[SessionSummary] = []
    events = 0
    for session in sessions:
        is_full = part and events + session.events > PART
        if is_full or (part and session.id // SESSIONS != part[-1].id // SESSIONS):
            yield part
            part, events = [], 0
        part.append(session)
        events += session.events
    if part:
        yield part


# -- what is kept of a decision: its text, and no secrets

MAX_TEXT = 200
"""Characters of an event that are shown in an example."""


def decided_of(
    row: EventRow,
    payload: Mapping[str, Any],
    decision: Mapping[str, Any],
    hooks: Iterable[str],
    *,
    reconstructed: tuple[str, ...],
    crash: str,
) -> Decided:
    """Return what is kept of a decision: it holds no secrets.

    `reconstructed` are the members that it depends on and that were not recorded, `crash` the error
    of the first hook that failed, without secrets.
    """
    if row.redacted:
        payload = row.read_stored_payload()
    text = longest_text(row.agent, payload)
    if not row.is_redacted:
        text = redact_start(text, MAX_TEXT)
    if row.redacted or not row.is_redacted:
        decision_text = json.dumps(decision, default=str)
        redacted = _redact_decision(decision_text)
        if redacted != decision_text:
            decision = json.loads(redacted)
    text = text[:MAX_TEXT]
    return Decided(
        row.ref,
        row.session,
        row.event,
        row.tool,
        text,
        decision,
        tuple(hooks),
        reconstructed,
        crash,
        row.is_refused,
    )


@lru_cache(maxsize=1024)  # most decisions of a hook are equal
def _redact_decision(text: str) -> str:
    return redact_json(remove_examples(text))[0]


def crash_text(message: str) -> str:
    """Return the first line of a message about a crash, without secrets and not too long."""
    first = message.strip().partition("\n")[0]
    redacted: str = json.loads(_redact_decision(json.dumps(first)))
    return shorten(redacted)


def shown_text(agent: str, payload: Mapping[str, Any]) -> str:
    """Return what an event was about, cut for an example."""
    return longest_text(agent, payload)[:MAX_TEXT]


def longest_text(agent: str, payload: Mapping[str, Any]) -> str:
    """Return what an event was about: the longest string of its arguments, else of the rest."""
    texts = map(_longest_string, subjects_of(get_agent(agent), payload))
    return next(filter(None, texts), "")


def _longest_string(value: Any) -> str:
    if isinstance(value, str):
        return value
    items: Iterable[Any] = ()
    if isinstance(value, dict):
        items = value.values()
    elif isinstance(value, list):
        items = value
    return max((_longest_string(item) for item in items), key=len, default="")


# -- examples of secrets

# A guard that looks for keys would deny nothing of a history in which `[redacted:aws-key]` stands
# in their place. So hooks see an example of the same kind, and a decision that depends on it is
# marked.
_PLACEHOLDER = re.compile(r"\[redacted:([a-z0-9-]+)\]")


def insert_examples(text: str) -> str:
    """Return a text with an example in the place of each secret that was replaced."""
    return _PLACEHOLDER.sub(lambda match: EXAMPLES.get(match[1], match[0]), text)


def remove_examples(text: str) -> str:
    """Return a text with the placeholders in the place of the examples."""
    for kind, example in EXAMPLES.items():
        text = text.replace(example, f"[redacted:{kind}]")
    return text
