"""Set members in the text of a settings file and leave every other byte as it is.

A file that its agent would drop for a mistake must keep the mistake.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from anyhook.settings.edit import remove_member, set_member
from anyhook.settings.jsonc import Document, SettingsSyntaxError, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anyhook.settings.formats import SettingsDocument
    from anyhook.settings.jsonc import JsonPath


def replace_values(document: SettingsDocument, changes: Mapping[JsonPath, Any]) -> str:
    """Return the text of a settings file with other values at paths that exist."""
    if not isinstance(document, Document):
        return _replace_in_toml(document, changes)
    spans: list[tuple[int, int, str]] = []
    for path, value in changes.items():
        container, missing = document.locate(path[:-1])
        if missing:
            continue
        members = [span for span in document.children(container) if span.step == path[-1]]
        spans += [(span.start, span.end, json.dumps(value)) for span in members]
    text = document.text
    for start, end, value in sorted(spans, reverse=True):
        text = text[:start] + value + text[end:]
    return text


def _replace_in_toml(document: SettingsDocument, changes: Mapping[JsonPath, Any]) -> str:
    text = document.text
    for path, value in changes.items():
        without = remove_member(text, path, file=document.file)
        text = set_member(without, path, value, file=document.file)
    return text


def lay_over(text: str, members: Mapping[str, Any], *, only_existing: bool = False) -> str:
    """Return the text of a settings file with other members.

    Args:
        text: The file; one that holds no object stays as it is.
        members: The members; of objects on both sides only the inner members are set.
        only_existing: Leave out members that the file does not have.
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
        elif not only_existing:
            text = _insert(document, container, missing, value)
    return text


def _leaves(members: Mapping[str, Any], path: JsonPath = ()) -> Iterator[tuple[JsonPath, Any]]:
    for name, value in members.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, (*path, name))
        else:
            yield (*path, name), value


def _insert(document: Document, container: int, missing: JsonPath, value: Any) -> str:
    """Return the text with a new first member of the object at an offset."""
    if document.plain[container] != "{":
        return document.text  # the file has another value there, which its agent complains about
    for name in reversed(missing[1:]):
        value = {name: value}
    comma = ", " if document.children(container) else ""
    member = f"{json.dumps(missing[0])}: {json.dumps(value)}{comma}"
    return document.text[: container + 1] + member + document.text[container + 1 :]
