"""Text from untrusted sources, made safe to show on a terminal."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_BLANKS = frozenset("\n\t ")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""What `mask` writes for an invisible character."""
MAX_VALUE_WIDTH = 100
"""Characters of a value that `shorten` shows."""
MAX_NAMES = 5
"""Names that `first_names` lists."""


def printable(text: str) -> str:
    """Show every invisible character as an escape; keep line breaks and tabs.

    That covers control characters, marks of direction, soft hyphens, tags, blanks of other widths,
    lone surrogates, and combining characters, which are drawn over the character before. A hook or
    a repository must not color, hide or move the text that a person reads before trusting it.
    """
    if text.isascii() and text.isprintable():
        return text
    from unicodedata import category

    characters: list[str] = []
    for character in text:
        is_plain = character in _BLANKS or (character.isascii() and character.isprintable())
        # C: control and format characters, M: marks, Z: separators.
        if not is_plain and category(character)[0] in "CMZ":
            character = character.encode("unicode_escape").decode()  # noqa: PLW2901
        characters.append(character)
    return "".join(characters)


def mask(text: str) -> str:
    """Return a text of one line with a mark in the place of every invisible character."""
    masked: list[str] = []
    for character in text:
        is_invisible = character in "\n\t" or printable(character) != character
        masked.append(REPLACEMENT if is_invisible else character)
    return "".join(masked)


def shorten(value: object) -> str:
    """Return a value as one line of at most 100 characters; a text with line breaks is JSON."""
    if isinstance(value, str) and value == " ".join(value.split()):
        text = value
    else:
        import json

        from anyhook.model.json import repair

        text = json.dumps(repair(value), ensure_ascii=False)
    return cut(printable(text), MAX_VALUE_WIDTH)


def cut(text: str, width: int) -> str:
    """Return a text that has at most that many characters; a longer one ends with `…`."""
    return text if len(text) <= width else text[: width - 1] + "…"


def first_names(names: Sequence[str]) -> str:
    """Return the first names and the number of the others, like `a, b, c, d, e and 2 more`."""
    listed = ", ".join(names[:MAX_NAMES])
    return f"{listed} and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else listed


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun, like `1 hook` or `2,000 hooks`."""
    return f"{number} {noun}" if number == 1 else f"{number:,} {noun}s"
