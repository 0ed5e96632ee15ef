"""Text of strangers, made safe to show on a terminal."""

from __future__ import annotations

_KEPT = frozenset("\n\t ")
"""Characters that are no letters and are shown as they are."""


def printable(text: str) -> str:
    """Show everything that a reader cannot see as an escape; keep line breaks and tabs.

    Those are control characters, marks of direction, soft hyphens, tags, blanks of other widths,
    lone surrogates, and combining characters, which are drawn over the character before. What a
    hook or a repository holds must not colour, hide or move what a person reads before trusting it.
    """
    if text.isascii() and text.isprintable():
        return text
    from unicodedata import category

    shown = []
    for char in text:
        is_plain = char in _KEPT or (char.isascii() and char.isprintable())
        if is_plain or category(char)[0] not in "CMZ":
            shown.append(char)
        else:
            shown.append(char.encode("unicode_escape").decode())
    return "".join(shown)
