"""Recorded events for people: their verdict, what they were about, times and durations."""

from __future__ import annotations

import datetime
import re
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.agents import get_agent
from anyhook.agents.outline import member_of, subjects_of
from anyhook.errors import UsageError
from anyhook.history.rows import dump
from anyhook.history.text import excerpt, searched_text
from anyhook.model.text import count_of, printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyhook.history.events import RecordedEvent, RecordedResult

_UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(s|min|h|d|w)")


def parse_since(text: str) -> float:
    """Return the Unix timestamp that a user named; 0 for an empty text.

    The text is a span (`90d`), or a date and time of the local time zone.

    Raises:
        UsageError: If it is neither.
    """
    if not text:
        return 0.0
    span = _SPAN.fullmatch(text.replace(" ", ""))
    if span is not None:
        return time.time() - float(span[1]) * _UNITS[span[2]]
    try:
        return datetime.datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        raise UsageError(f"{text!r} is not a time; write 90d, 12h, 30min or 2026-11-01") from None


def show_time(timestamp: float) -> str:
    """Return a time of the local time zone for people: `2026-11-22 15:04:05`."""
    try:
        moment = datetime.datetime.fromtimestamp(timestamp).astimezone()
    except (ValueError, OverflowError, OSError):
        return "?"
    return moment.strftime("%Y-%m-%d %H:%M:%S")


def show_span(seconds: float | None) -> str:
    """Return a duration for people, like `3 min` or `2.5 ms`; empty if it is not known."""
    if seconds is None:
        return ""
    milliseconds = seconds * 1000
    if seconds < 1:
        return f"{milliseconds:.0f} ms" if milliseconds >= 10 else f"{milliseconds:.2g} ms"
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def problem_of(result: RecordedResult) -> str:
    """Return why a hook failed or warned, as far as it is known; empty if it did not."""
    if result.error or not result.trouble:
        return result.error or ""
    parts: list[str] = []
    if result.exit_code is not None:
        parts.append(f"exit code {result.exit_code}")
    lines = result.stderr.strip().splitlines()
    if lines:  # the last line of a traceback names the error
        parts.append(lines[-1])
    return ": ".join(parts)


def subject_of(event: RecordedEvent) -> str:
    """Return what an event was about on one line: the command, the path, the prompt."""
    for subject in subjects_of(get_agent(event.agent), event.payload):
        text = _first_text(subject)
        if text:
            return printable(" ".join(text.split()))
    return ""


def _first_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    items: list[Any] = []
    if isinstance(value, dict):
        items = [*value.values()]
    elif isinstance(value, list):
        items = value
    for item in items:
        text = _first_text(item)
        if text:
            return text
    return ""


def hit_of(event: RecordedEvent, words: str, width: int) -> str:
    """Return the first of the searched words in an event with its surroundings; or nothing.

    `width` is the number of characters of the surroundings.
    """
    text = searched_text(event.payload, event.decision, event.refusal)
    return excerpt(text, words, width) if words else ""


class CallOutcome(NamedTuple):
    """What came of a call."""

    word: str
    """`result`, `error` or `refused`."""
    text: str
    """The beginning of the result, the error, or the reason; empty for nothing."""

    @property
    def is_bad(self) -> bool:
        """Whether it is an error or a refusal."""
        return self.word != "result"


MAX_RESULT = 2000
"""Characters of a result of a call that are looked at."""
_RESULTS = ("tool_response", "toolResult", "tool_output", "output", "result")
"""Members of payloads that hold the result of a call."""
_TEXTS = ("stdout", "stderr", "textResultForLlm", "llmContent", "text", "content", "output")
"""Members of a result that are its text."""


def outcome_of_call(event: RecordedEvent) -> CallOutcome:
    """Return what came of the call of an event, as far as its record shows it."""
    if event.refusal is not None:
        return CallOutcome("refused", event.refusal or "without a reason")
    error = event.payload.get("error")
    if event.event == "post_tool_use_failure" or (error and event.tool is not None):
        return CallOutcome("error", _first_text(error))
    if event.event != "after_tool":
        return CallOutcome("result", "")
    results = [event.payload[name] for name in _RESULTS if name in event.payload]
    result = results[0] if results else None
    if isinstance(result, dict):
        error = _first_text(result.get("error"))
        if error:
            return CallOutcome("error", error)
        texts = [_first_text(result.get(name)) for name in _TEXTS]
        result = next(filter(None, texts), None) or result
    return CallOutcome("result", _first_text(result)[:MAX_RESULT])


def durations_of(events: Iterable[RecordedEvent]) -> dict[int, float]:
    """Return the seconds of calls by the number of the event with the result.

    They pass from the event before a call to the one after it; the events are those of a session,
    in their order.
    """
    seconds: dict[int, float] = {}
    started: dict[str, float] = {}
    for event in events:
        if event.tool is None:
            continue
        # What the events before and after a call share.
        agent = get_agent(event.agent)
        call = str(member_of(agent, event.payload, "tool_use_id") or "")
        if not call:
            call = dump([event.tool, member_of(agent, event.payload, "tool_input")])
        if event.event == "before_tool":
            started[call] = event.time
        elif event.event in ENDS_OF_CALLS and call in started:
            seconds[event.id] = max(0.0, event.time - started.pop(call))
    return seconds


ENDS_OF_CALLS = frozenset({"after_tool", "post_tool_use_failure"})


def notes_of(event: RecordedEvent, *, has_reconstructed: bool = True) -> list[str]:
    """Return what a reader has to know about a recorded payload."""
    notes: list[str] = []
    if event.reconstructed and has_reconstructed:
        notes.append(f"reconstructed: {', '.join(event.reconstructed)}")
    if event.redacted:
        notes.append(f"{count_of(event.redacted, 'secret')} replaced")
    if event.cut:
        notes.append("long texts were cut")
    return notes
