"""Templates, and how values are shown in them.

jinja2 escapes every value (`autoescape`). Before that, `_show` makes invisible characters visible
in every text, so that no template can forget it: a payload must not hide or reverse what is read.
"""

from __future__ import annotations

import hashlib
import json
import time
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from anyhook.history.describe import notes_of, problem_of, show_span, show_time, subject_of
from anyhook.history.verdicts import CRASH, FAILURES, NO_VERDICT, VERDICTS
from anyhook.model.answers import STRENGTH
from anyhook.model.text import count_of, printable, shorten
from anyhook.page.events import (
    author_results,
    blame_of,
    deciders,
    decision_fields,
    longest,
    other_fields,
    worst_trouble,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.page.links import PageLinks

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
        "iso": show_iso,
        "longest": longest,
        "notes": notes_of,
        "number": lambda value: f"{value:,}",
        "other_fields": other_fields,
        "one_line": lambda text: " ".join(str(text).split()),
        "pretty": show_json,
        "reject_blame": decision_fields,
        "share": lambda value: f"{value:.2%}",
        "short_path": short_path,
        "span": lambda seconds: "" if seconds is None else show_span(seconds),
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


def show_iso(timestamp: float) -> str:
    """Return a time for the attribute `datetime`."""
    return show_time(timestamp).replace(" ", "T")


def show_clock_or_day(timestamp: float) -> str:
    """Return the time of day of today, like `21:05:43`, or the day and time, like `11-21 21:05`."""
    text = show_time(timestamp)
    return text[11:] if text[:10] == show_time(time.time())[:10] else text[5:16]


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
    return text if len(text) <= length else text[: length - 1] + "…"


def title_of(agent: str) -> str:
    """Return the title of an agent."""
    from anyhook.agents import AGENTS, get_agent

    return get_agent(agent).title if agent in AGENTS else agent
