"""The history in commands: how it is opened, and the names by which a user chooses events."""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.agents import AGENTS, CODING_AGENTS, get_agent
from anyhook.cli.output import console
from anyhook.cli.render import print_problems
from anyhook.errors import HistoryError, UnknownNameError, UsageError
from anyhook.history.ingest import ingest
from anyhook.history.sessions import find_session
from anyhook.history.store import History, explain_store_error
from anyhook.history.text import query_of
from anyhook.history.verdicts import NO_VERDICT, VERDICTS
from anyhook.model.events import all_events
from anyhook.model.suggest import did_you_mean
from anyhook.model.text import printable
from anyhook.model.tools import MCP_PREFIX, TOOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from rich.console import Console

    from anyhook.agents.spec import AgentSpec
    from anyhook.history.filters import Filter


def check_agent(name: str) -> None:
    """Raise `UnknownNameError` if there is no such agent; an empty name stands for all."""
    if name and name not in AGENTS:
        raise UnknownNameError("agent", name, AGENTS, list_all=True)


def canonical_event(name: str, agent: str) -> str:
    """Return `before_tool` for `PreToolUse`, and any other name as it is.

    The names of an agent come before those of all others. A name that means several events stays.
    """
    if name in all_events():
        return name

    def find(spec: AgentSpec) -> str | None:
        return spec.by_wire[name].canonical if name in spec.by_wire else None

    return _only_meaning(find, agent) or name


def canonical_tool(name: str, agent: str) -> str:
    """Return `shell` for `Bash`, and any other name as it is, like `canonical_event`."""
    if name in TOOLS:
        return name
    return _only_meaning(lambda spec: spec.vocabulary.canonical.get(name), agent) or name


def _only_meaning(find: Callable[[AgentSpec], str | None], agent: str) -> str | None:
    """Return what a name means to an agent, else to all; `None` if that is nothing, or several."""
    own = (agent,) if agent else ()
    for names in (own, CODING_AGENTS):
        meanings = {find(get_agent(agent_name)) for agent_name in names} - {None}
        if len(meanings) == 1:
            return meanings.pop()
    return None


def note_on_tool(name: str) -> str | None:
    """Return a note on a tool that no agent has, with a suggestion; names of MCP tools are free."""
    tools: dict[str, None] = dict.fromkeys(TOOLS)
    for agent in CODING_AGENTS:
        tools |= dict.fromkeys(get_agent(agent).tools)
    if not name or name in tools or name.startswith(MCP_PREFIX):
        return None
    hint = (
        did_you_mean(name, TOOLS)
        or did_you_mean(name, tools)
        or f"known: {', '.join(TOOLS)}, mcp__SERVER__TOOL"
    )
    return f"no agent has a tool {name!r}, and no event has it; {hint}"


def with_recorded_names(chosen: Filter, history: History) -> Filter:
    """Return a filter with the names that the history has for what a user has named.

    Raises:
        UsageError: If there is no such agent, decision or session.
    """
    check_agent(chosen.agent)
    outcomes = (*VERDICTS, NO_VERDICT)
    if chosen.verdict and chosen.verdict not in outcomes:
        raise UnknownNameError("decision", chosen.verdict, outcomes)
    if chosen.text and not query_of(chosen.text):
        raise UsageError(f"{chosen.text!r} has no letter and no digit to search for")
    session = chosen.session
    if session:
        session = find_session(history, session, chosen.agent).session
    return chosen._replace(
        session=session,
        project=project_path(chosen.project),
        event=canonical_event(chosen.event, chosen.agent),
        tool=canonical_tool(chosen.tool, chosen.agent),
    )


def project_path(directory: str) -> str:
    """Return the directory of a project as the history names it; empty for all projects."""
    # Links stay as the user wrote them, and `..` goes.
    return os.path.abspath(Path(directory).expanduser()) if directory else ""  # noqa: PTH100


def print_no_events(out: Console, options: Mapping[str, str | bool], *, what: str) -> None:
    """Print that no event (`what`) was found, and how to fill the history if it is empty."""
    used = [name for name, value in options.items() if value]
    if used:
        *others, last = used
        names = f"{', '.join(others)} and {last}" if others else last
        out.print(f"No {what} matches {names}.")
        return
    out.print("The history is empty: nothing was recorded or imported yet. To fill it:")
    out.print("  anyhook history record on  records what hooks decide from now on")
    out.print("  anyhook history import     reads the sessions that agents have left on disk")


def print_notes(notes: Iterable[str]) -> None:
    """Print notes to standard error."""
    for note in notes:
        console(stderr=True).print(f"note: {note}", soft_wrap=True)


def notes_on(chosen: Filter, history: History) -> Iterator[str]:
    """Yield why a filter may have found nothing: its names that are unknown."""
    from anyhook.history.hooks import hook_labels  # takes 5 ms, and most searches find something

    events = all_events()
    if chosen.event and chosen.event not in events:
        hint = did_you_mean(chosen.event, events) or f"known: {', '.join(events)}"
        yield f"there is no event {printable(chosen.event)!r}; {hint}"
    tool = note_on_tool(chosen.tool)
    if tool is not None:
        yield tool
    hooks = hook_labels(history)
    is_about_hooks = chosen.hook or chosen.failed or chosen.verdict not in ("", NO_VERDICT)
    if not history.newest_event():
        yield "the history is empty; to fill it: anyhook history record on, anyhook history import"
    elif is_about_hooks and not hooks:
        yield (
            "no hook has run on any event of the history: transcripts hold what agents did, and "
            "what hooks decided is known where anyhook history record was on. What a hook would "
            "have decided: anyhook backtest HOOK.py; what agents and users refused: --refused"
        )
    elif chosen.hook and chosen.hook not in hooks:
        hint = did_you_mean(chosen.hook, hooks) or "anyhook history stats lists them"
        yield f"no hook named {chosen.hook!r} has run; {hint}"


@contextmanager
def open_history() -> Iterator[History]:
    """Open the history with everything that was recorded until now, and report its problems.

    Raises:
        HistoryError: If it cannot be opened.
    """
    with History.open() as history:
        try:
            problems = ingest(history).problems
            if history.set_aside:
                problems.insert(0, history.set_aside)
            print_problems(problems)
            yield history
        except sqlite3.DatabaseError as error:
            raise HistoryError(explain_store_error(history.path, error, "read")) from error
