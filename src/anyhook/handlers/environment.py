"""The environment of a command: inherited variables, redaction, and the variables of a hook."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from anyhook._compat import stored_variables
from anyhook.model.record import Record
from anyhook.shell.variables import controls_shell, fit_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anyhook.agents.spec.settings import RedactionRules
    from anyhook.model.layers import Layer

_REFERENCE = re.compile(r"\$(?:\{(\w+)(?::-([^}]*))?\}|(\w+))")


class Redaction(Record, kw_only=False):
    """Which variables a command does not inherit. Which names are secret is data of the agent.

    Attributes:
        enabled: Whether anything is dropped at all.
        strict: Keep only what is known to be harmless.
        allowed: Names to keep, unless the value looks like a secret.
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
        """Read the merged settings."""
        strict = rules.is_strict(environ)
        return cls(
            enabled=bool(settings.get("enabled")) or strict,
            strict=strict,
            allowed=frozenset(name.upper() for name in settings.get("allowed", ())),
            blocked=frozenset(name.upper() for name in settings.get("blocked", ())),
        )

    def apply(self, environ: Mapping[str, str], rules: RedactionRules) -> dict[str, str]:
        """Return the variables of an environment that are kept."""
        if not self.enabled:
            return dict(environ)
        return {
            name: value for name, value in environ.items() if rules.keeps(self, name.upper(), value)
        }


class Inheritance:
    """What commands inherit of the host's environment.

    The current values of the environment count. `redactions` are the variables that the commands of
    a layer do not inherit, by the agent's rules for that; no command inherits names with the
    stripped prefixes.
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
        self._stripped_prefixes = stripped_prefixes
        self._snapshot: dict[Any, Any] | None = None
        self._by_layer: dict[Layer, dict[str, str]] = {}

    def of(self, layer: Layer) -> Mapping[str, str]:
        """Return what a layer inherits; built again when a variable of the host has changed."""
        snapshot = stored_variables(self.environ)
        if snapshot != self._snapshot:
            self._snapshot, self._by_layer = snapshot, {}
        if layer not in self._by_layer:
            redaction = self._redactions.get(layer)
            if redaction is None or self._rules is None:
                kept = dict(self.environ)
            else:
                kept = redaction.apply(self.environ, self._rules)
            for name in [*kept]:
                if name.startswith(self._stripped_prefixes) or controls_shell(name):
                    del kept[name]
            self._by_layer[layer] = kept
        return self._by_layer[layer]


def add_variables(env: dict[str, str], own: Mapping[str, str], *, expands: bool = True) -> None:
    """Add the variables of a hook to what it inherits.

    References in a value (`$NAME`) are resolved against the inherited variables only, so the order
    of a hook's own variables does not matter. Two kinds are left out: variables that change the
    shell itself, and an empty `PATH`, which makes a shell search the working directory.

    `env` is changed in place. `expands` is whether references in values are resolved; otherwise
    values are literal.
    """
    values: dict[str, str] = {}
    for name, text in own.items():
        value = fill_in_variables(text, env) if expands else text
        if not controls_shell(name) and (name != "PATH" or value):
            values[name] = value
    env.update(values)


def fill_in_variables(text: str, variables: Mapping[str, str]) -> str:
    """Resolve `$NAME`, `${NAME}` and `${NAME:-default}`; unknown names stay as they are."""

    def resolve(match: re.Match[str]) -> str:
        value = variables.get(match[1] or match[3])
        default = match[2]
        if default is not None:
            return value or default
        return match[0] if value is None else value

    return _REFERENCE.sub(resolve, text)


def sanitize_env(variables: dict[str, str], names: Iterable[str]) -> tuple[str, ...]:
    """Remove NUL characters, and cut values that the system would refuse.

    Only the variables with these names are looked at, and changed in place. Return the names of
    those that were changed.
    """
    values = {name: fit_value(variables[name]) for name in names}
    changed = [name for name, value in values.items() if value is not variables[name]]
    variables |= values
    return tuple(changed)
