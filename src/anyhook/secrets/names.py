"""Names of variables and members whose values are secret."""

from __future__ import annotations

import re
from functools import cache

_WORDS_OF_KEYS = (
    *("access", "account", "api", "auth", "encryption"),
    *("master", "private", "secret", "shared", "signing"),
)
NAMES = (
    r"password|passwd|passwort|passphrase|secret|token|credentials?|authorization"
    rf"|(?:{'|'.join(_WORDS_OF_KEYS)})[_-]?key"
)
"""Pattern of the end of a name, in lower case, whose value is secret wherever it is."""
NAME_MARKS = (
    *("password", "passwd", "passwort", "passphrase", "secret", "token"),
    *("credential", "credentials", "authorization"),
    *[f"{word}{joint}key" for word in _WORDS_OF_KEYS for joint in ("", "_", "-")],
)
"""Texts of which one is a match of `NAMES`."""
_WORDS = (
    r"passw(?:or)?d|passphrase|(?<!ask)pass|pwd|secret|token|key|credential|creds|cookie"
    r"|auth(?:orization)?|private|(?<![a-z])pat"
)


@cache
def _pattern(*, ends: bool) -> re.Pattern[str]:
    return re.compile(rf"(?:{_WORDS})s?{'$' if ends else '(?![a-z])'}", re.IGNORECASE)


def is_secret_name(name: str) -> bool:
    """Return whether a word of a variable's name says that its value is, or leads to, a secret."""
    return _pattern(ends=False).search(name) is not None


def has_secret_value(name: str) -> bool:
    """Return whether the value of a variable is itself a secret: the name ends with such a word."""
    return name not in ("PWD", "OLDPWD") and _pattern(ends=True).search(name) is not None
