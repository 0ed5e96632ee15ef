"""Changes of texts of TOML: see `anyhook.settings.edit`.

Tables that a header begins (`[[hooks.PreToolUse]]`) are inserted and cut as whole lines, so that
nothing else of the text changes. Everything else is changed by tomlkit, which keeps comments.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import String

from anyhook.errors import SettingsError
from anyhook.settings.jsonc import value_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from anyhook.settings.jsonc import JsonPath
    from anyhook.settings.toml import TomlDocument


def storable(value: Any) -> Any:
    """Return a value without members that are null, which TOML does not have."""
    if isinstance(value, dict):
        return {key: storable(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [storable(item) for item in value if item is not None]
    return value


def insert_items(document: TomlDocument, path: JsonPath, values: Sequence[Any]) -> str:
    """Return the text with values at the end of the list at a path, which may be missing."""
    if _is_inline(document, path) or not all(isinstance(value, dict) for value in values):

        def append(root: Any) -> None:
            parent = _container(root, path[:-1])
            if path[-1] not in parent:
                parent[path[-1]] = _inline([])
            for value in values:
                parent[path[-1]].append(_inline(value))

        return _change(document, append)
    # Each value becomes a table with a header.
    text = document.text
    newline = "\r\n" if "\r\n" in text else "\n"
    keys = [step for step in path if isinstance(step, str)]
    blocks = [newline.join(table_lines(keys, value)) + newline for value in values]
    at = len(text)
    # A nested list must follow its table, before the next table of that list begins.
    anchors = (path, path[:-1]) if any(isinstance(step, int) for step in path) else (path,)
    for anchor in anchors:
        if anchor in document.spans:
            # After the last member of the table, or of the list of tables.
            spans = document.spans.items()
            end = max(span.end for key, span in spans if key[: len(anchor)] == anchor)
            at = _end_of_line(text, end)
            break
    before, after = text[:at], text[at:]
    separator = newline if before and not before.endswith("\n") else ""
    if before.strip():
        separator += newline
    block = newline.join(blocks)
    if after and not after.startswith(("\n", "\r")):
        block += newline
    return before + separator + block + after


def insert_member(document: TomlDocument, path: JsonPath, value: Any) -> str:
    """Return the text with a member at a path that is missing."""

    def insert(root: Any) -> None:
        _container(root, path[:-1])[path[-1]] = _inline(value)

    return _change(document, insert)


def replace_member(document: TomlDocument, path: JsonPath, value: Any) -> str:
    """Return the text with another value of a member, where it stands.

    Raises:
        SettingsError: If the member does not exist.
    """

    def replace(root: Any) -> None:
        container = _container(root, path[:-1])
        former = container[path[-1]]
        is_literal = isinstance(former, String) and former.as_string().startswith("'")
        item = _inline(value)
        if is_literal and isinstance(value, str):
            with suppress(TOMLKitError, ValueError):  # it cannot stand in single quotes
                item = tomlkit.string(value, literal=True, multiline="\n" in value)
        container[path[-1]] = item

    return _change(document, replace)


def remove(document: TomlDocument, path: JsonPath) -> str:
    """Return the text without the item or member at a path."""
    span = document.spans.get(path)
    if span is not None and span.has_header:
        # The lines of the table and of those in it; comments around them stay.
        text = document.text
        for section in reversed(document.sections):
            if section.path[: len(path)] != path:
                continue
            start = text.rfind("\n", 0, section.start) + 1
            before, after = text[:start], text[_end_of_line(text, section.end) :]
            if not before.strip() or before.endswith(("\n\n", "\r\n\r\n")):
                after = after.lstrip("\r\n")
            if not after:
                before = before.rstrip("\r\n") + ("\n" if before.strip() else "")
            text = before + after
        return text

    def delete(root: Any) -> None:
        for step in path[:-1]:
            root = root[step]
        del root[path[-1]]

    return _change(document, delete)


def values_without(document: TomlDocument, path: JsonPath) -> Iterator[Any]:
    """Yield the values that the file may have without the item or member at a path."""
    text = json.dumps(document.value)
    value: Any = json.loads(text)
    parent = value_at(value, path[:-1])
    del parent[path[-1]]
    yield value
    value = json.loads(text)
    # The last table of a list takes the list with it, and the objects around it that become empty
    # and have no header.
    if isinstance(path[-1], int) and not parent:
        for depth in range(len(path) - 1, 0, -1):
            holder = value_at(value, path[: depth - 1])
            if depth < len(path) - 1 and holder[path[depth - 1]]:
                break
            del holder[path[depth - 1]]
        yield value


def is_prunable(document: TomlDocument, path: JsonPath) -> bool:
    """Return whether nothing stands at a path, or a list or table without members and comments.

    A list of tables with headers ends with its last table, so the path may be gone already.
    """
    if value_at(document.value, path) not in (None, [], {}):
        return False
    span = document.spans.get(path)
    if span is None:
        return True
    end = span.end
    if span.has_header:
        starts = [section.start for section in document.sections if section.start > span.start]
        end = min(starts, default=len(document.text))
    return "#" not in document.text[span.start : end]


def _inline(value: Any) -> Any:
    """Return a value as an item of tomlkit that is written on one line."""
    if isinstance(value, dict):
        table = tomlkit.inline_table()
        for key, member in value.items():
            table[key] = _inline(member)
        return table
    if isinstance(value, list):
        array = tomlkit.array()
        for item in value:
            array.append(_inline(item))
        return array
    return tomlkit.item(value)


def _change(document: TomlDocument, change: Callable[[Any], None]) -> str:
    """Return the text after a change of the document that tomlkit parses."""
    try:
        root = tomlkit.parse(document.text)
        change(root)
        return tomlkit.dumps(root)
    except (TOMLKitError, TypeError, ValueError, KeyError) as error:
        message = f"it cannot be edited: {error}; it was not changed"
        raise SettingsError(message, path=document.file) from None


def _container(root: Any, path: JsonPath) -> Any:
    """Return the table at a path of a document; missing ones are created."""
    for step in path:
        if isinstance(step, str) and step not in root:
            root[step] = tomlkit.table()
        root = root[step]
    return root


# -- tables with headers


def _is_inline(document: TomlDocument, path: JsonPath) -> bool:
    """Return whether a list, or what holds it, is written inside brackets on the way."""
    for depth in range(len(path), 0, -1):
        span = document.spans.get(path[:depth])
        if span is not None:
            return not span.has_header
    return False


def table_lines(keys: list[str], value: dict[str, Any]) -> list[str]:
    """Return the lines of a table of a list; lists of objects in it get tables of their own."""
    name = ".".join(tomlkit.key(key).as_string() for key in keys)
    lines = [f"[[{name}]]"]
    nested: list[str] = []
    for key, member in storable(value).items():
        is_list_of_tables = isinstance(member, list) and member and isinstance(member[0], dict)
        if is_list_of_tables and all(isinstance(item, dict) for item in member):
            for item in member:
                nested += ["", *table_lines([*keys, key], item)]
        else:
            lines.append(f"{tomlkit.key(key).as_string()} = {_inline(member).as_string()}")
    return lines + nested


def _end_of_line(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return len(text) if end < 0 else end + 1
