"""Templates, and how values are shown in them.

jinja2 escapes every value (`autoescape`). Before that, `_show` makes invisible characters visible
in every text, so that no template can forget it: a payload must not hide or reverse what is read.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from anyhook.history.describe import notes_of, problem_of, show_span, show_time, subject_of
from anyhook.history.verdicts import CRASH, FAILURES, NO_VERDICT, VERDICTS
from anyhook.journal.records import RECORDER_KIND
from anyhook.model.answers import STRENGTH
from anyhook.model.text import count_of, cut, printable, shorten

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from anyhook.history.events import RecordedEvent, RecordedResult


CLASSES = frozenset(
    {*VERDICTS, *FAILURES, CRASH, NO_VERDICT, "withheld", "warned", "started", "crashed"}
)
"""Verdicts and states that have a style. Another one, like `hidden`, must not choose one."""
STATUS = {"warned": "warning", "withheld": "not trusted", "started": "in the background"}
"""Status of a hook to its text, where that differs."""
MAX_NAME_LENGTH = 80
MAX_SUBJECT_LENGTH = 300
MAX_TEXT_LENGTH = 20_000
"""Characters of a payload that are shown; the whole is in `anyhook history show --json`."""


def render(template: str, links: PageLinks, **values: Any) -> str:
    """Return the text of a template that shows some values."""
    return _environment().get_template(template).render(links=links, now=time.time(), **values)


def compile_templates() -> None:
    """Compile every template, so that no view is slower the first time."""
    environment = _environment()
    for name in environment.list_templates():
        environment.get_template(name)


def asset(name: str) -> str:
    """Return the text of a file that is served next to the page."""
    return (files("anyhook.page") / "static" / name).read_text(encoding="utf-8")


@cache
def asset_version(name: str) -> str:
    """Return a short hash of such a file, with which a browser may keep it."""
    return hashlib.blake2b(asset(name).encode(), digest_size=6).hexdigest()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("anyhook.page"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_show,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "ago": show_ago,
        "author_results": author_results,
        "blame_of": blame_of,
        "brief": shorten,
        "class_of": lambda word: word if word in CLASSES else "other",
        "clock_or_day": show_clock_or_day,
        "clock": lambda timestamp: show_time(timestamp)[11:],
        "counted": count_of,
        "deciders": deciders,
        "day": lambda timestamp: show_time(timestamp)[:10],
        "iso": lambda timestamp: show_time(timestamp).replace(" ", "T"),
        "longest": longest,
        "notes": notes_of,
        "number": lambda value: f"{value:,}",
        "other_fields": other_fields,
        "one_line": lambda text: " ".join(str(text).split()),
        "pretty": show_json,
        "reject_blame": decision_fields,
        "share": lambda value: f"{value:.2%}",
        "short_path": short_path,
        "span": show_span,
        "name": short_name,
        "subject": lambda event: short_name(subject_of(event), MAX_SUBJECT_LENGTH),
        "full_subject": subject_of,
        "time": show_time,
        "title_of": title_of,
        "problem": problem_of,
        "verdicts": ordered_verdicts,
        "worst_trouble": worst_trouble,
        "words": lambda text: short_name(str(text).replace("_", " ")),
    }
    environment.globals |= {
        "asset_version": asset_version,
        "STATUS": STATUS,
        "STRENGTH": STRENGTH,
    }
    return environment


def _show(value: Any) -> Any:
    """Return what a template shows of a value."""
    if isinstance(value, Markup):
        return value
    if value is None:
        return ""
    return printable(value) if isinstance(value, str) else value


def ordered_verdicts(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return the counts of verdicts, the strictest first, without those of no opinion."""
    return [(verdict, counts[verdict]) for verdict in (*VERDICTS, CRASH) if counts.get(verdict)]


def show_clock_or_day(timestamp: float) -> str:
    """Return the time of day of today, like `21:05:43`, or the day and time, like `11-21 21:05`."""
    text = show_time(timestamp)
    is_today = text[:10] == show_time(time.time())[:10]
    return text[11:] if is_today else text[5:16]


def show_ago(timestamp: float) -> str:
    """Return how long ago a time was: `3 min ago`."""
    seconds = time.time() - timestamp
    if seconds < 1:
        return "now"
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"


def show_json(value: Any) -> str:
    """Return a JSON value on several lines, cut if it is very long."""
    text = json.dumps(value, indent=2, ensure_ascii=False, default=str)
    rest = len(text) - MAX_TEXT_LENGTH
    return text if rest <= 0 else f"{text[:MAX_TEXT_LENGTH]}\n… {rest:,} more characters"


