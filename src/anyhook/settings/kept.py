"""Hooks that were taken out of a settings file, kept so that they can be put back.

Claude Code has no switch for a single hook. `anyhook disable` takes such a hook out of its file and
records it here: of a file that is shared with a project in a file beside it, so that everybody who
gets the project sees what is disabled and can enable it; of a user's own file in the user's data
directory.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from platformdirs import user_data_path

from anyhook.atomic_write import replace_file
from anyhook.errors import SettingsError
from anyhook.files import read_user_file
from anyhook.model.diagnostics import Place
from anyhook.model.layers import Layer
from anyhook.settings.edit import add_item, prune, read_settings, remove_item
from anyhook.settings.jsonc import parse
from anyhook.settings.reader import read_document
from anyhook.settings.sources import SIZE_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anyhook.agents.spec import AgentSpec
    from anyhook.model.definitions import HandlerSpec, HookDefinition
    from anyhook.settings.reader import LoadedFile
    from anyhook.settings.sources import Source

BESIDE = "anyhook-disabled.json"
"""Name of the record beside a settings file that is shared."""
VERSION = 1


@dataclass(frozen=True, slots=True)
class KeptHook:
    """One hook that was taken out of a settings file.

    Attributes:
        source: The settings file.
        record: The file that keeps the hook.
        entry: The record's own form of it.
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


def record_of(source: Source) -> Path:
    """Return where the hooks are kept that are taken out of a settings file."""
    if source.layer is Layer.PROJECT:
        return source.path.with_name(BESIDE)
    base = os.environ.get("ANYHOOK_DATA_DIR")
    directory = (Path(base) if base else user_data_path("anyhook")) / "disabled"
    name = hashlib.sha256(os.fsencode(os.path.realpath(source.path))).hexdigest()[:32]
    return directory / f"{name}.json"


def kept_hooks(agent: AgentSpec, files: Sequence[LoadedFile]) -> list[KeptHook]:
    """Return the hooks that were taken out of an agent's settings files.

    Raises:
        SettingsError: If a record cannot be read.
    """
    found: list[KeptHook] = []
    for file in files:
        if file.source.layer in (Layer.PROJECT, Layer.LOCAL, Layer.USER):
            found += _kept(agent, file.source)
    return found


def _kept(agent: AgentSpec, source: Source) -> Iterator[KeptHook]:
    record = record_of(source)
    for entry in _read(record):
        if entry.get("agent") != agent.name or entry.get("file") != source.path.name:
            continue
        value: Any = {entry.get("event"): [entry.get("definition")]}
        for key in reversed(agent.hooks_path):
            value = {key: value}
        document = parse(json.dumps(value), str(record))
        for definition in read_document(agent, source, document).definitions[:1]:
            line = entry.get("line")
            place = Place(str(source.path), line if isinstance(line, int) else None)
            handlers = tuple(replace(handler, place=place) for handler in definition.handlers[:1])
            yield KeptHook(
                source, record, entry, replace(definition, place=place, handlers=handlers)
            )


def _read(record: Path) -> list[dict[str, Any]]:
    try:
        value = json.loads(read_user_file(record, SIZE_LIMIT))
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError) as error:
        raise SettingsError(f"it cannot be read: {error}", path=str(record)) from error
    hooks = value.get("hooks") if isinstance(value, dict) else None
    return [entry for entry in hooks if isinstance(entry, dict)] if isinstance(hooks, list) else []


def _write(record: Path, entries: list[dict[str, Any]]) -> None:
    if not entries:
        record.unlink(missing_ok=True)
        return
    is_shared = record.name == BESIDE
    record.parent.mkdir(parents=True, exist_ok=True, mode=0o777 if is_shared else 0o700)
    text = json.dumps({"version": VERSION, "hooks": entries}, indent=2, ensure_ascii=False) + "\n"
    replace_file(record, text.encode(), mode=None if is_shared else 0o600)


