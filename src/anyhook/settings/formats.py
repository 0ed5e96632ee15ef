"""The formats of settings files: JSON with comments, plain JSON, and TOML by the name's ending."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from anyhook.settings.jsonc import (
    TOKENS,
    Document,
    SettingsSyntaxError,
    parse,
    strip_comments,
)

if TYPE_CHECKING:
    from anyhook.model.diagnostics import Place
    from anyhook.settings.jsonc import SettingsDocument

ADDITIONS = {
    "comment": "a comment",
    "comma": "a comma before a closing bracket",
    "mark": "a byte order mark",
}
"""What settings files may have and JSON does not, by name."""


class Rejected(NamedTuple):
    """A part of a settings file that its agent does not accept.

    Attributes:
        what: What it is, for a message.
    """

    what: str
    place: Place


def is_toml(file: str) -> bool:
    """Return whether the name of a file says that it is TOML."""
    return file.endswith(".toml")


def parse_settings(text: str, file: str, *, strict_json: bool = False) -> SettingsDocument:
    """Parse a settings file: TOML, or JSON with comments, by the name of the file.

    Strict JSON has no comments, trailing commas and byte order mark.

    Raises:
        SettingsSyntaxError: If it is anything else.
    """
    if not is_toml(file):
        document = parse(text, file)
        if strict_json and document.plain != text:
            pairs = enumerate(zip(text, document.plain, strict=True))
            offset = next(index for index, (written, kept) in pairs if written != kept)
            addition = ADDITIONS[{"/": "comment", ",": "comma"}.get(text[offset], "mark")]
            raise SettingsSyntaxError(f"{addition} is not allowed in this file", text, offset)
        return document
    from anyhook.settings.toml import parse_toml

    return parse_toml(text, file)


def find_rejected(document: SettingsDocument, rejected: frozenset[str]) -> Rejected | None:
    """Return the first thing in a file that JSON does not have and its agent does not accept.

    The rejected things are names of `ADDITIONS`; a file of TOML has none.
    """
    if not rejected or not isinstance(document, Document) or document.plain == document.text:
        return None
    if "mark" in rejected and document.text.startswith("\ufeff"):
        return Rejected(ADDITIONS["mark"], document.place_at(0))
    for match in TOKENS.finditer(document.text):
        if match.lastgroup in rejected:
            return Rejected(ADDITIONS[match.lastgroup], document.place_at(match.start()))
    return None


def is_blank(text: str, file: str) -> bool:
    """Return whether a file holds no value, only blanks and comments.

    Raises:
        SettingsSyntaxError: If a comment has no end.
    """
    if is_toml(file):
        return all(not line.strip() or line.lstrip().startswith("#") for line in text.splitlines())
    return not strip_comments(text).strip()
