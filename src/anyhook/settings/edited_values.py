"""The value that a settings file should have after an edit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from anyhook.errors import SettingsError
from anyhook.settings.jsonc import SettingsSyntaxError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from anyhook.settings.jsonc import JsonPath, SettingsDocument


def copy_value(document: SettingsDocument) -> Any:
    """Return a copy of the value of a file."""
    return json.loads(json.dumps(document.value))


def nest(value: Any, steps: JsonPath) -> Any:
    """Return the value in an object for each key, the outermost first."""
    for step in reversed(steps):
        value = {step: value}
    return value


def list_to_extend(value: Any, path: JsonPath, document: SettingsDocument) -> list[Any]:
    """Return the list at a path; missing objects on the way, and the list, are created."""
    for depth, step in enumerate(path):
        if isinstance(step, int):
            if not isinstance(value, list) or not 0 <= step < len(value):
                raise _wrong_type(document, path[:depth], f"a list with an item {step}")
            value = value[step]
        else:
            if not isinstance(value, dict):
                raise _wrong_type(document, path[:depth], "an object")
            value = value.setdefault(step, [] if depth == len(path) - 1 else {})
    if not isinstance(value, list):
        raise _wrong_type(document, path, "a list")
    return value


def append_new(items: list[Any], values: Iterable[Any]) -> list[Any]:
    """Append the values that a list lacks, and return them."""
    keys = {json.dumps(item, sort_keys=True) for item in items}
    new: list[Any] = []
    for value in values:
        key = json.dumps(value, sort_keys=True)
        if key not in keys:
            keys.add(key)
            new.append(value)
    items += new
    return new


def with_member(document: SettingsDocument, path: JsonPath, value: Any) -> Any:
    """Return a copy of the value of a file in which a member is set that does not exist yet.

    The result is `None` if the member has the value already.

    Raises:
        SettingsError: If the member has another value, or a value on the way is not an object.
    """
    label = ".".join(map(str, path))
    intended = copy_value(document)
    parent: Any = intended
    for step in path[:-1]:
        # A missing member is created; `None` is a dead end.
        if isinstance(step, int):
            is_item = isinstance(parent, list) and 0 <= step < len(parent)
            parent = parent[step] if is_item else None
        else:
            parent = parent.setdefault(step, {}) if isinstance(parent, dict) else None
    if not isinstance(parent, dict):
        raise SettingsError(f"{label} is inside a value that is not an object", path=document.file)
    key = path[-1]
    if key not in parent:
        parent[key] = value
        return intended
    if parent[key] == value:
        return None
    raise SettingsError(
        f"{label} has another value; change it yourself",
        path=document.file,
        line=document.place(path).line,
    )


def _wrong_type(document: SettingsDocument, path: JsonPath, expected: str) -> SettingsError:
    return SettingsError(
        f"{'.'.join(map(str, path))} must be {expected}; it was not changed",
        path=document.file,
        line=document.place(path).line,
    )


def verified(
    parse: Callable[[str, str], SettingsDocument], text: str, intended: Any, file: str
) -> str:
    """Return the text if it parses to the intended value; protects the user's file from bugs.

    Raises:
        SettingsError: If it does not.
    """
    try:
        is_intended = parse(text, file).value == intended
    except SettingsSyntaxError:
        is_intended = False
    if not is_intended:
        message = "the edit would change more than was requested; it was not changed"
        raise SettingsError(message, path=file)
    return text
