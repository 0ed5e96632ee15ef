"""Names of migrated hooks, for agents that show hooks and switch them off by name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from anyhook.migrate.commands import unwrap
from anyhook.shell.words import split_words

if TYPE_CHECKING:
    from anyhook.agents.spec import AgentSpec

_SCRIPT = re.compile(
    r"(?:.*/)?([\w.-]*\w)\.(?:py|sh|bash|zsh|fish|js|mjs|cjs|ts|rb|pl|php|ps1|lua)\Z"
)


def has_names(agent: AgentSpec) -> bool:
    """Return whether an agent switches hooks off by their names."""
    return any(switch.kind == "disabled" for switch in agent.settings.hook_toggles)


def script_name(command: str) -> str | None:
    """Return the name of the script that a command runs, without directories and suffix."""
    options = unwrap(command)
    if options is not None and len(options.command) > 1:
        words = list(options.command)
    else:
        line = command if options is None else options.command[0]
        words = split_words(line) or line.split()
    for word in words:
        script = _SCRIPT.match(word)
        if script:
            return script[1]
    return None


def is_generated(name: str, command: str) -> bool:
    """Return whether a migration would give a command this name."""
    script = script_name(command)
    return script is not None and re.fullmatch(rf"{re.escape(script)}(?:-\d+)?", name) is not None


class Names:
    """The names of the hooks of one migration: one for each command."""

    def __init__(self) -> None:
        self._commands: dict[str, str] = {}

    def reserve(self, name: str, command: str) -> None:
        """Reserve a name that a hook already has."""
        self._commands.setdefault(name, command)

    def choose(self, command: str) -> str | None:
        """Return a name for a command; `None` if it runs no script."""
        script = script_name(command)
        if script is None:
            return None
        name = script
        number = 1
        while self._commands.setdefault(name, command) != command:
            number += 1
            name = f"{script}-{number}"
        return name
