"""Names of migrated hooks, for agents that show hooks and switch them off by name."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from anyhook.migrate.commands import unwrap

if TYPE_CHECKING:
    from anyhook.agents.spec import AgentSpec

_SCRIPT = re.compile(
    r"(?:.*/)?([\w.-]*\w)\.(?:py|sh|bash|zsh|fish|js|mjs|cjs|ts|rb|pl|php|ps1|lua)\Z"
)


def has_names(agent: AgentSpec) -> bool:
    """Return whether an agent switches hooks off by their names."""
    return any(switch.kind == "disabled" for switch in agent.hook_toggles)


def script_name(command: str) -> str | None:
    """Return the name of the script that a command runs, without directories and ending.

    Args:
        command: A command line, behind the shim or not.
    """
    options = unwrap(command)
    if options is not None and len(options.command) > 1:
        words = list(options.command)
    else:
        line = command if options is None else options.command[0]
        try:
            words = shlex.split(line)
        except ValueError:
            words = line.split()
    scripts = (_SCRIPT.match(word) for word in words)
    return next((script[1] for script in scripts if script), None)


def is_generated(name: str, command: str) -> bool:
    """Return whether a migration would give a command this name."""
    script = script_name(command)
    return script is not None and re.fullmatch(rf"{re.escape(script)}(?:-\d+)?", name) is not None


class Names:
    """The names of the hooks of one migration: one for each command."""

    def __init__(self) -> None:
        self._commands: dict[str, str] = {}

    def reserve(self, name: str, command: str) -> None:
        """Note a name that a hook has already."""
        self._commands.setdefault(name, command)

    def name(self, command: str) -> str | None:
        """Return a name for a command; `None` if it runs no script."""
        script = script_name(command)
        if script is None:
            return None
        number = 1
        while True:
            name = script if number == 1 else f"{script}-{number}"
            if self._commands.setdefault(name, command) == command:
                return name
            number += 1
