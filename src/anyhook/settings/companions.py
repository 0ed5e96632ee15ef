"""The files that an agent needs next to its settings to run the hooks in them (`Companion`).

A companion holds a checksum of its own text, by which an edit by hand is distinguished from the
file of an older release of anyhook.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from anyhook.agents.spec.settings import HOOKS_PATH
from anyhook.errors import SettingsError
from anyhook.files import read_user_file
from anyhook.settings.changes import Change, parsed
from anyhook.settings.jsonc import dict_at
from anyhook.settings.sources import SIZE_LIMIT
from anyhook.settings.write import stay_inside

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from anyhook.agents.spec import AgentSpec
    from anyhook.agents.spec.settings import Companion

SHARED_PROGRAM = ("anyhook",)
"""The words that start anyhook in files that are shared by all users of a project."""
COMMAND = "__COMMAND__"
DIGEST = "__DIGEST__"
_CHECKSUM = re.compile(r"\b[0-9a-f]{64}\b")


class State(StrEnum):
    """What a companion is like."""

    CURRENT = "current"
    MISSING = "missing"
    OUTDATED = "outdated"
    """Another release of anyhook has written it."""
    CHANGED = "changed"
    """It was edited, or anyhook has not written it."""


class InstalledCompanion(NamedTuple):
    """A companion of a settings file, as it is on the disk.

    Attributes:
        text: Its text; `None` if it is missing or cannot be read.
        command: The command in it that runs the hooks; empty if there is none.
    """

    path: Path
    state: State
    text: str | None
    command: tuple[str, ...] = ()


def companion_path(companion: Companion, settings_file: Path) -> Path:
    """Return where the companion of a settings file is."""
    return settings_file.parent / companion.path


def render_companion(companion: Companion, command: Sequence[str]) -> str:
    """Return the text of a companion; `command` is the whole command that runs the hooks."""
    text = _template(companion).replace(COMMAND, json.dumps([*command]))
    return text.replace(DIGEST, _checksum(text), 1)


def find_companion(companion: Companion, settings_file: Path) -> InstalledCompanion:
    """Return what the companion of a settings file is like."""
    path = companion_path(companion, settings_file)
    try:
        text = read_user_file(path, SIZE_LIMIT).decode()
    except FileNotFoundError:
        return InstalledCompanion(path, State.MISSING, None)
    except (OSError, UnicodeDecodeError):
        return InstalledCompanion(path, State.CHANGED, None)
    command = _command_in(companion, text)
    checksum = _CHECKSUM.search(text)
    if checksum is None or _checksum(text.replace(checksum[0], DIGEST, 1)) != checksum[0]:
        return InstalledCompanion(path, State.CHANGED, text, command)
    is_current = bool(command) and render_companion(companion, command) == text
    state = State.CURRENT if is_current else State.OUTDATED
    return InstalledCompanion(path, state, text, command)


def program_words(scope: str, python: str | None = None) -> tuple[str, ...]:
    """Return the words that start anyhook in a companion of settings of a scope (`SCOPES`).

    The user may name the interpreter.
    """
    if scope == "project" and python is None:
        return SHARED_PROGRAM
    return (python or sys.executable, "-P", "-m", "anyhook")


def companion_changes(
    agent: AgentSpec, settings: Change, project: Path, scope: str, program: Sequence[str]
) -> list[Change]:
    """Return the changes that write or remove the companions of a changed settings file.

    They are written if the settings have hooks, and removed with the last one. The scope is a key
    of `SCOPES`, and the program the words that start anyhook.

    Raises:
        SettingsError: If a companion was edited by hand and is to be removed, or if a link of the
            repository leads out of the project.
    """
    changes: list[Change] = []
    events = dict_at(parsed(settings.after or "", settings.path), HOOKS_PATH)
    has_hooks = any(events[name] for name in events.keys() - agent.settings.non_event_keys)
    for companion in agent.settings.companions:
        installed = find_companion(companion, settings.path)
        path, before = installed.path, installed.text
        if scope != "user":
            stay_inside(project, path)
        if has_hooks:
            after = render_companion(companion, (*program, *companion.command))
            why = f"Let {agent.title} run the hooks of {settings.path.name}"
            changes.append(Change(path, before, after, why, agent))
        elif installed.state is State.CHANGED:
            message = "it was edited and no hook needs it any more; remove it yourself"
            raise SettingsError(message, path=str(path))
        elif installed.state is not State.MISSING:
            changes.append(Change(path, before, None, "No hook needs it any more", agent))
    return changes


def _template(companion: Companion) -> str:
    package, _, name = companion.template.partition(":")
    from importlib.resources import files

    return files(package).joinpath(name).read_text(encoding="utf-8")


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _command_in(companion: Companion, text: str) -> tuple[str, ...]:
    """Return the command in a companion: it stands where the template has its placeholder."""
    before = _template(companion).partition(COMMAND)[0].rpartition("\n")[2]
    for line in text.splitlines():
        if not line.startswith(before):
            continue
        try:
            words = json.loads(line.removeprefix(before))
        except ValueError:
            return ()
        if isinstance(words, list) and all(isinstance(word, str) for word in words):
            return tuple(words)
    return ()