def short_path(path: str) -> str:
    """Return the last two parts of a path, or the end of long ones; a line number stays.

    A file of the user is not like one of the project: `~/.claude/settings.json`.
    """
    parts = path.replace("\\", "/").rstrip("/").split("/")
    end = "/".join(parts[-2:])
    if "/".join(parts[:-2]) == Path.home().as_posix():
        end = f"~/{end}"
    end = printable(" ".join(end.split()))
    return end if len(end) <= MAX_NAME_LENGTH else "…" + end[1 - MAX_NAME_LENGTH :]


def short_name(value: object, length: int = MAX_NAME_LENGTH) -> str:
    """Return a name from a settings file or a payload on one line, cut if it is long.

    Nothing bounds names of hooks, tools and fields; one of 10,000 characters would fill the page.
    """
    text = "" if value is None else printable(" ".join(str(value).split()))
    return cut(text, length)


def title_of(agent: str) -> str:
    """Return the title of an agent."""
    from anyhook.agents import AGENTS, get_agent

    return get_agent(agent).title if agent in AGENTS else agent


# -- parts of events

HEADLINE = ("outcome", "reason")
"""Fields of an answer that the list of hooks shows apart from the others."""
WORST_TROUBLE = ("failed", "timed_out", "withheld", "warned")
"""Kinds of trouble that a list of events shows, the worst first."""
SOURCES = {
    "engine": "by an engine",
    "hook": "by a hook file",
    "tap": "by a recorder around a command",
    "import": "in the agent's transcript",
}
"""Source of an event to where it was seen."""


@dataclass(frozen=True, slots=True)
class BlameLine:
    """Which hook set a field, or a part of it."""

    part: str
    """Path below the field, like `content` of `tool_input.content`; empty for all of it."""
    hook: str
    """Its label."""
    place: str
    overrode: tuple[Mapping[str, Any], ...]
    """`hook` and `value` of each value that it replaced."""


def blame_of(blame: Mapping[str, Any], name: str) -> list[BlameLine]:
    """Return the hooks that set a field of a decision."""
    lines: list[BlameLine] = []
    for key, entries in blame.items():
        if key != name and not key.startswith(f"{name}."):
            continue
        part = key[len(name) + 1 :]
        for entry in entries:
            overrode = tuple(entry.get("overrode", ()))
            lines.append(BlameLine(part, entry["hook"], entry.get("place", ""), overrode))
    return lines


def deciders(event: RecordedEvent) -> list[tuple[str, str]]:
    """Return label and position of the hooks that set the verdict of an event.

    Records of hook files have no blame: there, it is the hooks with the same answer.
    """
    decision = event.decision or {}
    name = "stop" if event.verdict == "stop" else "outcome"
    blamed = blame_of(decision.get("blame", {}), name)
    if blamed:
        return [(line.hook, line.place) for line in blamed]
    if event.verdict == NO_VERDICT:
        return []
    deciding = [result for result in event.results if not result.shadow]
    return [(each.hook, each.place) for each in deciding if each.verdict == event.verdict]


def author_results(event: RecordedEvent) -> tuple[RecordedResult, ...]:
    """Return the results of an event without that of the recorder, which every event has."""
    return tuple(result for result in event.results if result.kind != RECORDER_KIND)


def worst_trouble(event: RecordedEvent) -> str:
    """Return the worst trouble that a hook had on an event; empty if none had any."""
    kinds = {result.trouble for result in event.results}
    for kind in WORST_TROUBLE:
        if kind in kinds:
            return kind
    return ""


def one_row_per_call(events: Iterable[RecordedEvent]) -> list[RecordedEvent]:
    """Leave out the end of each call that is listed, unless a hook decided or failed there."""
    events = list(events)
    calls = {_call_of(event) for event in events if event.event == "before_tool"}
    listed: list[RecordedEvent] = []
    for event in events:
        is_end = event.event == "after_tool" and _call_of(event) in calls
        is_notable = event.verdict != NO_VERDICT or worst_trouble(event)
        if not is_end or is_notable:
            listed.append(event)
    return listed


def _call_of(event: RecordedEvent) -> tuple[str, str, str | None, str]:
    return event.agent, event.session, event.tool, subject_of(event)


def decision_fields(decision: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the fields of a decision without the blame, the verdict first."""
    fields = [(name, value) for name, value in decision.items() if name != "blame"]
    return sorted(fields, key=lambda field: field[0] != "outcome")


def other_fields(answer: Mapping[str, Any]) -> list[str]:
    """Return the names of the fields of an answer other than its verdict."""
    return [name for name in answer if name not in HEADLINE]


def longest(results: Iterable[RecordedResult]) -> float:
    """Return the seconds from the start of an event to the end of its last hook."""
    ends = [result.started + (result.duration or 0.0) for result in results]
    return max(ends, default=0.0) or 1.0


# -- links


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
