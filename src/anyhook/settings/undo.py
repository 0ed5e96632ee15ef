"""Exact undos of edits: what an edit has replaced, bound to the text that it left."""

from __future__ import annotations

from os.path import commonprefix
from typing import Any, NamedTuple


class Undo(NamedTuple):
    """What gives back the text before an edit.

    Attributes:
        digest: The hash of the text after the edit.
        at: Characters before the part that differs.
        length: Characters of this part after the edit.
        former: This part before the edit.
    """

    digest: str
    at: int
    length: int
    former: str

    @classmethod
    def of(cls, before: str, after: str) -> Undo:
        """Return the undo of an edit."""
        start = _common_length(before, after)
        end = _common_length(before[start:][::-1], after[start:][::-1])
        length = len(after) - start - end
        return cls(_digest_of(after), start, length, before[start : len(before) - end])

    @classmethod
    def read(cls, value: Any) -> Undo | None:
        """Return an undo that was written as JSON; `None` if it is not one."""
        types = (str, int, int, str)
        if not isinstance(value, list) or len(value) != len(types):
            return None
        return cls(*value) if all(map(isinstance, value, types)) else None

    def restore(self, text: str) -> str | None:
        """Return the text before the edit; `None` if the text was changed since."""
        if _digest_of(text) != self.digest:
            return None
        return text[: self.at] + self.former + text[self.at + self.length :]


def _common_length(first: str, second: str) -> int:
    return len(commonprefix([first, second]))  # noqa: RUF071 - texts, not paths


def _digest_of(text: str) -> str:
    import hashlib  # late: few undo an edit

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
