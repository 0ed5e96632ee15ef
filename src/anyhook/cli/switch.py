"""`anyhook enable` and `anyhook disable`: switch one hook, in the right file, keeping comments."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anyhook.cli import OK, PROBLEMS
from anyhook.cli.editing import read_text
from anyhook.cli.options import HERE, AgentName, AsJson, Project, one_agent, scope_of
from anyhook.cli.output import console, print_json, say_error, show_path, show_place
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.errors import SettingsError, UnknownNameError, UsageError
from anyhook.migrate.commands import unwrap
from anyhook.model.definitions import unique_labels
from anyhook.model.layers import Layer
from anyhook.model.text import printable
from anyhook.settings.edit import add_item, prune, remove_item
from anyhook.settings.kept import forget_entry, keep, kept_hooks, put_back, take_out
from anyhook.settings.reader import LoadedFile
from anyhook.settings.write import stay_inside, write_atomically

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyhook.model.definitions import HandlerSpec
    from anyhook.settings.kept import KeptHook

OWN = (Layer.PROJECT, Layer.LOCAL, Layer.USER)
"""Layers whose files belong to the user."""
HookName = Annotated[
    str,
    typer.Argument(
        metavar="HOOK", help="The hook: its name, its script (guard.py), or its place (FILE:LINE)."
    ),
]


def disable(
    name: HookName,
    project: Project = HERE,
    agent: AgentName = None,
    as_json: AsJson = False,
) -> int:
    """Switch a hook off, in the settings file of its own layer.

    Comments, order and indentation of the file stay. A hook of the system layer cannot be switched
    off from here. An agent without a switch for single hooks (Claude Code) gets it taken out of its
    settings; `anyhook enable` puts it back.

    For example:

        anyhook disable secret-guard
        anyhook disable guard.py --agent claude
        anyhook disable settings.json:12
    """
    engine = _engine_of(project, agent, name)
    kept = kept_hooks(engine.agent, engine.hooks.files)
    if not _matching(name, [h for d in engine.definitions for h in d.handlers]):
        hooks = _matching(name, [hook.handler for hook in kept])
        if hooks:
            return _report(engine, name, hooks[0], [], as_json)
    handlers = _handlers(engine, name, kept)
    if not any(switch.kind == "disabled" for switch in engine.agent.hook_toggles):
        return _report(engine, name, handlers[0], _take_out(engine, handlers), as_json)
    layer = max((h.layer for h in handlers), key=lambda la: engine.agent.authority[la])
    file = _editable(engine, layer)
    path = _switch_path(engine, file)
    before = _text(engine, file)
    after = add_item(before or "", path, handlers[0].identifier, file=str(file.source.path))
    if after != before:
        write_atomically(file.source.path, after, expected=before)
    changed = [file.source.path] if after != before else []
    return _report(engine, name, handlers[0], changed, as_json)


def enable(
    name: HookName,
    project: Project = HERE,
    agent: AgentName = None,
    as_json: AsJson = False,
) -> int:
    """Switch a hook on again, in every file of yours that switches it off.

    Exits with 1 if it stays off, because the system layer switched it off or hooks are off as a
    whole.

    For example:

        anyhook enable secret-guard
    """
    engine = _engine_of(project, agent, name)
    kept = kept_hooks(engine.agent, engine.hooks.files)
    handler = _handlers(engine, name, kept)[0]
    changed = _put_back(engine, [hook for hook in kept if _is_same(hook.handler, handler)])
    for file in engine.hooks.files:
        if handler.identifier not in file.disabled or file.source.layer not in OWN:
            continue
        path = str(file.source.path)
        before = after = _text(engine, file) or ""
        for switch in engine.agent.hook_toggles:
            if switch.kind == "disabled":
                after = remove_item(after, switch.path, handler.identifier, file=path)
                if after != before:
                    after = prune(after, switch.path, file=path)
        if after != before:
            write_atomically(file.source.path, after, expected=before)
            changed.append(file.source.path)
    return _report(engine, name, handler, changed, as_json, wanted_on=True)


def _switch_path(engine: Engine, file: LoadedFile) -> tuple[str, ...]:
    """Return where a file lists the hooks that are off: beside the switches that it has already."""
    switches = engine.agent.hook_toggles
    lists = sorted((s for s in switches if s.kind == "disabled"), key=lambda s: s.legacy)
    used = {s.path[:-1] for s in switches if _value_at(file.values, s.path) is not None}
    return next((s.path for s in lists if s.path[:-1] in used), lists[0].path)


def _value_at(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


# -- hooks of agents without a switch for each


def _take_out(engine: Engine, handlers: list[HandlerSpec]) -> list[Path]:
    """Take hooks out of their settings files, and keep them.

    Raises:
        SettingsError: If one stands in a file that is not the user's, or a file cannot be edited.
    """
    by_file = {str(file.source.path): file for file in engine.hooks.files}
    changed: list[Path] = []
    for handler in handlers:
        if handler.layer not in OWN:
            raise SettingsError(
                f"the hook belongs to the {handler.layer} layer; {engine.agent.title} has no "
                "switch for one hook of it",
                path=handler.place.file,
                line=handler.place.line,
            )
    # from the end of a file, so that the places of the others stay as they are
    for handler in sorted(handlers, key=lambda h: (h.place.line or 0, h.place.column or 0))[::-1]:
        file = by_file[handler.place.file]
        before = _text(engine, file)
        after, entry = take_out(engine.agent, before or "", handler)
        record = keep(file.source, entry)
        try:
            write_atomically(file.source.path, after, expected=before)
        except BaseException:
            forget_entry(record, entry)
            raise
        changed += [path for path in (file.source.path, record) if path not in changed]
    return changed


def _put_back(engine: Engine, hooks: list[KeptHook]) -> list[Path]:
    """Put hooks back into their settings files, the last that was taken out first."""
    changed: list[Path] = []
    for hook in reversed(hooks):
        path = hook.source.path
        before = _text(engine, LoadedFile(hook.source))
        after = put_back(engine.agent, before or "", hook)
        write_atomically(path, after, expected=before)
        forget_entry(hook.record, hook.entry)
        changed += [one for one in (path, hook.record) if one not in changed]
    return changed


# -- which hook is meant


def _engine_of(project: Path, agent: str | None, name: str) -> Engine:
    """Load the agent that has a hook of that name; the usual agent if none or several have it."""
    scope = scope_of(project, agent)
    if len(scope.agents) == 1:
        return next(scope.engines())
    engines = [engine for engine in scope.engines() if _has_hook(engine, name)]
    if len(engines) == 1:
        return engines[0]
    usual_agent = one_agent(scope.project, None)
    return Engine.load(scope.project, agent=usual_agent, on_message=discard)


def _has_hook(engine: Engine, name: str) -> bool:
    kept = kept_hooks(engine.agent, engine.hooks.files)
    handlers = [handler for d in engine.definitions for handler in d.handlers]
    return bool(_matching(name, [*handlers, *(hook.handler for hook in kept)]))


def _handlers(engine: Engine, name: str, kept: Sequence[KeptHook] = ()) -> list[HandlerSpec]:
    """Return the handlers that a user's word stands for: all of one hook.

    Raises:
        UsageError: If it stands for several hooks.
        UnknownNameError: If it stands for none.
    """
    everything = [h for d in engine.definitions for h in d.handlers]
    everything += [hook.handler for hook in kept]
    handlers = _matching(name, everything)
    if any(not _is_same(handler, handlers[0]) for handler in handlers):
        places = ", ".join(f"{show_place(h.place, engine.project_dir)}" for h in handlers)
        raise UsageError(
            f"{printable(name)!r} is short for several hooks; write the place of one: {places}"
        )
    if not handlers:
        broken = next((d for d in engine.hooks.diagnostics if d.code.startswith("settings-")), None)
        if broken is not None:
            raise UsageError(
                f"no hook named {name!r} can be found while a file is broken: {broken}"
            )
        known = dict.fromkeys(h.shown_identifier for h in everything)
        raise UnknownNameError("hook", name, known)
    return handlers


def _matching(name: str, handlers: list[HandlerSpec]) -> list[HandlerSpec]:
    """Return the handlers that a word stands for, by the first kind of name that fits any."""
    labels = unique_labels(handlers)
    kinds: list[Callable[[HandlerSpec], bool]] = [
        lambda handler: name == handler.identifier,
        lambda handler: name in (labels[id(handler)], handler.label),
        lambda handler: name in place_names(handler),
        lambda handler: name in script_names(handler),
    ]
    for fits in kinds:
        found = [handler for handler in handlers if fits(handler)]
        if found:
            return found
    return []


def place_names(handler: HandlerSpec) -> set[str]:
    """Return what the place of a hook may be called: the end of its path, and the line."""
    parts = Path(handler.place.file).parts
    return {f"{'/'.join(parts[at:])}:{handler.place.line}" for at in range(len(parts))} | {
        str(handler.place)
    }


def script_names(handler: HandlerSpec) -> set[str]:
    """Return the names of the files that a command names, also behind the shim."""
    line = handler.command or ""
    options = unwrap(line)
    if options is not None:
        line = options.command[0] if len(options.command) == 1 else shlex.join(options.command)
    try:
        words = [*shlex.split(line), *(handler.argv or ())]
    except ValueError:
        words = line.split()
    names = {word.rpartition("/")[2] for word in words}
    return {name for name in names if "." in name.strip(".")}


def _is_same(one: HandlerSpec, other: HandlerSpec) -> bool:
    return one.identifier == other.identifier


def _editable(engine: Engine, layer: Layer) -> LoadedFile:
    """Return the file that switches hooks of a layer off: its own, or the user's."""
    authority = engine.agent.authority
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
    engine: Engine,
    name: str,
    handler: HandlerSpec,
    changed: list[Path],
    as_json: bool,
    *,
    wanted_on: bool = False,
) -> int:
    engine.reload()
    kept = kept_hooks(engine.agent, engine.hooks.files)
    record = next((hook.record for hook in kept if _is_same(hook.handler, handler)), None)
    off = engine.hooks.switched_off(handler) if record is None else str(record)
    if as_json:
        print_json(
            {
                "name": name,
                "state": "off" if off else "on",
                "switched_off_by": off,
                "changed": [str(path) for path in changed],
            }
        )
        return PROBLEMS if off and wanted_on else OK
    word = "off" if off else "on"
    where = ", ".join(show_path(str(path)) for path in changed)
    done = f"switched {word} in {where}" if changed else f"was {word} already"
    console().print(f"{printable(name)!r} {done}", markup=False)
    if record is not None and changed:
        option = f" --agent {engine.agent.name}"
        console().print(
            f"{engine.agent.title} has no switch for one hook, so it was taken out; put it back "
            f"with: anyhook enable {shlex.quote(name)}{option}",
            markup=False,
            soft_wrap=True,
        )
        if handler.layer is Layer.PROJECT:
            console().print(
                f"{show_path(handler.place.file)} is shared with the project: the hook is off for "
                "everybody who gets this change",
                style="yellow",
                soft_wrap=True,
            )
    if off and wanted_on:
        say_error(f"{name!r} stays off: {off} switches it off")
    return PROBLEMS if off and wanted_on else OK