def take_out(agent: AgentSpec, text: str, handler: HandlerSpec) -> tuple[str, dict[str, Any]]:
    """Take a hook out of the text of its settings file.

    Args:
        agent: Whose settings they are.
        text: The file.
        handler: The hook, with its place in the file.

    Returns:
        The new text, and what `keep` records.

    Raises:
        SettingsError: If the hook is not there any more.
    """
    file = handler.place.file
    document = read_settings(text, file)
    for where, definition in _definitions(agent, document.value):
        for number, own in enumerate(definition["hooks"]):
            place = document.place((*where, "hooks", number))
            if (place.line, place.column) == (handler.place.line, handler.place.column):
                after = _without(text, where, definition, own, file)
                entry = {
                    "agent": agent.name,
                    "file": Path(file).name,
                    "line": place.line,
                    "event": where[-2],
                    "definition": {**definition, "hooks": [own]},
                    **_cut(text, after),
                }
                return after, entry
    raise SettingsError("it changed while it was being edited; try again", path=file)


def _definitions(
    agent: AgentSpec, value: Any
) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    for key in agent.hooks_path:
        value = value.get(key) if isinstance(value, dict) else None
    for event, definitions in value.items() if isinstance(value, dict) else ():
        for index, definition in enumerate(definitions if isinstance(definitions, list) else ()):
            if isinstance(definition, dict) and isinstance(definition.get("hooks"), list):
                yield (*agent.hooks_path, event, index), definition


def _without(
    text: str, where: tuple[str | int, ...], definition: dict[str, Any], own: Any, file: str
) -> str:
    if any(other != own for other in definition["hooks"]):
        return remove_item(text, (*where, "hooks"), own, file=file)
    text = remove_item(text, where[:-1], definition, file=file)
    return prune(text, where[:-1], file=file)


def _cut(before: str, after: str) -> dict[str, Any]:
    """Describe what was cut out, so that it can be put back exactly while nothing else changes."""
    start = _shared(before, after)
    tail = _shared(before[start:][::-1], after[start:][::-1])
    return {
        "at": start,
        "removed": before[start : len(before) - tail],
        "replaced_by": after[start : len(after) - tail],
        "sha256": _digest(after),
    }


def _shared(one: str, other: str) -> int:
    """Return how many characters two texts share at their start."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def keep(source: Source, entry: dict[str, Any]) -> Path:
    """Record a hook that was taken out.

    Returns:
        The record.
    """
    record = record_of(source)
    _write(record, [*_read(record), entry])
    return record


def forget_entry(record: Path, entry: dict[str, Any]) -> None:
    """Remove a hook from its record: it is in its settings file again."""
    entries = _read(record)
    if entry in entries:
        entries.remove(entry)
    _write(record, entries)


def put_back(agent: AgentSpec, text: str, hook: KeptHook) -> str:
    """Put a hook back into the text of its settings file.

    The file is what it was before if nothing else changed in it since. Otherwise the hook goes to
    the end of its definition, or gets a definition of its own at the end of its event.

    Raises:
        SettingsError: If the file is no JSON with comments, or something in it is in the way.
    """
    entry = hook.entry
    file = str(hook.source.path)
    exact = _pasted(text, entry)
    if exact is not None and _adds_only(agent, exact, text, entry, file):
        return exact
    definition = entry["definition"]
    members = {key: value for key, value in definition.items() if key != "hooks"}
    document = read_settings(text or "{}", file)
    for where, other in _definitions(agent, document.value):
        is_same = where[-2] == entry["event"] and members == {
            key: value for key, value in other.items() if key != "hooks"
        }
        if is_same:
            return add_item(text, (*where, "hooks"), definition["hooks"][0], file=file)
    return add_item(text, (*agent.hooks_path, entry["event"]), definition, file=file)


def _adds_only(agent: AgentSpec, pasted: str, text: str, entry: dict[str, Any], file: str) -> bool:
    """Return whether a text has this hook more than another one: records come with projects."""
    try:
        document = read_settings(pasted, file)
        own = entry["definition"]["hooks"][0]
        for where, definition in _definitions(agent, document.value):
            if where[-2] == entry["event"] and own in definition["hooks"]:
                after = _without(pasted, where, definition, own, file)
                if read_settings(after, file).value == read_settings(text, file).value:
                    return True
    except SettingsError:
        return False
    return False


def _pasted(text: str, entry: dict[str, Any]) -> str | None:
    """Return the text with what was cut out; `None` if it changed since."""
    at, removed, replaced = entry.get("at"), entry.get("removed"), entry.get("replaced_by")
    if not isinstance(at, int) or not isinstance(removed, str) or not isinstance(replaced, str):
        return None
    if entry.get("sha256") != _digest(text) or not text.startswith(replaced, at):
        return None
    return text[:at] + removed + text[at + len(replaced) :]
