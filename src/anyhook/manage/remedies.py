"""Mechanical remedies for problems: what `anyhook check --fix` and the panel apply."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.engine.hook_files import path_variables
from anyhook.manage.paths import show_path
from anyhook.model.definitions import handlers_of
from anyhook.model.layers import Layer
from anyhook.model.text import printable
from anyhook.settings.changes import EDITABLE_LAYERS, Change, read_source, read_text, write_changes
from anyhook.settings.companions import companion_changes, companion_path, program_words
from anyhook.settings.entries import enable_name, switch_hooks_on
from anyhook.settings.write import stay_inside
from anyhook.trust.scripts import program

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyhook.engine.engine import Engine
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.settings.reader import LoadedFile

FIX = "anyhook check --fix"
PROJECT_LAYERS = (Layer.PROJECT, Layer.LOCAL)


@dataclass(frozen=True, slots=True)
class Remedy:
    """What removes a problem.

    Attributes:
        text: What is done, for people.
        command: The command line that does the same.
    """

    text: str
    command: str
    apply: Callable[[], None]


def remedy_for(engine: Engine, diagnostic: Diagnostic) -> Remedy | None:
    """Return the remedy for a problem; `None` if it takes a decision of the user."""
    find = REMEDIES.get(diagnostic.code)
    if find is None or diagnostic.place is None:
        return None
    return find(engine, diagnostic)


def _make_executable(engine: Engine, diagnostic: Diagnostic) -> Remedy | None:
    """Set the mode of a script that may not be executed."""
    variables = path_variables(engine)
    for handler in handlers_of(engine.definitions):
        if handler.place != diagnostic.place:
            continue
        file = program(handler, engine.project_dir, {**variables, **handler.variables})
        if not isinstance(file, Path) or not file.is_file():
            return None
        # The settings of a project must not change the mode of files elsewhere.
        inside = engine.project_dir if handler.layer in PROJECT_LAYERS else None
        name = show_path(file, engine.project_dir)
        command = printable(shlex.join(("chmod", "+x", str(file))))
        return Remedy(f"make {name} executable", command, partial(_add_mode, file, inside))
    return None


def _add_mode(file: Path, inside: Path | None) -> None:
    """Let those execute a file who may read it."""
    if inside is not None:
        stay_inside(inside, file)
    mode = file.stat().st_mode
    file.chmod(mode | ((mode & 0o444) >> 2))


def _set_switch(engine: Engine, diagnostic: Diagnostic) -> Remedy | None:
    """Set the switch without which the agent runs no hooks."""
    file = _file_at(engine, diagnostic)
    toggles = [toggle for toggle in engine.agent.settings.hook_toggles if toggle.kind == "enabled"]
    if file is None or not toggles:
        return None
    path = show_path(file.source.path, engine.project_dir)
    text = f"set {'.'.join(toggles[0].path)} to true in {path}"
    return Remedy(text, FIX, partial(_edit, engine, file, partial(switch_hooks_on, engine.agent)))


def _remove_name(engine: Engine, diagnostic: Diagnostic) -> Remedy | None:
    """Remove a disabled name that no hook has."""
    file = _file_at(engine, diagnostic)
    if file is None:
        return None
    for name, place in file.disabled.items():
        if place == diagnostic.place:
            path = show_path(file.source.path, engine.project_dir)
            text = f"remove the name {printable(name)!r} from {path}"
            edit = partial(enable_name, engine.agent, name=name)
            return Remedy(text, FIX, partial(_edit, engine, file, edit))
    return None


def _write_companion(engine: Engine, diagnostic: Diagnostic) -> Remedy | None:
    """Write a file without which the agent runs no hooks."""
    for file in engine.hooks.files:
        path = file.source.path
        paths = [
            str(companion_path(companion, path)) for companion in engine.agent.settings.companions
        ]
        if diagnostic.place is None or diagnostic.place.file not in paths:
            continue
        if not file.definitions or file.source.layer not in EDITABLE_LAYERS:
            continue
        return _companion_remedy(engine, file, Path(diagnostic.place.file))
    return None


def _companion_remedy(engine: Engine, file: LoadedFile, companion: Path) -> Remedy:
    scope = "user" if file.source.layer is Layer.USER else "project"

    def apply() -> None:
        text = read_text(file.source.path)
        settings = Change(file.source.path, text, text, "Keep the settings", engine.agent)
        program_of_scope = program_words(scope)
        write_changes(
            companion_changes(engine.agent, settings, engine.project_dir, scope, program_of_scope)
        )

    return Remedy(f"write {show_path(companion, engine.project_dir)}", FIX, apply)


def _file_at(engine: Engine, diagnostic: Diagnostic) -> LoadedFile | None:
    """Return the settings file of a diagnostic, if it belongs to the user."""
    for file in engine.hooks.files:
        is_there = diagnostic.place is not None and str(file.source.path) == diagnostic.place.file
        if is_there and file.source.layer in EDITABLE_LAYERS:
            return file
    return None


def _edit(engine: Engine, file: LoadedFile, edit: Callable[[str, str], str]) -> None:
    path = file.source.path
    before = read_source(file.source, engine.project_dir)
    after = edit(before or "", str(path))
    write_changes([Change(path, before, after, "Apply a remedy", engine.agent)])


REMEDIES: dict[str, Callable[[Engine, Diagnostic], Remedy | None]] = {
    "not-executable": _make_executable,
    "switch-missing": _set_switch,
    "unknown-hook-name": _remove_name,
    "companion-missing": _write_companion,
    "companion-outdated": _write_companion,
}
"""Code of a problem to the function that finds its remedy."""
