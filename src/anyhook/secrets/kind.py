r"""One kind of secret, and what the patterns of many kinds have in common.

Texts are mostly JSON, in which quotation marks and line breaks are escaped, also several times.
So `\\+"` is a quotation mark within a string, and no pattern can match one that ends a string.

Every pattern takes time in proportion to the text: what it repeats cannot be matched in two ways,
and what lies between a command and its option is limited.
"""

from __future__ import annotations

from anyhook.model.record import Record

START = r"(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt])|(?<=[0-9]m))"
"""The start of a word: also behind an escaped line break, whose letter would be part of the word,
and behind the colors of a terminal. Kinds with a longer mark are found within words, too."""
BODY = r"[a-z_.~-]{0,30}+[0-9A-Z+/=]"
"""What the search for a mark wants behind it, unless the kind says something else: words of
programs seldom have a digit or a capital letter."""


class SecretKind(Record, kw_only=False):
    """One kind of secret."""

    label: str
    """Stands in its place."""
    marks: tuple[str, ...]
    """Texts of which one is in each match."""
    patterns: tuple[str, ...]
    """Match the secret; the group `secret` if only a part is replaced."""
    example: str = ""
    """As the rules of gitleaks have it; empty for what is recognized by what stands before it."""
    follows: str = BODY
    """Pattern of what is behind a mark; the search for marks tries it first."""
    any_case: bool = False
    """Whether marks are searched in lower case."""
    before: int = 0
    """Characters that a match has before its mark."""
