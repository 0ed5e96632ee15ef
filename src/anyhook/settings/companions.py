"""The files that an agent needs beside its settings to run the hooks in them (`Companion`).

A companion holds a checksum of its own text, by which an edit by hand is distinguished from the
file of an older release of anyhook.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from typing import TYPE_CHECKING

from anyhook.files import read_user_file
from anyhook.model.diagnostics import Diagnostic, Place, diagnose
from anyhook.model.layers import Layer
from anyhook.settings.sources import SIZE_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from anyhook.agents.spec import AgentSpec, Companion
    from anyhook.settings.hookset import HookSet

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


@dataclass(frozen=True, slots=True)
class InstalledCompanion:
    """A companion of a settings file, as it is on the disk.

    Attributes:
        path: The file.
        state: What it is like.
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


def render(companion: Companion, command: Sequence[str]) -> str:
    """Return the text of a companion.

    Args:
        companion: The companion.
        command: The words of the whole command that runs the hooks.
    """
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
    is_current = bool(command) and render(companion, command) == text
    state = State.CURRENT if is_current else State.OUTDATED
    return InstalledCompanion(path, state, text, command)


def check_companions(agent: AgentSpec, hooks: HookSet) -> Iterator[Diagnostic]:
    """Report settings files with hooks whose companion is missing, outdated or edited.

    Args:
        agent: The agent.
        hooks: Its hooks.
    """
    for file in hooks.files:
        for companion in agent.companions if file.definitions else ():
            scope = "user" if file.source.layer is Layer.USER else "project"
            command = f"anyhook install HOOK.py --agent {agent.name} --scope {scope}"
            found = find_companion(companion, file.source.path)
            name, place = found.path.name, Place(str(found.path))
            match found.state:
                case State.MISSING:
                    text = f"{agent.title} runs no hook without the file {name}, which is missing"
                    yield diagnose("companion-missing", f"{text}; write it with: {command}", place)
                case State.OUTDATED:
                    text = f"another release of anyhook has written {name}"
                    yield diagnose("companion-outdated", f"{text}; renew it with: {command}", place)
                case State.CHANGED:
                    text = f"{name} was edited, so hooks may not run as configured"
                    yield diagnose("companion-changed", f"{text}; renew it with: {command}", place)


def _template(companion: Companion) -> str:
    package, _, name = companion.template.partition(":")
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
