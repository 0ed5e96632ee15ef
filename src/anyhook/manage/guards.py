"""The hooks that a command line names to be measured, and the kinds of danger that they are for."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.authoring.inspect import builds_hooks
from anyhook.authoring.load import load_hooks
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.errors import UsageError
from anyhook.journal.records import is_recorder_command
from anyhook.manage.hooks import configured_handlers, find_hook
from anyhook.manage.scope import one_agent
from anyhook.model.definitions import unique_labels
from anyhook.redteam.asking import Guard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyhook.sandbox.keeper import Run

_FAMILIES = re.compile(r"^\s*Families: *(.+?)\.?\s*$", re.MULTILINE)


def guards_named(
    names: Sequence[str], project: Path, agent: str | None, *, trust_once: bool
) -> list[Guard]:
    """Return the hooks that names stand for.

    Args:
        names: Paths of Python hook files, and names of hooks in the settings, as `anyhook list`
            shows them; none for all hooks of the settings.
        project: Directory of the project.
        agent: Whose payloads they get; `None` for the agent with hooks here.
        trust_once: Whether hooks of the settings may run that the user has not trusted.

    Raises:
        UsageError: If a name stands for no hook or for several, or the hooks are not trusted.
    """
    files = [name for name in names if _is_hook_file(Path(name))]
    agent_name = one_agent(project, agent)
    guards = [Guard(name, agent_name, str(project), str(Path(name).resolve())) for name in files]
    others = [name for name in names if name not in files]
    if names and not others:
        return guards
    engine = Engine.load(project, agent=agent_name, trust_once=trust_once, on_message=discard)
    is_trusted = not engine.guard.changes()
    if not (is_trusted or trust_once):
        raise UsageError(
            "hooks of the settings are not trusted and were not run; read them and add "
            "--trust-once, or see: anyhook trust"
        )
    if others:
        groups = {name: find_hook(engine, name) for name in others}
    else:
        groups = {}
        handlers = configured_handlers(engine)
        for handler in handlers:
            if not is_recorder_command(handler.command or ""):
                groups.setdefault(unique_labels(handlers)[id(handler)], []).append(handler)
        if not groups:
            raise UsageError(f"there are no hooks in {project}; name a hook file")
    for title, handlers in groups.items():
        places = tuple(handler.place for handler in handlers)
        guards.append(Guard(title, agent_name, str(project), places=places, is_trusted=True))
    return guards


def _is_hook_file(path: Path) -> bool:
    try:
        return path.is_file() and path.suffix == ".py" and builds_hooks(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error


def claimed_families(_run: Run, path: str) -> list[str]:
    """Return the kinds of danger that a hook file is for, as a function of a sandbox.

    They are those of `hooks.about(families=…)`, else those in a line `Families: git, secrets` of
    the docstring.

    Raises:
        UsageError: If it is not a hook file, or cannot be imported.
    """
    hooks = load_hooks(path)
    if hooks.families or not hooks.functions:
        return list(hooks.families)
    module = sys.modules.get(hooks.functions[0].function.__module__)
    line = _FAMILIES.search(module.__doc__ or "") if module else None
    return [name.strip() for name in line[1].split(",")] if line else []
