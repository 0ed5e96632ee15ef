"""The files that the hooks of an engine are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.trust.scripts import named_files

if TYPE_CHECKING:
    from pathlib import Path

    from anyhook.engine.engine import Engine
    from anyhook.model.definitions import HandlerSpec


def path_variables(engine: Engine) -> dict[str, str]:
    """Return the variables that the commands of an engine's hooks may name paths with."""
    return {**engine.environ, **engine.guard.variables()}


def files_of(engine: Engine, handler: HandlerSpec) -> list[Path]:
    """List the files that a hook's command names."""
    variables = {**path_variables(engine), **handler.variables}
    return named_files(handler, engine.project_dir, variables)
