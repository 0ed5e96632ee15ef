"""The environment of a command: what it inherits, what it is told, and which secrets it never sees.

Which names and values are secret is data of the agent.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anyhook.shell.variables import controls_shell

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anyhook.agents.spec import RedactionRules
    from anyhook.model.layers import Layer

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


class Inheritance:
    """What the commands of each layer inherit; worked out anew when the host's variables change.

    Args:
        environ: The host's environment, as it is at any time.
        redactions: Layer to what its commands do not inherit.
        rules: What is secret; `None` if the agent hides nothing.
        drops: Beginnings of names that no command inherits.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        redactions: Mapping[Layer, Redaction],
        rules: RedactionRules | None,
        stripped_prefixes: tuple[str, ...],
    ) -> None:
        self.environ = environ
        self._redactions = redactions
        self._rules = rules
        self._drops = stripped_prefixes
        self._seen: dict[Any, Any] | None = None
        self._known: dict[Layer, dict[str, str]] = {}

    def of(self, layer: Layer) -> Mapping[str, str]:
        """Return what a layer inherits."""
        # the variables of this process are kept as bytes; to look at those is ten times faster
        seen = dict(getattr(self.environ, "_data", self.environ))
        if seen != self._seen:
            self._seen, self._known = seen, {}
        found = self._known.get(layer)
        if found is None:
            found = self._known[layer] = self._make(layer)
        return found

    def _make(self, layer: Layer) -> dict[str, str]:
        redaction = self._redactions.get(layer)
        if redaction is None or self._rules is None:
            kept = dict(self.environ)
        else:
            kept = redaction.apply(self.environ, self._rules)
        return {
            name: value
            for name, value in kept.items()
            if not name.startswith(self._drops) and not controls_shell(name)
        }


def add_own(env: dict[str, str], own: Mapping[str, str]) -> None:
    """Add the variables of one hook to what it inherits.

    References in a value (`$NAME`) stand for what the hook inherits: one of its own variables does
    not see another, whatever their order. Left out are variables that change the shell itself, and
    an empty `PATH`, with which a shell looks programs up in the working directory.

    Args:
        env: What the hook inherits; changed.
        own: Its own variables, as they are configured.
    """
    values = {name: expand(text, env) for name, text in own.items() if not controls_shell(name)}
    if not values.get("PATH", " "):
        del values["PATH"]
    env.update(values)


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Resolve `$NAME`, `${NAME}` and `${NAME:-default}`; unknown names stay as they are."""

    def value(match: re.Match[str]) -> str:
        name, default = match[1] or match[3], match[2]
        found = variables.get(name)
        if default is not None:
            return found or default
        return match[0] if found is None else found

    return _VARIABLE.sub(value, text)


VALUE_LIMIT = 100_000
"""Characters; the system refuses to start a command with a longer variable (Linux: 128 KiB)."""


def sanitize_env(variables: dict[str, str], names: Iterable[str]) -> tuple[str, ...]:
    """Change the values that an environment cannot hold.

    Args:
        variables: The environment.
        names: What to look at.

    Returns:
        The names of those that were changed.
    """
    unfit = [name for name in names if not _fits(variables[name])]
    for name in unfit:
        variables[name] = _fitting(variables[name])
    return tuple(unfit)


def _fits(value: str) -> bool:
    return "\0" not in value and len(value) <= VALUE_LIMIT and (value.isascii() or _encodes(value))


def _encodes(value: str) -> bool:
    try:
        return len(os.fsencode(value)) <= VALUE_LIMIT
    except UnicodeEncodeError:
        return False


def _fitting(value: str) -> str:
    encoded = value.replace("\0", "").encode("utf-8", "replace")[:VALUE_LIMIT]
    return encoded.decode("utf-8", "ignore")
