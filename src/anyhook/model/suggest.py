"""The closest known name to a mistyped one."""

from __future__ import annotations

from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


LONGEST = 100
"""Characters; comparing takes quadratic time, and names are short."""
MOST = 1000
"""Names that are compared."""


def fold(word: str) -> str:
    """Return a name without what is most often mistaken in it: case, `_` and `-`."""
    return word.casefold().replace("_", "").replace("-", "")


def closest(word: str, known: Iterable[str]) -> str | None:
    """Return the known name most like `word`, ignoring case, or `None` if none is close."""
    from difflib import get_close_matches

    if len(word) > LONGEST:
        return None
    names = [name for name in islice(known, MOST) if len(name) <= LONGEST]
    by_folded = {fold(name): name for name in names}
    found = get_close_matches(fold(word), by_folded, n=1, cutoff=0.7)
    return by_folded[found[0]] if found else None


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """Return `did you mean 'x'?`, or `None` if nothing known is close."""
    found = closest(word, known)
    return f"did you mean {found!r}?" if found else None
