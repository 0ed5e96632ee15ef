"""Set members in the text of a settings file and leave every other byte as it is.

A file that its agent would drop for a mistake must keep the mistake.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from anyhook.errors import SettingsError
from anyhook.settings.edit import (
    copy_value,
    read_settings,
    remove_member,
    set_member,
    verified,
)
from anyhook.settings.json_edit import nest
from anyhook.settings.jsonc import Document, SettingsSyntaxError, parse, value_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anyhook.settings.jsonc import JsonPath, SettingsDocument


def replace_values(document: SettingsDocument, changes: Mapping[JsonPath, Any]) -> str:
    """Return the text of a settings file with other values at paths that exist."""
    text = document.text
    if not isinstance(document, Document):
        for path, value in changes.items():
            try:
                text = _replace_in_toml(text, path, value, document.file)
            except SettingsError:  # a construct that tomlkit does not keep: it loses its place
                without = remove_member(text, path, file=document.file)
                text = set_member(without, path, value, file=document.file)
        return text
    spans: list[tuple[int, int, str]] = []
    for path, value in changes.items():
        container, missing = document.locate(path[:-1])
        if missing:
            continue
        members = [span for span in document.children(container) if span.step == path[-1]]
        for span in members:
            rewritten = _rewrite(text[span.start : span.end], value, is_ascii=text.isascii())
            spans.append((span.start, span.end, rewritten))
    for start, end, value in sorted(spans, reverse=True):
        text = text[:start] + value + text[end:]
    return text


def _replace_in_toml(text: str, path: JsonPath, value: Any, file: str) -> str:
    # Imported late, because only some agents have such files.
    from anyhook.settings.toml_edit import replace_member

    document: Any = read_settings(text, file)
    intended = copy_value(document)
    parent = value_at(intended, path[:-1])
    if not isinstance(parent, dict) or path[-1] not in parent:
        raise SettingsError(f"it has no member {path[-1]!r} there; it was not changed", path=file)
    parent[path[-1]] = value
    return verified(replace_member(document, path, value), file, [intended])


def _rewrite(written: str, value: Any, *, is_ascii: bool) -> str:
    """Return the JSON text of a value in place of a former one.

    The items of a list stay on their lines. In a file of ASCII alone, other characters are escapes.
    """
    if isinstance(value, list) and written.startswith("["):
        document = parse(written)
        former, items = document.value, document.children(0)
        added = len(value) - len(former)
        if added >= 0 and items and value[added:] == former:
            new = [f"{_dump(item, is_ascii=is_ascii)}, " for item in value[:added]]
            return written[: items[0].start] + "".join(new) + written[items[0].start :]
        if added < 0 and value and former[-len(value) :] == value:
            return written[: items[0].start] + written[items[-added].start :]
    return _dump(value, is_ascii=is_ascii)


def _dump(value: Any, *, is_ascii: bool) -> str:
    text = json.dumps(value, ensure_ascii=is_ascii)
    try:
        text.encode()
    except UnicodeEncodeError:  # half an emoji can only be written as an escape
        return json.dumps(value)
    return text


def lay_over(text: str, members: Mapping[str, Any], *, only_existing: bool = False) -> str:
    """Return the text of a settings file with other members.

    Of objects on both sides only the inner members are set. A text without an object stays as it
    is.
    """
    for path, value in _leaves(members):
        try:
            document = parse(text)
        except SettingsSyntaxError:
            return text
        if not isinstance(document.value, dict):
            return text
        container, missing = document.locate(path)
        if not missing:
            text = replace_values(document, {path: value})
        elif not only_existing and document.plain[container] == "{":
            # Another value there stays: the agent complains about it.
            comma = ", " if document.children(container) else ""
            member = f"{json.dumps(missing[0])}: {json.dumps(nest(value, missing[1:]))}{comma}"
            text = text[: container + 1] + member + text[container + 1 :]
    return text


def _leaves(members: Mapping[str, Any], path: JsonPath = ()) -> Iterator[tuple[JsonPath, Any]]:
    for name, value in members.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, (*path, name))
        else:
            yield (*path, name), value
