"""Edits of the text of a settings file that keep comments, order and indentation.

Every edit is checked: the new text must parse to exactly the intended value, otherwise
`SettingsError` is raised. The format of the file decides how it is edited.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from anyhook.settings import json_edit
from anyhook.settings.formats import is_toml

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyhook.settings.jsonc import JsonPath, SettingsDocument


class _Editor(Protocol):
    """A module that edits the files of one format."""

    def read_settings(self, text: str, file: str) -> SettingsDocument: ...

    def add_items(self, text: str, path: JsonPath, values: Sequence[Any], *, file: str) -> str: ...

    def set_member(self, text: str, path: JsonPath, value: Any, *, file: str) -> str: ...

    def remove_item(self, text: str, path: JsonPath, value: Any, *, file: str) -> str: ...

    def remove_member(self, text: str, path: JsonPath, *, file: str) -> str: ...

    def prune(self, text: str, path: JsonPath, *, file: str) -> str: ...


def _editor_of(file: str) -> _Editor:
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
    return _editor_of(file).read_settings(text, file)


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
    return _editor_of(file).add_items(text, path, values, file=file)


def set_member(text: str, path: JsonPath, value: Any, *, file: str = "<text>") -> str:
    """Set a member that does not exist yet; missing objects on the way are created.

    The text stays as it is if the member has the value already.

    Raises:
        SettingsError: If the file has not the format of its name, the member has another value, or
            a value on the way is not an object.
    """
    return _editor_of(file).set_member(text, path, value, file=file)


def remove_item(text: str, path: JsonPath, value: Any, *, file: str = "<text>") -> str:
    """Remove every occurrence of a value from the list at a path, if there is such a list.

    Raises:
        SettingsError: If the file has not the format of its name.
    """
    return _editor_of(file).remove_item(text, path, value, file=file)


def remove_member(text: str, path: JsonPath, *, file: str = "<text>") -> str:
    """Remove the member at a path, if there is one.

    Raises:
        SettingsError: If the file has not the format of its name.
    """
    return _editor_of(file).remove_member(text, path, file=file)


def prune(text: str, path: JsonPath, *, file: str = "<text>") -> str:
    """Remove an empty list or object at a path, and the objects around it that become empty.

    One that holds a comment stays.

    Raises:
        SettingsError: If the file has not the format of its name.
    """
    return _editor_of(file).prune(text, path, file=file)
