"""What keys of the panel do, by the functions of the commands, and the command line for each."""

from __future__ import annotations

import os
import shlex
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyhook.cli.panel.snapshot import PanelHook, command_line
from anyhook.cli.render import show_place
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.errors import UsageError
from anyhook.manage.hooks import all_handlers, handlers_named
from anyhook.manage.paths import show_path
from anyhook.manage.switching import switch_hook
from anyhook.model.layers import Layer
from anyhook.settings.changes import exclusive_edits
from anyhook.settings.entries import disabled_lists

if TYPE_CHECKING:
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.diagnostics import Place

LINE_OPTIONS = {
    "code": ("--goto", "{file}:{line}"),
    "codium": ("--goto", "{file}:{line}"),
    "cursor": ("--goto", "{file}:{line}"),
    "subl": ("{file}:{line}",),
    "hx": ("{file}:{line}",),
    "helix": ("{file}:{line}",),
    "zed": ("{file}:{line}",),
}
"""Program to the arguments with which it opens a line; all others take `+LINE FILE`."""
EDITORS = ("sensible-editor", "nano", "vim", "vi")
"""Programs to try if the user has named none."""


@dataclass(frozen=True, slots=True)
class ActionResult:
    """What an action has done."""

    text: str
    command: str
    """The command line that does the same."""
    warning: str = ""
    is_problem: bool = False
    """Whether it did not do what it should."""


def switch_command(hook: PanelHook) -> str:
    """Return the command line that switches a hook: on if it is off, otherwise off."""
    command = "disable" if hook.is_on else "enable"
    engine = hook.engine
    return command_line(engine.project_dir, command, name_of(hook), "--agent", engine.agent.name)


def shadow_command(hook: PanelHook) -> str:
    """Return the command line that makes a hook a shadow, or lets a shadow decide."""
    command = "enable" if hook.handler.shadow else "shadow"
    engine = hook.engine
    return command_line(engine.project_dir, command, name_of(hook), "--agent", engine.agent.name)


def name_of(hook: PanelHook) -> str:
    """Return the shortest name by which commands find a hook and no other one."""
    handler = hook.handler
    handlers = all_handlers(hook.engine)
    for name in (hook.row.label, show_place(handler.place, short=True)):
        matches = handlers_named(name, handlers)
        if matches and all(_is_switched_with(hook, match) for match in matches):
            return name
    return exact_place(handler)


def exact_place(handler: HandlerSpec) -> str:
    """Return the place of a hook as commands accept it."""
    return f"{handler.place.file}:{handler.place.line}"


def _is_switched_with(hook: PanelHook, other: HandlerSpec) -> bool:
    """Return whether switching a hook has to switch another one, or the same one."""
    handler = hook.handler
    if other.identifier != handler.identifier:
        return False
    return bool(disabled_lists(hook.engine.agent)) or exact_place(other) == exact_place(handler)


def switched_together(hook: PanelHook) -> list[str]:
    """Return the places of the other hooks that are switched with one.

    Agents with a list of disabled hooks name them in it, and a name stands for every hook that has
    it. All other hooks are switched by their place.
    """
    return [
        show_place(other.place, hook.engine.project_dir)
        for other in all_handlers(hook.engine)
        if _is_switched_with(hook, other) and exact_place(other) != exact_place(hook.handler)
    ]


def switch(hook: PanelHook) -> ActionResult:
    """Switch a hook on if it is off, otherwise off.

    Raises:
        AnyhookError: If its file cannot be edited, or the hook is gone.
    """
    # The settings are read again: they may have changed since the hook was drawn.
    command = switch_command(hook)
    project, agent = hook.engine.project_dir, hook.engine.agent.name
    should_be_on = not hook.is_on
    with exclusive_edits():
        engine = Engine.load(project, agent=agent, on_message=discard)
        name, place = hook.handler.identifier, exact_place(hook.handler)
        equal = [other for other in all_handlers(engine) if other.identifier == name]
        if len(equal) > 1 and not disabled_lists(engine.agent):
            if not any(exact_place(other) == place for other in equal):
                raise UsageError(f"{hook.handler.label} is no longer at {place}; look at it again")
            name = place
        result = switch_hook(engine, name, is_on=should_be_on)
    files = ", ".join(show_path(str(path), engine.project_dir) for path in result.changed)
    state = "on" if result.state == "on" else "off"
    text = f"{hook.row.label} is {state}"
    if files:
        text += f" now: {files}{result.extent}"
    if should_be_on and result.switched_off_by:
        off_by = show_path(result.switched_off_by, engine.project_dir)
        return ActionResult(f"{hook.row.label} stays off: {off_by}", command, is_problem=True)
    warning = ""
    if result.taken_out and result.changed and hook.handler.layer is Layer.PROJECT:
        warning = "the file is shared: it is off for every user of the project"
    return ActionResult(text, command, warning)


def editor_command(place: Place) -> list[str]:
    """Return the command that opens a place in the user's editor; empty if there is none."""
    text = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    try:
        words = shlex.split(text)
    except ValueError:
        words = [text]
    if not words:
        words = [name for name in EDITORS if shutil.which(name)][:1]
    if not words:
        return []
    name = os.path.basename(words[0])  # noqa: PTH119 - a name, no path
    if place.line is None:
        return [*words, place.file]
    for template in LINE_OPTIONS.get(name, ("+{line}", "{file}")):
        argument = template.replace("{line}", str(place.line))
        words.append(argument.replace("{file}", place.file))
    return words
