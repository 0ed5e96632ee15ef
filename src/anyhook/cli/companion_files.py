"""The companions of settings files, as edits of the commands that write hooks."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from anyhook.cli.editing import Edit, parsed
from anyhook.errors import SettingsError
from anyhook.settings.companions import State, find_companion, render
from anyhook.settings.jsonc import value_at
from anyhook.settings.write import stay_inside

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from anyhook.agents.spec import AgentSpec

SHARED_PROGRAM = ("anyhook",)
"""The words that start anyhook in files that are shared by all users of a project."""


def program_words(scope: str, python: str | None = None) -> tuple[str, ...]:
    """Return the words that start anyhook in a companion.

    Args:
        scope: Whose settings: a key of `LAYERS`.
        python: The interpreter that the user names.
    """
    if scope == "project" and python is None:
        return SHARED_PROGRAM
    return (python or sys.executable, "-P", "-m", "anyhook")


def companion_edits(edit: Edit, project: Path, scope: str, program: Sequence[str]) -> list[Edit]:
    """Return the edits that write or remove the companions of an edited settings file.

    They are written if the settings have hooks, and removed with the last one.

    Args:
        edit: The edit of the settings.
        project: Directory of the project.
        scope: Whose settings: a key of `LAYERS`.
        program: The words that start anyhook.

    Raises:
        SettingsError: If a companion was edited by hand and is to be removed, or if a link of the
            repository leads out of the project.
    """
    edits: list[Edit] = []
    has_hooks = _has_hooks(edit.agent, edit.after or "", edit.path)
    for companion in edit.agent.companions:
        found = find_companion(companion, edit.path)
        if scope != "user":
            stay_inside(project, found.path)
        if has_hooks:
            text = render(companion, (*program, *companion.command))
            edits.append(Edit(edit.agent, found.path, found.text, text))
        elif found.state is State.CHANGED:
            raise SettingsError(
                "it was edited and no hook needs it any more; remove it yourself",
                path=str(found.path),
            )
        elif found.state is not State.MISSING:
            edits.append(Edit(edit.agent, found.path, found.text, None))
    return edits


def _has_hooks(agent: AgentSpec, text: str, path: Path) -> bool:
    events = value_at(parsed(text, path), agent.hooks_path)
    if not isinstance(events, dict):
        return False
    return any(events[name] for name in events.keys() - agent.non_event_keys)
