"""Hooks that were taken out of a settings file and recorded, so that they can be put back.

Claude Code has no switch for a single hook. `anyhook disable` takes such a hook out of its file and
records it: for a file that a project shares in a file next to it, so that all users of the project
see what is disabled and can enable it; for a user's own file in the user's data directory.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.agents.spec.settings import HOOKS_PATH
from anyhook.errors import SettingsError
from anyhook.files import data_directory, record_name
from anyhook.model.diagnostics import Place
from anyhook.model.layers import Layer
from anyhook.model.record import Record, replace
from anyhook.settings.changes import Change, Undo, read_record, record_change
from anyhook.settings.edit import add_item, read_settings
from anyhook.settings.entries import remove_handler
from anyhook.settings.formats import is_toml
from anyhook.settings.jsonc import list_at, parse
from anyhook.settings.layout import iter_definitions, iter_handlers
from anyhook.settings.reader import read_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anyhook.agents.spec import AgentSpec
    from anyhook.model.definitions import HandlerSpec, HookDefinition
    from anyhook.settings.reader import LoadedFile
    from anyhook.settings.sources import Source

SHARED_RECORD = "anyhook-disabled.json"
"""Name of the record next to a settings file that is shared."""


class KeptHook(Record, kw_only=False):
    """One hook that was taken out of a settings file.

    Attributes:
        record: The file that keeps the hook.
        entry: The hook as it is recorded.
        definition: Its definition, with this handler alone.
    """

    source: Source
    record: Path
    entry: dict[str, Any]
    definition: HookDefinition

    @property
    def handler(self) -> HandlerSpec:
        """The handler."""
        return self.definition.handlers[0]


# -- records


def kept_hooks(agent: AgentSpec, files: Sequence[LoadedFile]) -> list[KeptHook]:
    """Return the hooks that were taken out of the settings files that an agent reads.

    Another agent that reads the same file may have taken them out.

    Raises:
        SettingsError: If a record cannot be read.
    """
    hooks: list[KeptHook] = []
    for file in files:
        source = file.source
        if source.layer not in (Layer.PROJECT, Layer.LOCAL, Layer.USER):
            continue
        record = _record_of(source)
        for entry in read_record(record, "hooks"):
            written = entry.get("definition")
            # A record that comes with a repository must not hide a hook behind another one.
            has_others = len(list_at(written, ("hooks",))) > 1
            if entry.get("file") != source.path.name or has_others:
                continue
            value: Any = {entry.get("event"): [written]}
            for key in reversed(HOOKS_PATH):
                value = {key: value}
            document = parse(json.dumps(value), str(record))
            for definition in read_document(agent, source, document).definitions[:1]:
                line = entry.get("line")
                place = Place(str(source.path), line if isinstance(line, int) else None)
                handler = replace(definition.handlers[0], place=place)
                alone = replace(definition, place=place, handlers=(handler,))
                hooks.append(KeptHook(source, record, entry, alone))
    return hooks


def has_kept_hooks(agent: AgentSpec, file: LoadedFile) -> bool:
    """Return whether hooks were taken out of a file; a record that cannot be read may have some."""
    try:
        return bool(kept_hooks(agent, [file]))
    except SettingsError:
        return True


def keep_hooks(source: Source, entries: Iterable[dict[str, Any]]) -> Change:
    """Return the change that records hooks that are taken out of a settings file.

    Raises:
        SettingsError: If the record cannot be read.
    """
    record = _record_of(source)
    kept = read_record(record, "hooks")
    return _record_change(record, [*kept, *entries], f"Keep hooks of {source.path.name}")


def forget(record: Path, entries: Iterable[dict[str, Any]]) -> Change:
    """Return the change that removes hooks from their record.

    They are in their file again, or are removed for good.

    Raises:
        SettingsError: If the record cannot be read.
    """
    kept = read_record(record, "hooks")
    for entry in entries:
        if entry in kept:
            kept.remove(entry)
    return _record_change(record, kept, "Forget disabled hooks")


def _record_of(source: Source) -> Path:
    if source.layer is Layer.PROJECT:
        # The agent reads every file of a directory of hooks but the hidden ones.
        is_in_directory = source.file is not None and source.file.written_name
        return source.path.with_name(f".{SHARED_RECORD}" if is_in_directory else SHARED_RECORD)
    return data_directory() / "disabled" / f"{record_name(source.path)}.json"


def _record_change(record: Path, entries: list[dict[str, Any]], why: str) -> Change:
    is_private = record.name.removeprefix(".") != SHARED_RECORD
    return record_change(record, "hooks", entries, why, is_private=is_private)


# -- taking a hook out


def take_out(agent: AgentSpec, text: str, handler: HandlerSpec) -> tuple[str, dict[str, Any]]:
    """Take a hook out of its settings file; return the new text and an entry for `keep_hooks`.

    Raises:
        SettingsError: If the hook is no longer there.
    """
    file = handler.place.file
    document = read_settings(text, file)
    for definition, hook in iter_handlers(agent, document.value):
        if document.place(hook.path) != handler.place:
            continue
        after = remove_handler(text, definition, hook, file)
        # As it is written: agents that read the same file have other usual layouts.
        alone = definition.written
        if not definition.is_flat:
            alone = {**alone, "hooks": [hook.written]}
        entry = {
            "agent": agent.name,
            "file": Path(file).name,
            "line": handler.place.line,
            "event": definition.event,
            "definition": alone,
            "undo": list(Undo.of(text, after)),
        }
        return after, entry
    raise SettingsError("it changed while it was being edited; try again", path=file)


# -- putting it back


def put_back(agent: AgentSpec, text: str, hook: KeptHook) -> str:
    """Put a hook back into the text of its settings file.

    The former text is restored if nothing else changed in it since. Otherwise the hook goes to the
    end of its definition, or gets a definition of its own at the end of its event.

    Raises:
        SettingsError: If the file has not the format of its name, or a value on the way to the
            hooks has the wrong type.
    """
    entry = hook.entry
    file = str(hook.source.path)
    undo = Undo.read(entry.get("undo"))
    former = None if undo is None else undo.restore(text)
    # A record may come with a repository, so its text is used only if it adds nothing else.
    if former is not None and _adds_only_hook(agent, former, text, entry, file):
        return former
    definition = entry["definition"]
    document = read_settings(text or ("" if is_toml(file) else "{}"), file)
    for other in iter_definitions(agent, document.value):
        is_same_event = other.event == entry["event"] and not other.is_flat
        if is_same_event and {**other.written, "hooks": []} == {**definition, "hooks": []}:
            return add_item(text, (*other.path, "hooks"), _kept_handler(entry), file=file)
    return add_item(text, (*HOOKS_PATH, entry["event"]), definition, file=file)


def _kept_handler(entry: dict[str, Any]) -> Any:
    """Return the handler of an entry as it is written; a flat definition is one itself."""
    definition = entry["definition"]
    return definition["hooks"][0] if "hooks" in definition else definition


def _adds_only_hook(
    agent: AgentSpec, former: str, text: str, entry: dict[str, Any], file: str
) -> bool:
    """Return whether removing the hook from the former text gives the value of the other text."""
    hook = _kept_handler(entry)
    try:
        document = read_settings(former, file)
        expected = read_settings(text, file).value
        for definition, handler in iter_handlers(agent, document.value):
            if definition.event != entry["event"] or handler.written != hook:
                continue
            after = remove_handler(former, definition, handler, file)
            if read_settings(after, file).value == expected:
                return True
    except SettingsError:
        return False
    return False
