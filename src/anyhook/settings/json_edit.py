"""Changes of texts of JSON with comments: see `anyhook.settings.edit`."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from anyhook.settings.jsonc import TOKENS, value_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anyhook.settings.jsonc import Document, JsonPath

DEFAULT_INDENT = "  "
_END_OF_LINE_COMMENT = re.compile(r"[ \t]*(?://[^\n\r]*|/\*[^\n]*?\*/)")
_UP_TO_CLOSING_BRACKET = re.compile(r"[^}\]]*")


def storable(value: Any) -> Any:
    """Return a value as JSON can hold it."""
    return value


def insert_items(document: Document, path: JsonPath, values: Sequence[Any]) -> str:
    """Return the text with values at the end of the list at a path, which may be missing."""
    container, missing = document.locate(path)
    if missing:
        return _insert(document, container, [nest(values, missing[1:])], key=missing[0])
    return _insert(document, container, values)


def insert_member(document: Document, path: JsonPath, value: Any) -> str:
    """Return the text with a member at a path that is missing."""
    container, missing = document.locate(path)
    return _insert(document, container, [nest(value, missing[1:])], key=missing[0])


def values_without(document: Document, path: JsonPath) -> Iterator[Any]:
    """Yield the value that the file has without the item or member at a path."""
    value: Any = json.loads(json.dumps(document.value))
    del value_at(value, path[:-1])[path[-1]]
    yield value


def is_prunable(document: Document, path: JsonPath) -> bool:
    """Return whether a list or object stands at a path that holds nothing, not even a comment.

    Of equal keys the last one is read. Without it the one before would count, so it stays.
    """
    container, missing = document.locate(path)
    if missing or document.plain[container] not in "[{":
        return False
    parent, _ = document.locate(path[:-1])
    steps = [span.step for span in document.children(parent)]
    inside = document.text[container + 1 : _closing_bracket(document, container)]
    return steps.count(path[-1]) == 1 and not inside.strip()


def nest(value: Any, steps: JsonPath) -> Any:
    """Return the value in an object for each key, the outermost first."""
    for step in reversed(steps):
        value = {step: value}
    return value


def _insert(
    document: Document, container: int, values: Sequence[Any], *, key: str | int | None = None
) -> str:
    """Return the text with values at the end of the list or object that starts at an offset.

    In an object there is one value, with a key; in a list the key is `None`.
    """
    text = document.text
    spans = document.children(container)
    first = spans[0].key if spans else _closing_bracket(document, container)
    is_multiline = "\n" in text[container:first]
    if is_multiline:
        return _insert_lines(document, container, values, key)
    if key is not None and not spans:
        # `{}` gets a line for the member, and one for a comment that it holds.
        unit = _indent_unit(text)
        outer = _newline_of(text) + _indent_of_line(text, container)
        inner = outer + unit
        comment = text[container + 1 : first].strip()
        comment_line = inner + comment if comment else ""
        entry = inner + _render(values[0], key, unit, inner)
        return text[: container + 1] + comment_line + entry + outer + text[first:]
    entries = ", ".join(_render(value, key) for value in values)
    if spans:
        return _insert_text(text, spans[-1].end, ", " + entries)
    return _insert_text(text, container + 1, entries)


def _insert_text(text: str, offset: int, addition: str) -> str:
    return text[:offset] + addition + text[offset:]


def _insert_lines(
    document: Document, container: int, values: Sequence[Any], key: str | int | None
) -> str:
    """Insert values on lines of their own, in the style of the values before them."""
    text = document.text
    spans = document.children(container)
    newline = _newline_of(text)
    unit = _indent_unit(text)
    outer = newline + _indent_of_line(text, container)
    if spans:
        inner = newline + _indent_of_line(text, spans[-1].key)
        last_end = spans[-1].end
        comma = _comma_between(document, last_end, _closing_bracket(document, container))
    else:
        inner = outer + unit
        last_end = container + 1
        comma = None
    has_trailing_comma = comma is not None
    separator = "," if spans and not has_trailing_comma else ""
    trailing_comma = "," if has_trailing_comma else ""
    # A comment on the line of the last value stays on that line.
    offset = last_end if comma is None else comma + 1
    match = _END_OF_LINE_COMMENT.match(text, offset)
    line_end = match.end() if match else offset
    entries = ",".join(inner + _render(value, key, unit, inner) for value in values)
    rest = text[line_end:]
    ends_line = rest.lstrip(" \t").startswith(("\n", "\r"))
    if not ends_line:
        rest = outer + rest.lstrip(" \t")
    return text[:last_end] + separator + text[last_end:line_end] + entries + trailing_comma + rest


def remove(document: Document, path: JsonPath) -> str:
    """Return the text without the item or member at a path, and the comma that separated it.

    An object that holds nothing then becomes `{}`.
    """
    container, _ = document.locate(path[:-1])
    text, spans = document.text, document.children(container)
    # Of equal keys the last one is the member that is read.
    index = max(index for index, span in enumerate(spans) if span.step == path[-1])
    span = spans[index]
    is_last = index + 1 == len(spans)
    following = _closing_bracket(document, container) if is_last else spans[index + 1].key
    comma = _comma_between(document, span.end, following)
    if comma is None and index > 0:
        comma = _comma_between(document, spans[index - 1].end, span.key)
    cuts = [(span.key, span.end)]
    cut = span.key
    if comma is not None:
        cuts.append((comma, comma + 1))
        if comma < span.key:
            cut -= 1  # the comma in front is deleted, too
    for start, end in sorted(cuts, reverse=True):
        text = text[:start] + text[end:]
    text = _without_blanks_at(text, cut)
    rest = text[container + 1 :].lstrip()
    if document.plain[container] == "{" and rest.startswith("}"):
        text = text[: container + 1] + rest
    return text


def _without_blanks_at(text: str, cut: int) -> str:
    """Remove the line, or the blank, that a deletion at an offset left behind."""
    line_start = text.rfind("\n", 0, cut) + 1
    line_end = text.find("\n", cut)
    if line_end >= 0 and not text[line_start:line_end].strip():
        return text[:line_start] + text[line_end + 1 :]
    before, after = text[cut - 1 : cut], text[cut : cut + 1]
    if after == " " and before in ("[", " "):
        return text[:cut] + text[cut + 1 :]
    # `[ ]` and the end of a comment keep their blank.
    was_padded = text[cut - 2 : cut - 1] in ("/", "[", "{")
    if after in ("]", "}") and before == " " and not was_padded:
        return text[: cut - 1] + text[cut:]
    return text


def _comma_between(document: Document, start: int, stop: int) -> int | None:
    """Return the offset of the first comma that is in no comment or string."""
    for match in TOKENS.finditer(document.text, start):
        if match.start() >= stop:
            break
        if match["comma"] is not None:
            return match.start()
    comma = document.plain.find(",", start, stop)
    return comma if comma >= 0 else None


def _closing_bracket(document: Document, container: int) -> int:
    spans = document.children(container)
    start = spans[-1].end if spans else container + 1
    match = _UP_TO_CLOSING_BRACKET.match(document.plain, start)
    return match.end() if match else start


def _render(value: Any, key: str | int | None, unit: str | None = None, newline: str = "") -> str:
    """Write a value, on one line without `unit`; `newline` includes the indentation."""
    body = json.dumps(value, ensure_ascii=False, indent=unit)
    try:
        body.encode()
    except UnicodeEncodeError:  # a lone surrogate can only be written as an escape
        body = json.dumps(value, indent=unit)
    if unit is not None:
        body = body.replace("\n", newline)
    if key is None:
        return body
    return f"{json.dumps(key, ensure_ascii=False)}: {body}"


def _newline_of(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indent_unit(text: str) -> str:
    match = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return match[1] if match else DEFAULT_INDENT


def _indent_of_line(text: str, offset: int) -> str:
    line = text[text.rfind("\n", 0, offset) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]
