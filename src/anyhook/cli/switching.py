"""Switch one hook on or off and keep the comments of its file: what `enable` and `disable` do."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.cli.editing import read_text
from anyhook.cli.options import configured_handlers
from anyhook.cli.output import show_place
from anyhook.errors import SettingsError, UnknownNameError, UsageError
from anyhook.history.recording import is_recorder_command
from anyhook.migrate.commands import unwrap
from anyhook.model.definitions import unique_labels
from anyhook.model.layers import Layer
from anyhook.model.suggest import MAX_LENGTH, fold
from anyhook.model.text import printable
from anyhook.settings.edit import add_item, prune, remove_item
from anyhook.settings.kept import forget_entry, keep, kept_hooks, put_back, take_out
from anyhook.settings.write import stay_inside, write_atomically

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyhook.agents.spec import AgentSpec
    from anyhook.engine.engine import Engine
    from anyhook.model.definitions import HandlerSpec
    from anyhook.settings.kept import KeptHook
    from anyhook.settings.reader import LoadedFile
    from anyhook.settings.sources import Source

EDITABLE_LAYERS = (Layer.PROJECT, Layer.LOCAL, Layer.USER)
"""Layers whose files belong to the user."""
MOST_NAMES = 10
"""Names of hooks that are listed when none has the given name."""


@dataclass(frozen=True, slots=True)
class SwitchResult:
    """A hook after it was switched.

    Attributes:
        handler: The hook.
        changed: The files that were written.
        switched_off_by: The file, or file and line, that switches it off now; `None` if it is on.
        taken_out: Whether it is kept in a record, because its agent cannot switch off one hook.
    """

    handler: HandlerSpec
    changed: tuple[Path, ...]
    switched_off_by: str | None
    taken_out: bool

    @property
    def state(self) -> str:
        """`on` or `off`."""
        return "off" if self.switched_off_by else "on"


def switch_off(engine: Engine, name: str) -> SwitchResult:
    """Switch a hook off in the settings file of its layer, and load the settings again.

    Args:
        engine: The hooks of one agent.
        name: Name of the hook, its identifier, its script, or its place.

    Raises:
        UsageError: If the name stands for several hooks.
        UnknownNameError: If it stands for none.
        SettingsError: If its file cannot be edited.
    """
    kept = kept_hooks(engine.agent, engine.hooks.files)
    already_off = handlers_named(name, [hook.handler for hook in kept])
    if already_off and not handlers_named(name, configured_handlers(engine)):
        return _result(engine, already_off, [])
    handlers = _without(find_hook(engine, name, kept), already_off)
    if disabled_lists(engine.agent):
        changed = _add_to_disabled(engine, handlers)
    else:
        changed = _take_out(engine, handlers)
    return _result(engine, handlers, changed)


def switch_on(engine: Engine, name: str) -> SwitchResult:
    """Switch a hook on in all files of the user and the project, and load the settings again.

    Args:
        engine: The hooks of one agent.
        name: Name of the hook, its identifier, its script, or its place.

    Raises:
        UsageError: If the name stands for several hooks.
        UnknownNameError: If it stands for none.
        SettingsError: If a file cannot be edited.
    """
    kept = kept_hooks(engine.agent, engine.hooks.files)
    handlers = find_hook(engine, name, kept)
    changed = _put_back(engine, handlers, kept)
    changed += _remove_from_disabled(engine, handlers[0])
    return _result(engine, handlers, changed)


def _without(handlers: list[HandlerSpec], others: Sequence[HandlerSpec]) -> list[HandlerSpec]:
    """Return handlers that are not among others: a place may be that of a hook taken out, too."""
    numbers = {id(handler) for handler in others}
    return [handler for handler in handlers if id(handler) not in numbers]


def _result(engine: Engine, handlers: Sequence[HandlerSpec], changed: list[Path]) -> SwitchResult:
    # The state is what the files say now: another file can still switch the hook off.
    engine.reload()
    handler = handlers[0]
    places = {_line_of(one) for one in handlers}
    records = [
        hook.record
        for hook in kept_hooks(engine.agent, engine.hooks.files)
        if hook.handler.identifier == handler.identifier and _line_of(hook.handler) in places
    ]
    switched_off_by = str(records[0]) if records else engine.hooks.switched_off(handler)
    return SwitchResult(handler, tuple(changed), switched_off_by, taken_out=bool(records))


# -- agents with a list of disabled hooks


def disabled_lists(agent: AgentSpec) -> list[tuple[str, ...]]:
    """Return the keys to the agent's lists of disabled hooks, those of older releases last."""
    switches = [switch for switch in agent.hook_toggles if switch.kind == "disabled"]
    switches.sort(key=lambda switch: switch.legacy)
    return [switch.path for switch in switches]


