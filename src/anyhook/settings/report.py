"""Collects the diagnostics of one parsed settings file.

Settings are read before they are trusted, so a repository must not be able to block the host: a
part of them that is too large is left out, with an error and its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from anyhook.agents.values import describe_value
from anyhook.model.diagnostics import Diagnostic, Severity, diagnose
from anyhook.model.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from anyhook.settings.jsonc import JsonPath, SettingsDocument

Item = TypeVar("Item")

MAX_ITEMS = 1000
"""Events, definitions, hooks and disabled names of one file, and hooks of one layer, that are read:
people have a few dozen."""
# Unknown or repeated keys of one object that are reported.
MAX_REPORTED_KEYS = 50


class Reporter:
    """Collects the diagnostics of one parsed settings file, each with its place."""

    def __init__(self, document: SettingsDocument) -> None:
        self.document = document
        self.diagnostics: list[Diagnostic] = []

    def report(
        self, code: str, message: str, path: JsonPath, *, severity: Severity | None = None
    ) -> None:
        """Report a problem of the value at a path, by default with the code's severity."""
        place = self.document.place(path)
        self.diagnostics.append(diagnose(code, message, place, severity=severity))

    def report_unknown_fields(
        self,
        value: dict[str, Any],
        known: Collection[str],
        path: JsonPath,
        *,
        of_hooks: Collection[str] = (),
    ) -> None:
        """Report members of an object that do not belong there, or belong to the hooks in it."""
        unknown = sorted([key for key in value if key not in known])
        for key in unknown[:MAX_REPORTED_KEYS]:
            is_of_hook = key in of_hooks
            inside = 'move it inside "hooks": [ … ]' if is_of_hook else "it is ignored"
            hint = inside if is_of_hook else did_you_mean(key, known) or inside
            self.report("unknown-field", f"{key!r} does not belong here; {hint}", (*path, key))

    def typed_member(
        self, value: dict[str, Any], key: str, expected: type, description: str, path: JsonPath
    ) -> Any:
        """Return a member of an object; `None`, with a diagnostic, if it has another type."""
        member = value.get(key)
        if member is None or isinstance(member, expected):
            return member
        message = f"{key} must be {description}, not {describe_value(member)}; left out"
        self.report("wrong-type", message, (*path, key))
        return None

    def limited(
        self, items: Iterable[Item], description: str, path: JsonPath, limit: int = MAX_ITEMS
    ) -> list[Item]:
        """Return at most `limit` items; report how many are left out."""
        kept = list(items)
        if len(kept) > limit:
            self.report(
                "too-many-hooks",
                f"{len(kept):,} {description} are more than anyhook reads ({MAX_ITEMS:,} in a "
                f"file); the last {len(kept) - limit:,} are left out",
                path,
            )
        return kept[:limit]
