"""Write the options of all commands into a table, which a completion reads.

Importing the commands takes longer than a user waits for a completion.
"""

from __future__ import annotations

import json
from enum import Enum
from pathlib import Path
from typing import Any

import typer

from anyhook.cli.app import make_app
from anyhook.cli.completion_words import REPEATS, TABLE

KINDS_OF_METAVARS = {
    "AGENT": "agent",
    "EVENT": "event",
    "HOOK": "hook",
    "ID": "call",
    "NAME | FILE": "guard",
    "RULES": "rules",
    "settings|EVENT": "event",
}
KINDS_OF_NAMES = frozenset({"agent", "event", "session", "tool", "hook", "outcome", "scope"})
"""Names of parameters that are kinds, too."""
MAX_HELP = 60


def _kind(parameter: Any) -> str:
    """Return what the value of a parameter is: words, a kind, or nothing that is known."""
    annotation = parameter.type_descriptor.annotation
    metavar = (parameter.metavar or "").rstrip(".").strip("[]")
    is_class = isinstance(annotation, type)
    if is_class and issubclass(annotation, Enum):
        kind = "|".join(str(member.value) for member in annotation)
    elif metavar in KINDS_OF_METAVARS:
        kind = KINDS_OF_METAVARS[metavar]
    elif is_class and issubclass(annotation, Path):
        kind = ""
    else:
        kind = parameter.name if parameter.name in KINDS_OF_NAMES and metavar != "NUMBER" else ""
    repeats = parameter.nargs == -1 or getattr(parameter, "multiple", False)
    return kind + REPEATS if repeats else kind


def _add(table: dict[str, Any], command: Any, path: str) -> None:
    """Add a command and those below it."""
    options: dict[str, str | None] = {}
    arguments: list[str] = []
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            arguments.append(_kind(parameter))
        elif not parameter.hidden:
            has_value = not parameter.is_flag and not parameter.count
            kind = _kind(parameter) if has_value else None
            options.update(dict.fromkeys([*parameter.opts, *parameter.secondary_opts], kind))
    text = " ".join((command.help or "").split()).partition(". ")[0].rstrip(".")
    text = text if len(text) <= MAX_HELP else text[: MAX_HELP - 1] + "…"
    options["--help"] = None
    table[path] = {"help": text, "arguments": arguments, "options": options}
    for name, child in getattr(command, "commands", {}).items():
        if not child.hidden:
            _add(table, child, f"{path} {name}".strip())


def generate() -> dict[str, Any]:
    """Return the table: the words of each command to its help, arguments and options."""
    table: dict[str, Any] = {}
    _add(table, typer.main.get_command(make_app([])), "")
    return table


if __name__ == "__main__":
    lines = [f"{json.dumps(n)}: {json.dumps(v, ensure_ascii=False)}" for n, v in generate().items()]
    text = ",\n".join(lines)
    TABLE.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")