def _add_to_disabled(engine: Engine, handlers: list[HandlerSpec]) -> list[Path]:
    # A hook can be configured in several layers: a switch of the strongest one covers them all.
    authority = engine.agent.authority
    layer = max((handler.layer for handler in handlers), key=lambda layer: authority[layer])
    file = _file_with_switches(engine, layer)
    before = read_for_edit(engine, file.source)
    path = file.source.path
    after = add_item(
        before or "", _list_for(engine.agent, file), handlers[0].identifier, file=str(path)
    )
    if after == before:
        return []
    write_atomically(path, after, expected=before)
    return [path]


def _file_with_switches(engine: Engine, layer: Layer) -> LoadedFile:
    """Return the file that switches hooks of a layer off: its own, or the user's."""
    authority = engine.agent.authority
    files = {file.source.layer: file for file in reversed(engine.hooks.files)}
    if layer in EDITABLE_LAYERS:
        # In the home directory, the files of the project and of the user are the same.
        return files.get(layer) or files[Layer.USER]
    if authority[layer] > authority[Layer.USER]:
        raise SettingsError(
            f"the hook belongs to the {layer} layer; only its administrator can switch it off",
            path=str(files[layer].source.path),
        )
    return files[Layer.USER]


def _list_for(agent: AgentSpec, file: LoadedFile) -> tuple[str, ...]:
    """Return the list of disabled hooks that stands beside the switches that a file has."""
    lists = disabled_lists(agent)
    parents = [
        switch.path[:-1]
        for switch in agent.hook_toggles
        if _value_at(file.values, switch.path) is not None
    ]
    for path in lists:
        if path[:-1] in parents:
            return path
    return lists[0]


