"""The files that the hooks of an engine are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from anyhook.authoring.inspect import AUTHORING, MAX_SIZE, shadow_line
from anyhook.files import read_user_file
from anyhook.model.diagnostics import Place
from anyhook.trust.scripts import named_files

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from anyhook.engine.guard import TrustGuard
    from anyhook.model.definitions import HandlerSpec


class FilesSource(Protocol):
    """What starts the hooks: an `Engine`."""

    project_dir: Path

    @property
    def environ(self) -> Mapping[str, str]:
        """The variables of the host."""

    @property
    def guard(self) -> TrustGuard:
        """Knows the variables of paths."""


def path_variables(engine: FilesSource) -> dict[str, str]:
    """Return the variables that the commands of an engine's hooks may name paths with."""
    return {**engine.environ, **engine.guard.variables()}


def files_of(engine: FilesSource, handler: HandlerSpec) -> list[Path]:
    """List the files that a hook's command names."""
    variables = {**path_variables(engine), **handler.variables}
    return named_files(handler, engine.project_dir, variables)


def shadow_place(engine: FilesSource, handler: HandlerSpec) -> Place | None:
    """Return what makes a hook a shadow: its entry, or `Hooks(shadow=True)` in its file.

    It is `None` if the hook decides.
    """
    if handler.shadow:
        return handler.place
    for file in files_of(engine, handler)[:1]:
        try:
            source = read_user_file(file, MAX_SIZE)
        except (OSError, ValueError):
            return None
        line = shadow_line(source) if AUTHORING.encode() in source else None
        return None if line is None else Place(str(file), line)
    return None
