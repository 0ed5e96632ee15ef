"""All layers together: one list of definitions, and what is switched off."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anyhook.model.definitions import Layer
from anyhook.model.diagnostics import Diagnostic, diagnose
from anyhook.model.suggest import did_you_mean
from anyhook.settings.load import load_file, stamp_of
from anyhook.settings.sources import find_sources

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from anyhook.dialects.base import Dialect
    from anyhook.model.definitions import HandlerSpec, HookDefinition
    from anyhook.settings.load import Stamp
    from anyhook.settings.reader import LoadedFile
    from anyhook.settings.sources import Surroundings


@dataclass(frozen=True, slots=True)
class HookSet:
    """What the settings of all layers say.

    Attributes:
        dialect: Whose settings they are.
        files: Every file that was looked at, in the order of a plan.
        watched: What a change of the settings would change.
        stamps: What the files and the places of extensions looked like.
        diagnostics: What is wrong with them.
    """

    dialect: Dialect
    files: tuple[LoadedFile, ...]
    watched: tuple[Path, ...]
    stamps: tuple[Stamp, ...]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def definitions(self) -> Iterator[HookDefinition]:
        """Every definition, in the order of a plan."""
        for file in self.files:
            yield from file.definitions

    def is_stale(self) -> bool:
        """Tell whether a settings file changed since it was read."""
        return tuple(map(stamp_of, self.watched)) != self.stamps

    def switched_off(self, handler: HandlerSpec) -> str | None:
        """Tell whether a handler is switched off.

        A layer can switch off its own hooks and those of layers that are not stronger: a project
        never switches off a hook of its user, nor a user one of the system.

        Returns:
            Where it was switched off, or `None` if it is on.
        """
        authority = self.dialect.authority
        needed = authority[handler.layer]
        judges = sorted(self.files, key=lambda f: -authority[f.source.layer])
        decided = False
        for file in judges:
            if authority[file.source.layer] < needed:
                continue
            if handler.identifier in file.disabled:
                return str(file.disabled[handler.identifier])
            if file.enabled is not None and not decided:
                decided = True
                if not file.enabled:
                    return str(file.source.path)
        return None

    def redaction(self, layer: Layer) -> Mapping[str, Any]:
        """Return the redaction settings for the commands of a layer.

        Only layers that are at least as strong have a say: a project cannot take the `PATH` from a
        guard of its user. A layer of its own can make redaction stricter for itself, not looser.
        """
        merged: dict[str, Any] = {"allowed": [], "blocked": []}
        authority = self.dialect.authority
        for file in sorted(self.files, key=lambda f: authority[f.source.layer]):
            rank = authority[file.source.layer]
            trusted = rank >= authority[Layer.USER]
            if rank < authority[layer] and not trusted:
                continue
            enabled = file.redaction.get("enabled")
            if isinstance(enabled, bool) and (trusted or enabled):
                merged["enabled"] = enabled
            merged["blocked"] += _strings(file.redaction.get("blocked"))
            merged["allowed"] += _strings(file.redaction.get("allowed")) if trusted else []
        return merged


def load_hooks(dialect: Dialect, around: Surroundings) -> HookSet:
    """Read the settings of every layer.

    Args:
        dialect: Whose settings.
        around: The project, home, environment and platform.

    Returns:
        The hooks and what is wrong with the files. Never raises for what files hold.
    """
    sources, problems, places = find_sources(dialect, around)
    watched = (*(source.path for source in sources), *places)
    stamps = tuple(map(stamp_of, watched))
    files = tuple(load_file(dialect, source) for source in sources)
    found = [*problems, *(d for file in files for d in file.diagnostics)]
    return HookSet(dialect, files, watched, stamps, (*found, *_switch_problems(dialect, files)))


def _switch_problems(dialect: Dialect, files: tuple[LoadedFile, ...]) -> Iterator[Diagnostic]:
    handlers = [h for file in files for d in file.definitions for h in d.handlers]
    known = Counter(handler.identifier for handler in handlers)
    for file in files:
        reach = dialect.authority[file.source.layer]
        for name, place in file.disabled.items():
            if name not in known:
                hint = did_you_mean(name, known) or "the name of a hook belongs here"
                yield diagnose("unknown-hook-name", f"no hook is named {name!r}; {hint}", place)
                continue
            stronger = {
                str(h.layer)
                for h in handlers
                if h.identifier == name and dialect.authority[h.layer] > reach
            }
            if stronger:
                yield diagnose(
                    "powerless-switch",
                    f"{name!r} belongs to the {', '.join(sorted(stronger))} layer, which this file "
                    "cannot switch off; it still runs",
                    place,
                )


def _strings(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
