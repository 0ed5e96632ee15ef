"""Mechanical remedies for problems: what `anyhook check --fix` and the panel apply."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.cli.companion_files import companion_edits, program_words
from anyhook.cli.editing import Edit, read_text
from anyhook.cli.options import configured_handlers
from anyhook.cli.output import show_path
from anyhook.cli.switching import EDITABLE_LAYERS, disabled_lists, read_for_edit
from anyhook.engine.hook_files import path_variables
from anyhook.model.layers import Layer
from anyhook.model.text import printable
from anyhook.settings.companions import companion_path
from anyhook.settings.edit import prune, remove_item, set_member
from anyhook.settings.write import stay_inside, write_atomically
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
        apply: Does it.
    """

    text: str
    command: str
    apply: Callable[[], None]


def remedy_for(engine: Engine, diagnostic: Diagnostic) -> Remedy | None:
    """Return the remedy for a problem; `None` if it takes a decision of the user.

    Args:
        engine: The hooks that it is about.
        diagnostic: The problem.
    """
    find = REMEDIES.get(diagnostic.code)
    if find is None or diagnostic.place is None:
        return None
    return find(engine, diagnostic)


def _make_executable(engine: Engine, diagnostic: Diagnostic) -> Remedy | None:
    """Set the mode of a script that may not be executed."""
    variables = path_variables(engine)
    for handler in configured_handlers(engine):
        if handler.place != diagnostic.place:
            continue
        file = program(handler, engine.project_dir, {**variables, **handler.variables})
        if not isinstance(file, Path) or not file.is_file():
            return None
        # The settings of a project must not change the mode of files elsewhere.
        inside = engine.project_dir if handler.layer in PROJECT_LAYERS else None
        shown = show_path(str(file), engine.project_dir)
        command = printable(shlex.join(("chmod", "+x", str(file))))
        return Remedy(f"make {shown} executable", command, partial(_add_mode, file, inside))
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
    toggles = [toggle for toggle in engine.agent.hook_toggles if toggle.kind == "enabled"]
    if file is None or not toggles:
        return None
    path = toggles[0].path

    def apply() -> None:
        _edit(engine, file, lambda text, name: set_member(text, path, True, file=name))

    return Remedy(f"set {'.'.join(path)} to true in {_shown(engine, file)}", FIX, apply)


def _remove_name(engine: Engine, diagnostic: Diagnostic) -> Remedy | None:
    """Remove a disabled name that no hook has."""
    file = _file_at(engine, diagnostic)
    if file is None:
        return None
    for name, place in file.disabled.items():
        if place == diagnostic.place:
            text = f"remove the name {printable(name)!r} from {_shown(engine, file)}"
            return Remedy(text, FIX, partial(_edit, engine, file, _remover(engine, name)))
    return None


def _remover(engine: Engine, name: str) -> Callable[[str, str], str]:
    def remove(text: str, file: str) -> str:
        for keys in disabled_lists(engine.agent):
            shorter = remove_item(text, keys, name, file=file)
            if shorter != text:
                text = prune(shorter, keys, file=file)
        return text

    return remove


def _write_companion(engine: Engine, diagnostic: Diagnostic) -> Remedy | None:
    """Write a file without which the agent runs no hooks."""
    for file in engine.hooks.files:
        path = file.source.path
        paths = [str(companion_path(companion, path)) for companion in engine.agent.companions]
        if diagnostic.place is None or diagnostic.place.file not in paths:
            continue
        if not file.definitions or file.source.layer not in EDITABLE_LAYERS:
            continue
        return _companion_remedy(engine, file, Path(diagnostic.place.file))
    return None


def _companion_remedy(engine: Engine, file: LoadedFile, companion: Path) -> Remedy:
    scope = "user" if file.source.layer is Layer.USER else "project"

    def apply() -> None:
        before = read_text(file.source.path)
        settings = Edit(engine.agent, file.source.path, before, before)
        program_of_scope = program_words(scope)
        for edit in companion_edits(settings, engine.project_dir, scope, program_of_scope):
            if edit.changes and edit.after is not None:
                write_atomically(edit.path, edit.after, expected=edit.before)

    return Remedy(f"write {show_path(str(companion), engine.project_dir)}", FIX, apply)


def _file_at(engine: Engine, diagnostic: Diagnostic) -> LoadedFile | None:
    """Return the settings file of a diagnostic, if it belongs to the user."""
    for file in engine.hooks.files:
        is_there = diagnostic.place is not None and str(file.source.path) == diagnostic.place.file
        if is_there and file.source.layer in EDITABLE_LAYERS:
            return file
    return None


def _shown(engine: Engine, file: LoadedFile) -> str:
    return show_path(str(file.source.path), engine.project_dir)


def _edit(engine: Engine, file: LoadedFile, change: Callable[[str, str], str]) -> None:
    before = read_for_edit(engine, file.source)
    after = change(before or "", str(file.source.path))
    if after != before:
        write_atomically(file.source.path, after, expected=before)


REMEDIES: dict[str, Callable[[Engine, Diagnostic], Remedy | None]] = {
    "not-executable": _make_executable,
    "switch-missing": _set_switch,
    "unknown-hook-name": _remove_name,
    "companion-missing": _write_companion,
    "companion-outdated": _write_companion,
}
"""Code of a problem to the function that finds its remedy."""
