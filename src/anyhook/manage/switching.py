"""Switch one hook on or off in the settings files that are the user's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anyhook.errors import SettingsError
from anyhook.manage.hooks import find_hook, handlers_named
from anyhook.manage.protection import require_user
from anyhook.manage.recording import without_stale_recording
from anyhook.manage.scope import agents_that_read
from anyhook.model.definitions import HandlerSpec, handlers_of
from anyhook.model.layers import Layer
from anyhook.settings.changes import EDITABLE_LAYERS, Change, read_source, write_changes
from anyhook.settings.entries import disable_name, disabled_lists, enable_name
from anyhook.settings.kept import KeptHook, forget, keep_hooks, kept_hooks, put_back, take_out

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from anyhook.engine.engine import Engine


@dataclass(frozen=True, slots=True)
class SwitchResult:
    """A hook after it was switched.

    Attributes:
        changed: The files that were written.
        switched_off_by: The file, or file and line, that switches it off now; `None` if it is on.
        taken_out: Whether it is kept in a record, because its agent cannot switch off one hook.
        agents: Titles of the agents here that read the written files.
    """

    handler: HandlerSpec
    changed: tuple[Path, ...]
    switched_off_by: str | None
    taken_out: bool
    agents: tuple[str, ...]

    @property
    def state(self) -> str:
        """`on` or `off`."""
        return "off" if self.switched_off_by else "on"

    @property
    def extent(self) -> str:
        """For which agents it was switched, if that is more than one."""
        if len(self.agents) < 2:
            return ""
        return f", for {', '.join(self.agents[:-1])} and {self.agents[-1]}"


def switch_hook(engine: Engine, name: str, *, is_on: bool) -> SwitchResult:
    """Switch a hook on or off, and load the settings again.

    It is switched off in the settings file of its layer, and on in all files of the user and the
    project. The engine was loaded under `exclusive_edits`. The name is that of the hook, its
    identifier, its script, or its place.

    Raises:
        UsageError: If the name stands for several hooks.
        UnknownNameError: If it stands for none.
        SettingsError: If a file cannot be edited.
        StartedByAgentError: If it is to be off, and an agent has started this process.
    """
    if not is_on:
        require_user()
    handlers, changes = switch_changes(engine, name, is_on=is_on)
    written = write_changes(changes)
    # The state is what the files say now: another file can still switch the hook off.
    engine.reload()
    handler = handlers[0]
    lines = {_line_of(each) for each in handlers}
    records: list[Path] = []
    for hook in kept_hooks(engine.agent, engine.hooks.files):
        is_same = hook.handler.identifier == handler.identifier
        if is_same and _line_of(hook.handler) in lines:
            records.append(hook.record)
    switched_off_by = str(records[0]) if records else engine.hooks.switched_off(handler)
    changed = (*written.written, *written.removed)
    agents = [agent.title for agent in agents_that_read(engine.project_dir, changed)]
    return SwitchResult(
        handler, changed, switched_off_by, taken_out=bool(records), agents=tuple(agents)
    )


def switch_changes(
    engine: Engine, name: str, *, is_on: bool
) -> tuple[list[HandlerSpec], list[Change]]:
    """Return the handlers of a hook, and the changes that switch it.

    Raises:
        UsageError, UnknownNameError, SettingsError: As `switch_hook`.
    """
    kept = kept_hooks(engine.agent, engine.hooks.files)
    if is_on:
        handlers = find_hook(engine, name)
        changes = _put_back(engine, handlers, kept)
        identifier = handlers[0].identifier
        for file in engine.hooks.files:
            if identifier not in file.disabled or file.source.layer not in EDITABLE_LAYERS:
                continue
            path = file.source.path
            before = read_source(file.source, engine.project_dir)
            after = enable_name(engine.agent, before or "", str(path), identifier)
            changes.append(Change(path, before, after, f"Switch {identifier} on", engine.agent))
        return handlers, changes
    already_off = handlers_named(name, [hook.handler for hook in kept])
    if already_off and not handlers_named(name, handlers_of(engine.definitions)):
        return already_off, []
    # A place may be that of a hook which was taken out, too.
    handlers = [handler for handler in find_hook(engine, name) if handler not in already_off]
    if not disabled_lists(engine.agent):
        return handlers, _take_out(engine, handlers)
    # A hook can be configured in several layers: a switch of the strongest one covers them all.
    authority = engine.agent.settings.authority
    layer = max((handler.layer for handler in handlers), key=lambda layer: authority[layer])
    files = {file.source.layer: file for file in reversed(engine.hooks.files)}
    if layer not in EDITABLE_LAYERS and authority[layer] > authority[Layer.USER]:
        raise SettingsError(
            f"the hook belongs to the {layer} layer; only its administrator can switch it off",
            path=str(files[layer].source.path),
        )
    # In the home directory, the files of the project and of the user are the same.
    own_file = files.get(layer) if layer in EDITABLE_LAYERS else None
    source = (own_file or files[Layer.USER]).source
    before = read_source(source, engine.project_dir)
    identifier = handlers[0].identifier
    after = disable_name(engine.agent, before or "", str(source.path), identifier)
    why = f"Switch {identifier} off"
    return handlers, [Change(source.path, before, after, why, engine.agent)]


# -- agents without a list of disabled hooks: the hook is taken out of its file


def _take_out(engine: Engine, handlers: Sequence[HandlerSpec]) -> list[Change]:
    """Return the changes that take hooks out of their settings files and keep them in records."""
    by_file: dict[str, list[HandlerSpec]] = {}
    for handler in handlers:
        if handler.layer not in EDITABLE_LAYERS:
            raise SettingsError(
                f"the hook belongs to the {handler.layer} layer, where {engine.agent.title} cannot "
                "switch off a single hook",
                path=handler.place.file,
                line=handler.place.line,
            )
        by_file.setdefault(handler.place.file, []).append(handler)
    sources = {str(file.source.path): file.source for file in engine.hooks.files}
    changes: list[Change] = []
    for file, group in by_file.items():
        source = sources[file]
        before = read_source(source, engine.project_dir)
        after = before or ""
        entries: list[dict[str, Any]] = []
        # From the end of a file, so that the places of the others stay valid.
        last_first = sorted(
            group,
            key=lambda handler: (handler.place.line or 0, handler.place.column or 0),
            reverse=True,
        )
        for handler in last_first:
            after, entry = take_out(engine.agent, after, handler)
            entries.append(entry)
        # First the record: a crash between the two writes must not lose the hook.
        changes.append(keep_hooks(source, entries))
        why = f"Take {group[0].label} out"
        changes.append(Change(source.path, before, after, why, engine.agent))
    return changes


def _line_of(handler: HandlerSpec) -> tuple[str, int | None]:
    return handler.place.file, handler.place.line


def _put_back(
    engine: Engine, handlers: Sequence[HandlerSpec], kept: Sequence[KeptHook]
) -> list[Change]:
    """Return the changes that put those hooks back which were taken out, the last one first."""
    by_file: dict[Path, list[KeptHook]] = {}
    for hook in reversed(kept):
        if hook.handler in handlers:
            by_file.setdefault(hook.source.path, []).append(hook)
    changes: list[Change] = []
    for path, hooks in by_file.items():
        before = read_source(hooks[0].source, engine.project_dir)
        after = before or ""
        for hook in hooks:
            after = put_back(engine.agent, after, hook)
        after = without_stale_recording(engine.agent, path, after)
        why = f"Put {hooks[0].handler.label} back"
        changes.append(Change(path, before, after, why, engine.agent))
        changes.append(forget(hooks[0].record, [hook.entry for hook in hooks]))
    return changes