def _value_at(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _remove_from_disabled(engine: Engine, handler: HandlerSpec) -> list[Path]:
    changed: list[Path] = []
    for file in engine.hooks.files:
        is_listed = handler.identifier in file.disabled
        if not is_listed or file.source.layer not in EDITABLE_LAYERS:
            continue
        path = file.source.path
        before = after = read_for_edit(engine, file.source) or ""
        for keys in disabled_lists(engine.agent):
            shorter = remove_item(after, keys, handler.identifier, file=str(path))
            if shorter != after:
                after = prune(shorter, keys, file=str(path))
        if after != before:
            write_atomically(path, after, expected=before)
            changed.append(path)
    return changed


# -- agents without one: the hook is taken out of its file


def _take_out(engine: Engine, handlers: list[HandlerSpec]) -> list[Path]:
    """Take hooks out of their settings files and keep them in a record.

    Raises:
        SettingsError: If a file does not belong to the user or cannot be edited.
    """
    for handler in handlers:
        if handler.layer not in EDITABLE_LAYERS:
            raise SettingsError(
                f"the hook belongs to the {handler.layer} layer, where {engine.agent.title} cannot "
                "switch off a single hook",
                path=handler.place.file,
                line=handler.place.line,
            )
    sources = {str(file.source.path): file.source for file in engine.hooks.files}
    changed: list[Path] = []
    # From the end of a file, so that the places of the others stay valid.
    for handler in sorted(handlers, key=_position, reverse=True):
        source = sources[handler.place.file]
        before = read_for_edit(engine, source)
        after, entry = take_out(engine.agent, before or "", handler)
        # First the record: a crash between the two writes must not lose the hook.
        record = keep(source, entry)
        try:
            write_atomically(source.path, after, expected=before)
        except BaseException:
            forget_entry(record, entry)
            raise
        changed += [source.path, record]
    return list(dict.fromkeys(changed))


def _position(handler: HandlerSpec) -> tuple[int, int]:
    return handler.place.line or 0, handler.place.column or 0


def _line_of(handler: HandlerSpec) -> tuple[str, int | None]:
    return handler.place.file, handler.place.line


def _put_back(
    engine: Engine, handlers: Sequence[HandlerSpec], kept: Sequence[KeptHook]
) -> list[Path]:
    """Put those of the hooks that were taken out back into their files, the last one first."""
    wanted = {id(handler) for handler in handlers}
    changed: list[Path] = []
    for hook in reversed(kept):
        if id(hook.handler) not in wanted:
            continue
        path = hook.source.path
        before = read_for_edit(engine, hook.source)
        write_atomically(path, put_back(engine.agent, before or "", hook), expected=before)
        forget_entry(hook.record, hook.entry)
        changed += [path, hook.record]
    return list(dict.fromkeys(changed))


def read_for_edit(engine: Engine, source: Source) -> str | None:
    """Read a settings file that is going to be edited; `None` if it does not exist.

    Raises:
        SettingsError: If it cannot be read, or a link leads out of the project.
    """
    if source.layer is not Layer.USER:
        stay_inside(engine.project_dir, source.path)
    return read_text(source.path)


# -- the hook that a name stands for


def find_hook(engine: Engine, name: str, kept: Sequence[KeptHook]) -> list[HandlerSpec]:
    """Return all handlers of the hook that a name stands for.

    Raises:
        UsageError: If the name stands for several hooks.
        UnknownNameError: If it stands for none.
    """
    handlers = [*configured_handlers(engine), *(hook.handler for hook in kept)]
    matches = handlers_named(name, handlers)
    if len({handler.identifier for handler in matches}) > 1:
        places = ", ".join(show_place(handler.place, engine.project_dir) for handler in matches)
        raise UsageError(
            f"{printable(name)!r} is short for several hooks; name one by its place: {places}"
        )
    if matches:
        return matches
    # The hook may be in the file that cannot be read.
    for diagnostic in engine.hooks.diagnostics:
        if diagnostic.code.startswith("settings-"):
            raise UsageError(
                f"no hook named {name!r} can be found while a file is broken: {diagnostic}"
            )
    raise _unknown_hook(name, handlers)


def _unknown_hook(name: str, handlers: Sequence[HandlerSpec]) -> UnknownNameError:
    """Return the error for a name of no hook, with the most similar names of `anyhook list`."""
    labels = unique_labels(handlers)
    names = dict.fromkeys(
        labels[id(handler)]
        for handler in handlers
        if not is_recorder_command(handler.command or "")
    )
    matcher = SequenceMatcher(b=fold(name[:MAX_LENGTH]))

    def similarity(label: str) -> float:
        matcher.set_seq1(fold(label))
        return matcher.ratio()

    nearest = sorted(names, key=similarity, reverse=True)
    error = UnknownNameError("hook", name, nearest[:MOST_NAMES], list_all=True)
    rest = len(nearest) - MOST_NAMES
    if rest > 0:
        error.args = (f"{error} and {rest} more; see: anyhook list",)
    return error


def handlers_named(name: str, handlers: Sequence[HandlerSpec]) -> list[HandlerSpec]:
    """Return the handlers with an identifier of that name, else a label, a place, or a script."""
    labels = unique_labels(handlers)
    by_identifier: list[HandlerSpec] = []
    by_label: list[HandlerSpec] = []
    by_place: list[HandlerSpec] = []
    by_script: list[HandlerSpec] = []
    for handler in handlers:
        if name == handler.identifier:
            by_identifier.append(handler)
        if name in (handler.label, labels[id(handler)]):
            by_label.append(handler)
        if _is_place(name, handler):
            by_place.append(handler)
        if _names_script(name, handler):
            by_script.append(handler)
    return by_identifier or by_label or by_place or by_script


def _is_place(name: str, handler: HandlerSpec) -> bool:
    """Return whether a name is the line of a handler, behind its path or the end of its path."""
    path = f"/{Path(handler.place.file).as_posix()}:{handler.place.line}"
    return name == str(handler.place) or path.endswith(f"/{name}")


def _names_script(name: str, handler: HandlerSpec) -> bool:
    """Return whether a name is a script of a command: its file name, or the end of its path."""
    if "/" not in name:
        return name in _script_names(handler)
    tail = name.removeprefix("./")
    return any(word == tail or word.endswith(f"/{tail}") for word in _words(handler))


def _script_names(handler: HandlerSpec) -> set[str]:
    """Return the file names in a command."""
    names = {word.rpartition("/")[2] for word in _words(handler)}
    return {name for name in names if "." in name.strip(".")}


def _words(handler: HandlerSpec) -> list[str]:
    """Return the words of a command, also of one that `anyhook shim` runs."""
    command = handler.command or ""
    shim = unwrap(command)
    if shim is not None:
        is_shell_line = len(shim.command) == 1
        command = shim.command[0] if is_shell_line else shlex.join(shim.command)
    try:
        return [*shlex.split(command), *(handler.argv or ())]
    except ValueError:
        return command.split()
