"""Write what shells complete into a table, from the commands and the tables of the agents.

A completion reads the table: importing the commands takes longer than a user waits for it.
"""

from __future__ import annotations

import json
from enum import Enum
from pathlib import Path
from typing import Any

import typer

from anyhook.agents import AGENTS, get_agent
from anyhook.cli.app import make_app
from anyhook.cli.completion_words import TABLE

KINDS_OF_METAVARS = {
    "AGENT": "agent",
    "EVENT": "event",
    "HOOK": "hook",
    "RULES": "rules",
    "DIR": "directory",
    "NUMBER": "",
}
KINDS_OF_NAMES = {
    "event": "event",
    "session": "session",
    "tool": "tool",
    "hook": "hook",
    "outcome": "outcome",
    "scope": "scope",
}
"""Names of parameters whose metavar names no kind."""
CANONICAL = {"event": "canonical event", "tool": "canonical tool"}
COMMANDS_OF_THE_HISTORY = frozenset({"history", "backtest", "replay"})
"""Commands whose events and tools have canonical names."""
LONGEST_HELP = 60


def _kind(parameter: Any, path: tuple[str, ...]) -> str | list[str]:
    """Return what the value of a parameter is: words, a kind, or nothing that is known."""
    annotation = parameter.type_descriptor.annotation
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return [str(member.value) for member in annotation]
    metavar = (parameter.metavar or "").strip("[]").rstrip(".")
    if metavar in KINDS_OF_METAVARS:
        kind = KINDS_OF_METAVARS[metavar]
    elif isinstance(annotation, type) and issubclass(annotation, Path):
        return "file"
    else:
        kind = KINDS_OF_NAMES.get(parameter.name, "")
    if path[:1] and path[0] in COMMANDS_OF_THE_HISTORY:
        kind = CANONICAL.get(kind, kind)
    return kind


def _short(text: str | None) -> str:
    line = " ".join((text or "").split()).partition(". ")[0].rstrip(".")
    return line if len(line) <= LONGEST_HELP else line[: LONGEST_HELP - 1] + "…"


def _command(command: Any, path: tuple[str, ...] = ()) -> dict[str, Any]:
    options: list[dict[str, Any]] = []
    arguments: list[Any] = []
    for parameter in command.params:
        if getattr(parameter, "hidden", False):
            continue
        if parameter.param_type_name == "argument":
            kind = _kind(parameter, path)
            arguments.append({"kind": kind, "repeats": parameter.nargs == -1})
            continue
        option = {
            "names": [*parameter.opts, *parameter.secondary_opts],
            "help": _short(parameter.help),
            "repeats": bool(parameter.multiple),
        }
        if not parameter.is_flag and not parameter.count:
            option["kind"] = _kind(parameter, path)
        options.append(option)
    options.append({"names": ["--help", "-h"], "help": "Show this message", "repeats": False})
    commands = {
        name: _command(child, (*path, name))
        for name, child in getattr(command, "commands", {}).items()
        if not child.hidden
    }
    return {
        "help": _short(command.help),
        "options": options,
        "arguments": arguments,
        "commands": commands,
    }


def generate() -> dict[str, Any]:
    """Return the table."""
    agents = {name: get_agent(name) for name in AGENTS}
    events: dict[str, None] = {}
    tools: dict[str, None] = {}
    for agent in agents.values():
        events.update(dict.fromkeys(spec.canonical for spec in agent.events))
        tools.update(dict.fromkeys(agent.vocabulary.tools))
    return {
        "events": {name: [spec.wire for spec in agent.events] for name, agent in agents.items()},
        "tools": {name: [*agent.tools] for name, agent in agents.items()},
        "canonical events": list(events),
        "canonical tools": list(tools),
        "root": _command(typer.main.get_command(make_app([]))),
    }


if __name__ == "__main__":
    text = json.dumps(generate(), indent=1, ensure_ascii=False)
    TABLE.write_text(text + "\n", encoding="utf-8")
