"""The environment of a command: what it inherits, what it is told, and which secrets it never sees.

Which names and values are secret is data of the dialect.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.dialects.base import RedactionRules

_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::-([^}]*))?\}|(\w+))")


@dataclass(frozen=True, slots=True)
class Redaction:
    """Which variables a command does not inherit.

    Attributes:
        enabled: Whether anything is dropped at all.
        strict: Keep only what is known to be harmless.
        allowed: Names to keep, in any case; a value that looks like a secret is dropped anyway.
        blocked: Names to drop.
    """

    enabled: bool = False
    strict: bool = False
    allowed: frozenset[str] = frozenset()
    blocked: frozenset[str] = frozenset()

    @classmethod
    def from_settings(
        cls, settings: Mapping[str, Any], environ: Mapping[str, str], rules: RedactionRules
    ) -> Redaction:
        """Read the merged settings; some surroundings are strict by themselves."""
        strict = any(
            environ.get(name) == value if value else environ.get(name)
            for name, value in rules.strict_where.items()
        )
        return cls(
            enabled=bool(settings.get("enabled")) or strict,
            strict=strict,
            allowed=frozenset(name.upper() for name in settings.get("allowed", ())),
            blocked=frozenset(name.upper() for name in settings.get("blocked", ())),
        )

    def apply(self, environ: Mapping[str, str], rules: RedactionRules) -> dict[str, str]:
        """Return what is left of an environment."""
        if not self.enabled:
            return dict(environ)
        return {name: value for name, value in environ.items() if self.keeps(name, value, rules)}

    def keeps(self, name: str, value: str, rules: RedactionRules) -> bool:
        """Tell whether a variable is passed on. The first rule that applies decides."""
        upper = name.upper()
        verdicts = (
            (upper.startswith(rules.kept_prefixes), True),
            (any(pattern.search(value) for pattern in rules.value_patterns), False),
            (upper.startswith(rules.harmless_prefixes), True),
            (upper in self.allowed, True),
            (upper in self.blocked, False),
            (upper in rules.always_allowed, True),
            (upper in rules.never_allowed or self.strict, False),
            (rules.name_pattern.search(upper) is not None, False),
        )
        return next((keep for applies, keep in verdicts if applies), True)


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Resolve `$NAME`, `${NAME}` and `${NAME:-default}`; unknown names stay as they are."""

    def value(match: re.Match[str]) -> str:
        name, default = match[1] or match[3], match[2]
        found = variables.get(name)
        if default is not None:
            return found or default
        return match[0] if found is None else found

    return _VARIABLE.sub(value, text)
