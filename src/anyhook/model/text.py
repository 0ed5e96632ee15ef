"""Text from untrusted sources, made safe to show on a terminal."""

from __future__ import annotations

_BLANKS = frozenset("\n\t ")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""What `mask` writes for an invisible character."""
MAX_VALUE_WIDTH = 100
"""Characters of a value that `shorten` shows."""


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
    text = printable(text)
    return text if len(text) <= MAX_VALUE_WIDTH else text[: MAX_VALUE_WIDTH - 1] + "…"


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun, like `1 hook` or `2,000 hooks`."""
    return f"{number} {noun}" if number == 1 else f"{number:,} {noun}s"
