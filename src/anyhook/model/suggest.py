"""Suggestions for mistyped names."""

from __future__ import annotations

from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


MAX_LENGTH = 100
"""Characters of a name that is compared, because that takes quadratic time."""
MAX_NAMES = 1000
"""Names that are compared."""


def fold(word: str) -> str:
    """Return a name without what is most often mistyped in it: case, `_` and `-`."""
    return word.casefold().replace("_", "").replace("-", "")


def closest(word: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to a word; `None` if none is similar."""
    from difflib import SequenceMatcher, get_close_matches

    if len(word) > MAX_LENGTH:
        return None
    by_folded: dict[str, list[str]] = {}
    for name in islice(known, MAX_NAMES):
        if len(name) <= MAX_LENGTH:
            by_folded.setdefault(fold(name), []).insert(0, name)
    matches = get_close_matches(fold(word), by_folded, n=1, cutoff=0.7)
    if not matches:
        return None
    # `Bash` and `bash` are tools of different agents: the one that is written like the word.
    names = by_folded[matches[0]]
    return max(names, key=lambda name: SequenceMatcher(None, word, name).ratio())


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """Return `did you mean 'x'?`; `None` if no known name is similar."""
    suggestion = closest(word, known)
    return f"did you mean {suggestion!r}?" if suggestion else None
