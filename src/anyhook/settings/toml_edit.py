"""Edits of TOML: see `anyhook.settings.edit`.

Tables that a header begins (`[[hooks.PreToolUse]]`) are inserted and cut as whole lines, so that
nothing else of the text changes. Everything else is changed by tomlkit, which keeps comments.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import String

from anyhook.errors import SettingsError
from anyhook.settings.edited_values import (
    append_new,
    copy_value,
    list_to_extend,
    verified,
    with_member,
)
from anyhook.settings.jsonc import SettingsSyntaxError
from anyhook.settings.toml import parse_toml

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyhook.settings.jsonc import JsonPath
    from anyhook.settings.toml import TomlDocument


def read_settings(text: str, file: str) -> TomlDocument:
    """See `anyhook.settings.edit.read_settings`."""
    try:
        return parse_toml(text, file)
    except SettingsSyntaxError as error:
        raise SettingsError(f"{error}; it was not changed", path=file, line=error.line) from None


def add_items(text: str, path: JsonPath, values: Sequence[Any], *, file: str) -> str:
    """See `anyhook.settings.edit.add_items`."""
    document = read_settings(text, file)
    intended = copy_value(document)
    new = append_new(list_to_extend(intended, path, document), map(_without_nulls, values))
    if not new:
        return text
    if all(isinstance(value, dict) for value in new) and not _is_inline(document, path):
        return verified(parse_toml, _insert_tables(document, path, new), intended, file)

    def append(root: Any) -> None:
        parent = _container(root, path[:-1])
        if path[-1] not in parent:
            parent[path[-1]] = _inline([])
        for value in new:
            parent[path[-1]].append(_inline(value))

    return verified(parse_toml, _change(text, append, file), intended, file)


def set_member(text: str, path: JsonPath, value: Any, *, file: str) -> str:
    """See `anyhook.settings.edit.set_member`."""
    document = read_settings(text, file)
    intended = with_member(document, path, value)
    if intended is None:
        return text

    def set_value(root: Any) -> None:
        _container(root, path[:-1])[path[-1]] = _inline(value)

    return verified(parse_toml, _change(text, set_value, file), intended, file)


def replace_member(text: str, path: JsonPath, value: Any, *, file: str) -> str:
    """Replace the value of a member that exists, where it stands.

    Raises:
        SettingsError: If the file is not TOML, there is no such member, or tomlkit would change
            more than that.
    """
    document = read_settings(text, file)
    intended = copy_value(document)
    parent = _value_at(intended, path[:-1])
    if not isinstance(parent, dict) or path[-1] not in parent:
        raise SettingsError(f"it has no member {path[-1]!r} there; it was not changed", path=file)
    parent[path[-1]] = value

    def replace(root: Any) -> None:
        container = _container(root, path[:-1])
        former = container[path[-1]]
        is_literal = isinstance(former, String) and former.as_string().startswith("'")
        item = _inline(value)
        if is_literal and isinstance(value, str):
            with suppress(TOMLKitError, ValueError):  # it cannot stand in single quotes
                item = tomlkit.string(value, literal=True, multiline="\n" in value)
        container[path[-1]] = item

    return verified(parse_toml, _change(text, replace, file), intended, file)


def remove_item(text: str, path: JsonPath, value: Any, *, file: str) -> str:
    """See `anyhook.settings.edit.remove_item`."""
    value = _without_nulls(value)
    while True:
        document = read_settings(text, file)
        items = _value_at(document.value, path)
        if not isinstance(items, list) or value not in items:
            return text
        text = _remove(document, (*path, items.index(value)))


def remove_member(text: str, path: JsonPath, *, file: str) -> str:
    """See `anyhook.settings.edit.remove_member`."""
    document = read_settings(text, file)
    parent = _value_at(document.value, path[:-1])
    if not isinstance(parent, dict) or path[-1] not in parent:
        return text
    return _remove(document, path)


def prune(text: str, path: JsonPath, *, file: str) -> str:
    """See `anyhook.settings.edit.prune`.

    A list of tables with headers ends with its last table, so the path may be gone already.
    """
    while path:
        document = read_settings(text, file)
        value = _value_at(document.value, path)
        if (value is not None and value not in ([], {})) or _has_comment(document, path):
            return text
        if value is not None:
            text = remove_member(text, path, file=file)
        path = path[:-1]
    return text


# -- values


def _without_nulls(value: Any) -> Any:
    """Return a value without members that are null, which TOML does not have."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value if item is not None]
    return value


def _value_at(value: Any, path: JsonPath) -> Any:
    """Return the value at a path of keys and indexes; `None` if there is none."""
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


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


# -- changes by tomlkit


def _change(text: str, change: Callable[[Any], None], file: str) -> str:
    """Return the text after a change of the parsed document."""
    try:
        root = tomlkit.parse(text)
        change(root)
        return tomlkit.dumps(root)
    except (TOMLKitError, TypeError, ValueError, KeyError) as error:
        raise SettingsError(
            f"it cannot be edited: {error}; it was not changed", path=file
        ) from None


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


def _insert_tables(document: TomlDocument, path: JsonPath, values: Sequence[dict[str, Any]]) -> str:
    """Return the text with tables at the end of the list at a path."""
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


def table_lines(keys: list[str], value: dict[str, Any]) -> list[str]:
    """Return the lines of a table of a list; lists of objects in it get tables of their own."""
    name = ".".join(tomlkit.key(key).as_string() for key in keys)
    lines = [f"[[{name}]]"]
    nested: list[str] = []
    for key, member in _without_nulls(value).items():
        is_list_of_tables = isinstance(member, list) and member and isinstance(member[0], dict)
        if is_list_of_tables and all(isinstance(item, dict) for item in member):
            for item in member:
                nested += ["", *table_lines([*keys, key], item)]
        else:
            lines.append(f"{tomlkit.key(key).as_string()} = {_inline(member).as_string()}")
    return lines + nested


def _remove(document: TomlDocument, path: JsonPath) -> str:
    """Return the text without the item or member at a path."""
    intended = copy_value(document)
    parent = _value_at(intended, path[:-1])
    del parent[path[-1]]
    # The last table of a list takes the list with it.
    alternative = copy_value(document)
    if isinstance(path[-1], int) and not parent:
        # So do the objects around it that become empty and have no header.
        for depth in range(len(path) - 1, 0, -1):
            holder = _value_at(alternative, path[: depth - 1])
            if depth < len(path) - 1 and holder[path[depth - 1]]:
                break
            del holder[path[depth - 1]]
    span = document.spans.get(path)
    if span is not None and span.has_header:
        changed = _cut_sections(document, path)
    else:

        def remove(root: Any) -> None:
            container = root
            for step in path[:-1]:
                container = container[step]
            del container[path[-1]]

        changed = _change(document.text, remove, document.file)
    try:
        return verified(parse_toml, changed, intended, document.file)
    except SettingsError:
        return verified(parse_toml, changed, alternative, document.file)


def _has_comment(document: TomlDocument, path: JsonPath) -> bool:
    """Return whether a comment may stand in an empty list or table."""
    span = document.spans.get(path)
    if span is None:
        return False
    if not span.has_header:
        return "#" in document.text[span.start : span.end]
    starts = [section.start for section in document.sections if section.start > span.start]
    end = min(starts, default=len(document.text))
    return "#" in document.text[span.start : end]


def _cut_sections(document: TomlDocument, path: JsonPath) -> str:
    """Return the text without the lines of a table; comments around them stay."""
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


def _end_of_line(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return len(text) if end < 0 else end + 1
