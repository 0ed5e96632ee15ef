"""Adds migrated hooks to the target's settings file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anyhook.migrate.commands import unwrap
from anyhook.migrate.context import Loss
from anyhook.migrate.matcher_pieces import covers_same
from anyhook.settings.edit import read_settings
from anyhook.settings.entries import add_definitions
from anyhook.settings.formats import is_blank
from anyhook.settings.layout import iter_definitions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.migrate.plan import Migration
    from anyhook.model.diagnostics import Place

RESTRICTING_MEMBERS = frozenset({"async", "if", "once"})
"""Members of a handler that make it do less."""


@dataclass(frozen=True, slots=True)
class ExistingHandler:
    """A handler of the target's file."""

    matcher: str | None
    value: dict[str, Any]
    place: Place


def merge_into(migration: Migration, text: str, file: str) -> tuple[str, list[Loss]]:
    """Add the migrated hooks to a settings file.

    An existing hook with the same event, matcher and command is left unchanged even if its other
    members differ: they may have been changed on purpose.

    The new text keeps comments, order and everything else. The losses are the differences from
    existing hooks.

    Raises:
        SettingsError: If the file has not the format of its name, or a value on the way to the
            hooks has the wrong type.
    """
    target = migration.target
    existing: dict[tuple[str, str], list[ExistingHandler]] = {}
    if not is_blank(text, file):
        document = read_settings(text, file)
        for definition in iter_definitions(target, document.value):
            matcher = definition.value.get("matcher")
            if not isinstance(matcher, str | None):
                continue
            for written in definition.handlers:
                other = ExistingHandler(matcher, written.value, document.place(written.path))
                key = (definition.event, _command_key(written.value))
                existing.setdefault(key, []).append(other)
    notes: list[Loss] = []
    definitions: dict[str, list[dict[str, Any]]] = {}
    for entry in migration.entries:
        matcher = entry.definition.get("matcher")
        missing: list[dict[str, Any]] = []
        for handler in entry.definition["hooks"]:
            equal = existing.get((entry.event, _command_key(handler)), [])
            same = [other for other in equal if covers_same(other.matcher, matcher)]
            if not same:
                missing.append(handler)
            elif all(other.value != handler for other in same):
                notes += _differences(same[0], handler)
        added = definitions.setdefault(entry.event, [])
        if missing:
            added.append({**entry.definition, "hooks": missing})
    return add_definitions(target, text, file, definitions), notes


def _command_key(handler: dict[str, Any]) -> str:
    """Return what a handler runs, as JSON, however the shim's command line is written."""
    command = handler.get("command")
    options = unwrap(command) if isinstance(command, str) else None
    if options is not None:
        command = options.members()
    return json.dumps([command, handler.get("args"), handler.get("env")], sort_keys=True)


def _differences(existing: ExistingHandler, handler: dict[str, Any]) -> Iterator[Loss]:
    own = existing.value
    for key in sorted(own.keys() | handler.keys()):
        is_unnamed = key == "name" and own.get(key) is None
        if key == "command" or is_unnamed or own.get(key) == handler.get(key):
            continue
        is_weaker = key in RESTRICTING_MEMBERS
        before, after = own.get(key), handler.get(key)
        if key == "timeout" and isinstance(before, int | float) and isinstance(after, int | float):
            is_weaker = before < after
        yield Loss(
            kind="weaker" if is_weaker else "note",
            place=existing.place,
            subject=f"{key} of a hook that is there already",
            reason=f"it is {before!r}; the source means {after!r}",
            remedy="change it yourself if you want that",
        )
