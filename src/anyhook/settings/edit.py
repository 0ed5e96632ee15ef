"""Edits of the text of a settings file that keep comments, order and indentation.

An edit changes a copy of the value of the file, lets the module of its format change the text, and
checks that the new text parses to exactly that copy, otherwise `SettingsError` is raised: the
user's file is protected from bugs.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from anyhook.errors import SettingsError
from anyhook.settings import json_edit
from anyhook.settings.formats import is_blank, is_toml, parse_settings
from anyhook.settings.jsonc import SettingsSyntaxError, value_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import ModuleType

    from anyhook.settings.jsonc import JsonPath, SettingsDocument


def _editor_of(file: str) -> ModuleType:
    """Return the module that changes texts of the format; it does not check the result."""
    if not is_toml(file):
        return json_edit
    # Imported late, because only some agents have such files.
    from anyhook.settings import toml_edit

    return toml_edit


def read_settings(text: str, file: str) -> SettingsDocument:
    """Parse a settings file that is to be edited.

    Raises:
        SettingsError: If it has not the format of its name, or does not hold an object.
    """
    try:
        document = parse_settings(text, file)
    except SettingsSyntaxError as error:
        raise SettingsError(f"{error}; it was not changed", path=file, line=error.line) from None
    if not isinstance(document.value, dict):
        raise SettingsError("it must hold an object; it was not changed", path=file)
    return document


def add_item(text: str, path: JsonPath, value: Any, *, file: str = "<text>") -> str:
    """Append a value to the list at a path; missing lists and objects on the way are created.

    The text stays as it is if the list has the value already. The file is its path, for its format
    and error messages.

    Raises:
        SettingsError: If the file has not the format of its name, or a value on the way has the
            wrong type.
    """
    return add_items(text, path, [value], file=file)


def add_items(text: str, path: JsonPath, values: Sequence[Any], *, file: str = "<text>") -> str:
    """Append values to the list at a path, in one edit: see `add_item`.

    Every edit parses the file twice, so many values must not be added one by one.

    Raises:
        SettingsError: As `add_item`.
    """
    editor = _editor_of(file)
    text = _with_object(text, file)
    document = read_settings(text, file)
    intended = copy_value(document)
    # Missing objects on the way, and the list, are created.
    items: Any = intended
    for depth, step in enumerate(path):
        if isinstance(step, int):
            if not isinstance(items, list) or not 0 <= step < len(items):
                raise _wrong_type(document, path[:depth], f"a list with an item {step}")
            items = items[step]
        else:
            if not isinstance(items, dict):
                raise _wrong_type(document, path[:depth], "an object")
            items = items.setdefault(step, [] if depth == len(path) - 1 else {})
    if not isinstance(items, list):
        raise _wrong_type(document, path, "a list")
    keys = {json.dumps(item, sort_keys=True) for item in items}
    new: list[Any] = []
    for value in map(editor.storable, values):
        key = json.dumps(value, sort_keys=True)
        if key not in keys:
            keys.add(key)
            new.append(value)
    if not new:
        return text
    items += new
    return verified(editor.insert_items(document, path, new), file, [intended])


def set_member(text: str, path: JsonPath, value: Any, *, file: str = "<text>") -> str:
    """Set a member that does not exist yet; missing objects on the way are created.

    The text stays as it is if the member has the value already.

    Raises:
        SettingsError: If the file has not the format of its name, the member has another value, or
            a value on the way is not an object.
    """
    text = _with_object(text, file)
    document = read_settings(text, file)
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
        raise SettingsError(f"{label} is inside a value that is not an object", path=file)
    key = path[-1]
    if key in parent:
        if parent[key] == value:
            return text
        message = f"{label} has another value; change it yourself"
        raise SettingsError(message, path=file, line=document.place(path).line)
    parent[key] = value
    return verified(_editor_of(file).insert_member(document, path, value), file, [intended])


def remove_item(text: str, path: JsonPath, value: Any, *, file: str = "<text>") -> str:
    """Remove every occurrence of a value from the list at a path, if there is such a list.

    Raises:
        SettingsError: If the file has not the format of its name.
    """
    value = _editor_of(file).storable(value)
    while True:
        document = read_settings(text, file)
        items = value_at(document.value, path)
        if not isinstance(items, list) or value not in items:
            return text
        text = _remove(document, (*path, items.index(value)))


def remove_at(text: str, path: JsonPath, *, file: str = "<text>") -> str:
    """Remove the item of a list at a path, where there is one.

    Raises:
        SettingsError: If the file has not the format of its name.
    """
    return _remove(read_settings(text, file), path)


def remove_member(text: str, path: JsonPath, *, file: str = "<text>") -> str:
    """Remove the member at a path, if there is one.

    Raises:
        SettingsError: If the file has not the format of its name.
    """
    document = read_settings(text, file)
    parent = value_at(document.value, path[:-1])
    if not isinstance(parent, dict) or path[-1] not in parent:
        return text
    return _remove(document, path)


def prune(text: str, path: JsonPath, *, file: str = "<text>") -> str:
    """Remove an empty list or object at a path, and the objects around it that become empty.

    One that holds a comment stays.

    Raises:
        SettingsError: If the file has not the format of its name.
    """
    editor = _editor_of(file)
    while path and editor.is_prunable(read_settings(text, file), path):
        text = remove_member(text, path, file=file)
        path = path[:-1]
    return text


def _remove(document: SettingsDocument, path: JsonPath) -> str:
    editor = _editor_of(document.file)
    changed = editor.remove(document, path)
    return verified(changed, document.file, editor.values_without(document, path))


# -- the value that the file should have


def _with_object(text: str, file: str) -> str:
    """Append an object to a file of JSON that is empty or holds comments alone."""
    try:
        lacks_object = not is_toml(file) and is_blank(text, file)
    except SettingsSyntaxError:
        return text  # reported with its line when the file is parsed
    if not lacks_object:
        return text
    if text and not text.endswith("\n"):
        text += "\n"
    return text + "{}\n"


def copy_value(document: SettingsDocument) -> Any:
    """Return a copy of the value of a file."""
    return json.loads(json.dumps(document.value))


def _wrong_type(document: SettingsDocument, path: JsonPath, expected: str) -> SettingsError:
    message = f"{'.'.join(map(str, path))} must be {expected}; it was not changed"
    return SettingsError(message, path=document.file, line=document.place(path).line)


def verified(text: str, file: str, intended: Iterable[Any]) -> str:
    """Return the text of a file if it parses to one of the intended values.

    Raises:
        SettingsError: If it does not.
    """
    try:
        value = parse_settings(text, file).value
    except SettingsSyntaxError:
        intended = ()
    if not any(value == possible for possible in intended):
        message = "the edit would change more than was requested; it was not changed"
        raise SettingsError(message, path=file)
    return text
