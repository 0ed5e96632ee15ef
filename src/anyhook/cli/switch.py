"""`anyhook enable` and `anyhook disable`: switch one hook, in the right file, keeping comments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from anyhook.cli import OK, PROBLEMS
from anyhook.cli.editing import read_text
from anyhook.cli.options import HERE, AsJson, DialectName, Project, existing_project
from anyhook.cli.output import console, print_json, say_error, show_path
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.errors import SettingsError, UnknownNameError, UsageError
from anyhook.model.layers import Layer
from anyhook.settings.edit import add_item, remove_item, stay_inside, write_atomically

if TYPE_CHECKING:
    from pathlib import Path

    from anyhook.model.definitions import HandlerSpec
    from anyhook.settings.reader import LoadedFile

OWN = (Layer.PROJECT, Layer.LOCAL, Layer.USER)
"""Layers whose files belong to the user."""
HookName = Annotated[
    str, typer.Argument(metavar="NAME", help="Name of the hook; its command if it has no name.")
]


def disable(
    name: HookName,
    project: Project = HERE,
    dialect: DialectName = "gemini",
    as_json: AsJson = False,
) -> int:
    """Switch a hook off, in the settings file of its own layer.

    Comments, order and indentation of the file stay. A hook of the system layer cannot be switched
    off from here.

    For example:

        anyhook disable secret-guard
    """
    engine = Engine.load(existing_project(project), dialect=dialect, on_message=discard)
    handlers = _handlers(engine, name)
    layer = max((h.layer for h in handlers), key=lambda la: engine.dialect.authority[la])
    file = _editable(engine, layer)
    path = next(
        (s.path for s in engine.dialect.switches if s.kind == "disabled" and not s.legacy), None
    )
    if path is None:
        raise UsageError(
            f"{engine.dialect.title} cannot switch one hook off; take it out of "
            f"{show_path(handlers[0].place.file)}, line {handlers[0].place.line}"
        )
    before = _text(engine, file)
    after = add_item(before or "", path, handlers[0].identifier, file=str(file.source.path))
    if after != before:
        write_atomically(file.source.path, after, expected=before)
    return _report(engine, name, [file.source.path] if after != before else [], as_json)


def enable(
    name: HookName,
    project: Project = HERE,
    dialect: DialectName = "gemini",
    as_json: AsJson = False,
) -> int:
    """Switch a hook on again, in every file of yours that switches it off.

    Exits with 1 if it stays off, because the system layer switched it off or hooks are off as a
    whole.

    For example:

        anyhook enable secret-guard
    """
    engine = Engine.load(existing_project(project), dialect=dialect, on_message=discard)
    identifier = _handlers(engine, name)[0].identifier
    changed = []
    for file in engine.hooks.files:
        if identifier not in file.disabled or file.source.layer not in OWN:
            continue
        before = after = _text(engine, file) or ""
        for switch in engine.dialect.switches:
            if switch.kind == "disabled":
                after = remove_item(after, switch.path, identifier, file=str(file.source.path))
        if after != before:
            write_atomically(file.source.path, after, expected=before)
            changed.append(file.source.path)
    return _report(engine, name, changed, as_json, wanted_on=True)


def _handlers(engine: Engine, name: str) -> list[HandlerSpec]:
    everything = [h for d in engine.definitions for h in d.handlers]
    found = [h for h in everything if name == h.identifier]
    found = found or [h for h in everything if name == h.label]
    if len({h.identifier for h in found}) > 1:
        places = ", ".join(str(h.place) for h in found)
        raise UsageError(f"{name!r} is short for several hooks ({places}); write the whole command")
    if not found:
        broken = next((d for d in engine.hooks.diagnostics if d.code.startswith("settings-")), None)
        if broken is not None:
            raise UsageError(
                f"no hook named {name!r} can be found while a file is broken: {broken}"
            )
        known = dict.fromkeys(h.shown_identifier for h in everything)
        raise UnknownNameError("hook", name, known)
    return found


def _editable(engine: Engine, layer: Layer) -> LoadedFile:
    """Return the file that switches hooks of a layer off: its own, or the user's."""
    authority = engine.dialect.authority
    home = layer if layer in OWN else Layer.USER
    if authority[layer] > authority[home]:
        own = next(f for f in engine.hooks.files if f.source.layer is layer)
        raise SettingsError(
            f"the hook belongs to the {layer} layer, which its administrator switches",
            path=str(own.source.path),
        )
    file = next((f for f in engine.hooks.files if f.source.layer is home), None)
    if file is None:  # the project is the home directory: both are one file
        file = next(f for f in engine.hooks.files if f.source.layer is Layer.USER)
    return file


def _text(engine: Engine, file: LoadedFile) -> str | None:
    """Read a settings file that is going to be edited.

    Raises:
        SettingsError: If it cannot be read, or a link of the repository leads out of the project.
    """
    if file.source.layer is not Layer.USER:
        stay_inside(engine.project_dir, file.source.path)
    return read_text(file.source.path)


def _report(
    engine: Engine, name: str, changed: list[Path], as_json: bool, *, wanted_on: bool = False
) -> int:
    engine.reload()
    off = engine.hooks.switched_off(_handlers(engine, name)[0])
    if as_json:
        print_json(
            {
                "name": name,
                "state": "off" if off else "on",
                "switched_off_by": off,
                "changed": [str(path) for path in changed],
            }
        )
    else:
        word = "off" if off else "on"
        where = ", ".join(show_path(str(path)) for path in changed)
        done = f"switched {word} in {where}" if changed else f"was {word} already"
        console().print(f"{name!r} {done}", markup=False)
        if off and wanted_on:
            say_error(f"{name!r} stays off: {off} switches it off")
    return PROBLEMS if off and wanted_on else OK
