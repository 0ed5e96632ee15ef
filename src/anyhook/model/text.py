"""Text of strangers, made safe to show on a terminal."""

from __future__ import annotations

import re

_UNSAFE = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
"""Control characters, invisible and direction marks, and lone surrogates."""


def printable(text: str) -> str:
    """Show control characters, direction marks and lone surrogates as escapes; keep line breaks.

    What a hook or a repository says must not colour, hide or move what a person reads before
    trusting it.
    """
    if text.isprintable():  # none of the unsafe ones is
        return text
    return re.sub(_UNSAFE, lambda match: match[0].encode("unicode_escape").decode(), text)
